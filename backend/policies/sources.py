"""Sources and targets as the learners of graphs read them: columns of numbers."""

from __future__ import annotations

import numpy as np

from backend.policies.coding import coded
from backend.policies.transitions import Transitions


def blocks(transitions: Transitions) -> list[np.ndarray]:
    """For each of the S + 1 sources its standardised columns [N, k]: the action's are 0 and 1."""
    found = [
        coded(transitions.states[:, [i]], [variable])
        for i, variable in enumerate(transitions.variables)
    ]
    taken = np.arange(len(transitions.action_names)) == transitions.actions[:, None]
    return [_standard(part) for part in [*found, taken.astype(np.float64)]]


def standard_targets(transitions: Transitions) -> list[np.ndarray]:
    """For each of the S + 1 targets its standardised columns [N, k]."""
    return [_standard(part) for part in transitions.targets()]


def _standard(part: np.ndarray) -> np.ndarray:
    spread = part.std(axis=0)
    found: np.ndarray = (part - part.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return found
