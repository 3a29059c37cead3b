"""What repeated explanations of one input have in common: mean, spread, and the part that stays.

Runs of one method differ by their seed, or by small changes of what they explain.

1. Pairs of runs are compared as pairs of methods are (`backend.agreement`): ranks, top positions.
2. The interval of the mean over pairs is by the jackknife over runs (Arvesen, "Jackknifing
   U-statistics", Annals of Mathematical Statistics 40, 1969): pairs share runs, so they are not
   independent, and resampling runs would compare a run with itself.
3. A position is stable where it is among the top in OFTEN of the runs.

A method can be stably wrong: stability says nothing about faithfulness.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from scipy.stats import t as student

from backend.agreement import agreement, top_count, top_set
from backend.bootstrap import Interval

OFTEN = 0.9
"""Share of the runs in which a stable position is among the top."""
FEWEST, MOST = 5, 9
"""Runs that are always made, and at most."""
TIGHT = 0.05
"""Half the width of the overlap's interval at which further runs are not worth their time."""


@dataclasses.dataclass(frozen=True, eq=False)
class Stability:
    """R runs of one explanation with N positions.

    Attributes:
        mean, deviation: [N] over the runs that have the position; NaN where none, or a single one.
        often: [N] share of these runs in which the position is among the top; 0 where none.
        top: how many positions count as top in the first run.
        overlap: mean over pairs of runs of the share of top positions that are the same.
        correlation: mean over pairs of Spearman's rank correlation.
    """

    runs: int
    mean: np.ndarray
    deviation: np.ndarray
    often: np.ndarray
    top: int
    overlap: Interval
    correlation: Interval

    @property
    def stable(self) -> np.ndarray:
        """[N] bool: among the top in OFTEN of at least two runs."""
        return np.asarray(self.often >= OFTEN) if self.runs > 1 else np.zeros(len(self.often), bool)

    @property
    def half(self) -> float | None:
        """Half the width of the overlap's interval, or None where it has none."""
        return half_width(self.overlap)

    @property
    def enough(self) -> bool:
        """Whether further runs would hardly change the overlap."""
        return self.runs >= FEWEST and self.half is not None and self.half <= TIGHT


def stability(runs: Sequence[np.ndarray], share: float = 0.1) -> Stability:
    """How alike the runs are.

    Args:
        runs: R arrays [N] of scores, higher is more; NaN where a run has no such position.
        share: of a run's positions, those that count as top; rounded up, at least 3.

    Raises:
        ValueError: no run, arrays of different lengths, or a share not in (0, 1].
    """
    if not len(runs):
        raise ValueError("there is no run")
    compared = agreement([f"run {i + 1}" for i in range(len(runs))], runs, share)
    scores = np.asarray(runs, dtype=np.float64)
    there = np.isfinite(scores)
    counts = there.sum(axis=0)
    filled = np.where(there, scores, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = filled.sum(axis=0) / counts
        squares = (np.where(there, scores - mean, 0.0) ** 2).sum(axis=0)
        deviation = np.where(counts > 1, np.sqrt(squares / (counts - 1)), np.nan)
    tops = np.stack([_top(row, share) for row in scores])
    return Stability(
        runs=len(scores),
        mean=mean,
        deviation=deviation,
        often=tops.sum(axis=0) / np.maximum(counts, 1),
        top=int(tops[0].sum()),
        overlap=of_pairs(compared.overlap, 0.0),
        correlation=of_pairs(compared.spearman, -1.0),
    )


def half_width(mean: Interval) -> float | None:
    """Half the width of an interval, or None where it has none."""
    return None if mean.low is None or mean.high is None else (mean.high - mean.low) / 2


def of_pairs(matrix: np.ndarray, least: float) -> Interval:
    """The mean over pairs of runs with its 95 % interval; without ends for fewer than three runs.

    Args:
        matrix: [R, R] symmetric, NaN where a pair has no value.
        least: the smallest possible value; the largest is 1.
    """
    size = len(matrix)
    upper = np.triu(np.isfinite(matrix), 1)
    pairs = int(upper.sum())
    if not pairs:
        return Interval(None, None, None, 0)
    values = np.where(upper, matrix, 0.0)
    total = float(values.sum())
    mean = total / pairs
    lost = values.sum(axis=0) + values.sum(axis=1)
    left = pairs - (upper.sum(axis=0) + upper.sum(axis=1))
    if size < 3 or not left.all():
        return Interval(mean, None, None, pairs)
    without = (total - lost) / left
    error = float(np.sqrt((size - 1) / size * ((without - without.mean()) ** 2).sum()))
    half = float(student.ppf(0.975, size - 1)) * error
    return Interval(mean, max(least, mean - half), min(1.0, mean + half), pairs)


def _top(scores: np.ndarray, share: float) -> np.ndarray:
    there = np.flatnonzero(np.isfinite(scores))
    found = np.zeros(len(scores), dtype=bool)
    picked = top_set(scores[there], top_count(len(there), share))
    found[there[sorted(picked)]] = True
    return found
