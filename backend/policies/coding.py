"""States as a network or a regression reads them: categorical variables one column a value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from backend.policies.explanation import Variable


def width(variables: Sequence[Variable]) -> int:
    """Columns of a coded state."""
    return sum(len(v.levels) if v.kind == "categorical" else 1 for v in variables)


def columns(variables: Sequence[Variable]) -> tuple[slice, ...]:
    """The columns of each variable in a coded state."""
    found, start = [], 0
    for variable in variables:
        count = len(variable.levels) if variable.kind == "categorical" else 1
        found.append(slice(start, start + count))
        start += count
    return tuple(found)


def coded(states: np.ndarray, variables: Sequence[Variable]) -> np.ndarray:
    """[N, width] float64 of states [N, S]."""
    parts = []
    for column, variable in zip(states.T, variables, strict=True):
        if variable.kind == "categorical":
            values = np.arange(len(variable.levels))
            parts.append((column[:, None] == values).astype(np.float64))
        else:
            parts.append(column[:, None].astype(np.float64))
    return np.concatenate(parts, axis=1) if parts else np.zeros((len(states), 0))
