"""What every learner of structure returns, and what several of them share."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from backend.explainer import Progress
from backend.policies.transitions import Transitions

LEVEL = 0.05
"""Of significance, after Holm's correction."""


@dataclasses.dataclass(frozen=True, eq=False)
class Found:
    """[S + 1 sources, S + 1 targets] each; see `Structure`."""

    present: np.ndarray
    strength: np.ndarray
    p_values: np.ndarray


Learner = Callable[[Transitions, Sequence[np.ndarray], int, Progress], list[Found]]
"""(transitions, how often each draw takes each block, seed, progress) -> a graph for each draw."""


def each_draw(
    find: Callable[[Transitions, int, Callable[[float], None]], Found],
    transitions: Transitions,
    draws: Sequence[np.ndarray],
    seed: int,
    progress: Progress,
    what: str,
) -> list[Found]:
    """Run a learner that knows nothing of draws on the rows of each.

    Args:
        find: (transitions, seed, tell) -> graph; tells the share that is done.
    """
    found = []
    for n, weights in enumerate(draws):

        def tell(share: float, n: int = n) -> None:
            progress(n + share, len(draws), what)

        tell(0)
        rows = transitions if (weights == 1).all() else transitions.drawn(weights)
        found.append(find(rows, seed + n, tell))
    return found


def holm(p_values: np.ndarray, tested: np.ndarray) -> np.ndarray:
    """Adjusted p-values of the tested pairs (Holm 1979); NaN elsewhere."""
    adjusted = np.full(p_values.shape, np.nan)
    raw = p_values[tested]
    order = np.argsort(raw)
    steps = raw[order] * np.arange(len(raw), 0, -1)
    result = np.empty(len(raw))
    result[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    adjusted[tested] = result
    return adjusted


def empty(transitions: Transitions) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A present, a strength and a p_values of nothing."""
    shape = (len(transitions.source_names), len(transitions.target_names))
    return np.zeros(shape, dtype=bool), np.zeros(shape), np.full(shape, np.nan)
