"""The learners of a causal graph by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from backend.explainer import Progress
from backend.policies.bart import bart
from backend.policies.fcit import fcit
from backend.policies.gated import gated
from backend.policies.linear_graphs import correlation, lasso, pc, random_graph
from backend.policies.loco import Learned, loco
from backend.policies.telling import part_of, silent
from backend.policies.transitions import Transitions

Method = Callable[..., Learned]
"""Of transitions, a seed and, of those that take a while, who is told how far they are."""


def _own_past_of_values(method: Method) -> Method:
    """The method, asked of changes, and for a variable's own past of the values it takes.

    What a variable's change does not depend on, its value may: x' = x + v has an edge from x.
    """

    def both(transitions: Transitions, seed: int, progress: Progress = silent) -> Learned:
        found = method(transitions, seed, part_of(progress, 0, 2))
        values = dataclasses.replace(transitions, values=True)
        own = method(values, seed, part_of(progress, 1, 2))
        here = np.eye(len(found.present), dtype=bool)
        here[-1] = False
        return Learned(
            present=np.where(here, own.present, found.present),
            strength=np.where(here, own.strength, found.strength),
            p_values=np.where(here, own.p_values, found.p_values),
            tested=found.tested,
        )

    return both


def _at_once(method: Method) -> Method:
    """The method, which has nothing to tell while it is at work."""
    return lambda transitions, seed, progress=silent: method(transitions, seed)  # noqa: ARG005


LEARNERS: dict[str, Method] = {
    "loco": loco,
    "bart": _own_past_of_values(bart),
    "fcit": _own_past_of_values(fcit),
    "lasso": _own_past_of_values(_at_once(lasso)),
    "pc": _own_past_of_values(_at_once(pc)),
    "gated": _own_past_of_values(gated),
    "correlation": _own_past_of_values(_at_once(correlation)),
    "random_graph": _at_once(random_graph),
}
