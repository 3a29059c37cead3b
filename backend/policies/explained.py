"""The explanation of one moment, with all that a figure needs to show it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from backend.bundle import Arrays
from backend.policies.explanation import Experience, PolicyExplanation
from backend.policies.moment import Moment


def explained(
    experience: Experience,
    moment: Moment,
    scores: np.ndarray,
    *,
    unit: str = "",
    arrays: Arrays | None = None,
    values: dict[str, Any] | None = None,
    notes: tuple[str, ...] = (),
) -> PolicyExplanation:
    """The explanation that gives each state variable a score, of kind "variables".

    `values`: those of `about`; kind; unit of the scores; sentences, lists of them by what they
    answer.

    Args:
        scores: [S], how much each variable speaks for the action.
        arrays, values: what else the method has to tell.
    """
    return PolicyExplanation(
        arrays={"scores": np.asarray(scores, dtype=np.float32), **(arrays or {})},
        values={
            "kind": "variables",
            **about(experience, moment),
            "unit": unit,
            "sentences": {},
            **(values or {}),
        },
        notes=notes,
    )


def about(experience: Experience, moment: Moment) -> dict[str, Any]:
    """Which choice it is.

    environment; variable_names, units, levels (names of a categorical one's values, else none) and
    action_names; episode, step (None of a state set by hand); state [S]; action, instead;
    probabilities [A] of the agent, or None.
    """
    probabilities = moment.probabilities
    return {
        "environment": experience.environment,
        "variable_names": list(experience.names),
        "units": [variable.unit for variable in experience.variables],
        "levels": [list(variable.levels) for variable in experience.variables],
        "action_names": list(experience.action_names),
        "episode": moment.episode,
        "step": moment.step,
        "state": [float(value) for value in moment.state],
        "action": moment.action,
        "instead": moment.instead,
        "probabilities": None if probabilities is None else [float(p) for p in probabilities],
    }


def value_words(told: Mapping[str, Any], variable: int, value: float) -> str:
    """A value of a variable as a person reads it: with its unit, or by its name."""
    levels = told["levels"][variable]
    if levels and 0 <= int(value) < len(levels):
        return str(levels[int(value)])
    return f"{value:.3g} {told['units'][variable]}".strip()
