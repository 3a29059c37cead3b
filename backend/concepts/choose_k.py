"""How many slices: increase their number until the loss stops falling (arXiv 2605.29836).

The rule: fit every candidate, and take the smallest after which no candidate lowers the loss by
more than a twentieth of the whole fall, from the smallest candidate's loss to the lowest. Only the
loss decides; known groups are never looked at. It leans to many slices: one too many splits a
group in two, one too few puts two groups under one name. Its price is stability, which is shown.
"""

from __future__ import annotations

from collections.abc import Sequence

CANDIDATES = (4, 6, 8, 10, 14, 18)
FEWEST_EACH = 5
"""Samples a slice must have on average."""
SATURATED = 0.05


def candidates(samples: int) -> tuple[int, ...]:
    """The candidates that so many samples allow, at least the first."""
    return tuple(K for K in CANDIDATES if samples >= K * FEWEST_EACH) or CANDIDATES[:1]


def saturation(values: Sequence[int], losses: Sequence[float]) -> int:
    """The smallest of `values`, ascending, whose loss is as good as the lowest; see the module."""
    lowest = min(losses)
    enough = lowest + SATURATED * (losses[0] - lowest)
    return next(K for K, loss in zip(values, losses, strict=True) if loss <= enough)
