"""Which slices come back when a method is run again: with another seed, or on other samples.

1. Two runs agree as partitions by the adjusted Rand index, over the samples that are in both; its
   mean over pairs has an interval by the jackknife over runs (`backend.stability`).
2. A slice's counterpart in another run is the one of largest Jaccard overlap, over the samples in
   both runs (Hennig, "Cluster-wise assessment of cluster stability", Computational Statistics &
   Data Analysis 52, 2007).
3. A slice has come back where that overlap is above a half, and is stable where it has in OFTEN of
   the runs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from backend.bootstrap import Interval
from backend.concepts.match_slices import ari, contingency
from backend.stability import FEWEST, OFTEN, TIGHT, half_width, of_pairs

BACK = 0.5
"""Overlap above which a slice has come back."""


@dataclasses.dataclass(frozen=True, eq=False)
class Slicing:
    """One run: the samples that are in a slice, ascending and once each, and the slice of each."""

    samples: np.ndarray
    slices: np.ndarray

    @classmethod
    def of(cls, errors: np.ndarray, slices: np.ndarray, rows: np.ndarray | None = None) -> Slicing:
        """A run's arrays; of a bootstrap, rows [n] are the samples its table is made of.

        A sample that was drawn twice counts once.
        """
        samples, first = np.unique(errors if rows is None else rows[errors], return_index=True)
        return cls(samples, slices[first])


@dataclasses.dataclass(frozen=True, eq=False)
class SliceStability:
    """R runs, the first of K slices.

    Attributes:
        agreement: mean adjusted Rand index over pairs of runs.
        overlap: [K] mean overlap of each slice of the first run with its counterpart.
        back: [K] share of the other runs with samples of it in which it has come back; NaN without
            one.
    """

    runs: int
    agreement: Interval
    overlap: np.ndarray
    back: np.ndarray

    @property
    def stable(self) -> np.ndarray:
        """[K] bool."""
        return np.asarray(np.nan_to_num(self.back) >= OFTEN)

    @property
    def half(self) -> float | None:
        """Half the width of the agreement's interval, or None where it has none."""
        return half_width(self.agreement)

    @property
    def enough(self) -> bool:
        """Whether further runs would hardly change the agreement."""
        return self.runs >= FEWEST and self.half is not None and self.half <= TIGHT


def slice_stability(runs: Sequence[Slicing]) -> SliceStability:
    """How alike the runs are.

    Raises:
        ValueError: there is no run.
    """
    if not runs:
        raise ValueError("there is no run")
    matrix = np.full((len(runs), len(runs)), np.nan)
    for i, one in enumerate(runs):
        for j, other in enumerate(runs[:i]):
            a, b = _both(one, other)
            if len(a):
                matrix[i, j] = matrix[j, i] = ari(a, b)
    count = int(runs[0].slices.max(initial=-1)) + 1
    overlaps = np.array([_overlaps(runs[0], other, count) for other in runs[1:]])
    overlaps = overlaps.reshape(len(runs) - 1, count)
    if not len(overlaps):
        nothing = np.full(count, np.nan)
        return SliceStability(len(runs), of_pairs(matrix, -1.0), nothing, nothing)
    there = np.isfinite(overlaps)
    seen = np.maximum(there.sum(axis=0), 1)
    mean = np.where(there.any(axis=0), np.where(there, overlaps, 0.0).sum(axis=0) / seen, np.nan)
    back = np.where(there.any(axis=0), (overlaps > BACK).sum(axis=0) / seen, np.nan)
    return SliceStability(len(runs), of_pairs(matrix, -1.0), mean, back)


def _both(one: Slicing, other: Slicing) -> tuple[np.ndarray, np.ndarray]:
    """Slices of the samples in both runs."""
    _, here, there = np.intersect1d(
        one.samples, other.samples, assume_unique=True, return_indices=True
    )
    return one.slices[here], other.slices[there]


def _overlaps(first: Slicing, other: Slicing, count: int) -> np.ndarray:
    """[count] largest Jaccard overlap of each slice; NaN of one with no sample in the other run."""
    a, b = _both(first, other)
    if not len(a):
        return np.full(count, np.nan)
    table = contingency(a, b, (count, int(b.max()) + 1))
    sizes, others = table.sum(axis=1), table.sum(axis=0)
    overlap = table / np.maximum(sizes[:, None] + others[None, :] - table, 1)
    return np.where(sizes > 0, overlap.max(axis=1), np.nan)
