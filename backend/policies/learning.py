"""From transitions to a causal graph, by one of several learners."""

from __future__ import annotations

import importlib
from typing import get_args

import numpy as np

from backend.errors import InputError
from backend.explainer import Progress
from backend.policies.finding import Found, Learner
from backend.policies.learner_ids import LearnerId
from backend.policies.structure import Structure
from backend.policies.transitions import Transitions


def learn(
    transitions: Transitions,
    learner: str = "loco",
    bootstraps: int = 10,
    seed: int = 0,
    progress: Progress | None = None,
) -> Structure:
    """The graph, with the support of its edges over bootstraps of episodes.

    Raises:
        InputError: no learner has this name.
    """
    tell = progress or _quiet
    find = learner_of(learner)
    generator = np.random.default_rng(seed)
    whole = np.ones(int(transitions.blocks.max()) + 1, dtype=np.int64)
    draws = [whole, *(transitions.weights(generator) for _ in range(bootstraps))]
    found = find(transitions, draws, seed, tell)
    from backend.policies.responses import responses

    effects, low, high = responses(transitions, draws, tell)
    first = found[0]
    return Structure(
        source_names=transitions.source_names,
        target_names=transitions.target_names,
        present=first.present,
        tested=transitions.tested,
        strength=first.strength,
        p_values=first.p_values,
        support=_support(found),
        effects=effects,
        low=low,
        high=high,
        learner=learner,
        bootstraps=bootstraps,
        transitions=len(transitions),
        notes=transitions.notes,
    )


def learner_of(name: str) -> Learner:
    """The function of this name in the module of this name.

    Raises:
        InputError: no learner has this name.
    """
    known = get_args(LearnerId)
    if name not in known:
        raise InputError(f"There is no learner '{name}'.", todo=f"Choose from {', '.join(known)}.")
    module = importlib.import_module(f"backend.policies.{name}")
    found: Learner = getattr(module, name)
    return found


def _support(found: list[Found]) -> np.ndarray:
    """[S + 1, S + 1]: share of the bootstraps an edge is in; without bootstraps that of the one."""
    again = found[1:] or found
    share: np.ndarray = np.mean([graph.present for graph in again], axis=0)
    return share


def _quiet(done: float, total: float, what: str) -> None:
    """Nobody is told."""
