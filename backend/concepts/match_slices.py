"""Two slicings side by side: which slice of one is which of the other, and who moved.

Slices are paired one to one so that the summed overlap is largest (the assignment problem; Kuhn,
"The Hungarian method", 1955). The overlap of two slices is their Jaccard index. How far the
partitions agree as a whole is the adjusted Rand index (Hubert & Arabie, "Comparing partitions",
1985): 1 for the same partition, about 0 for unrelated ones.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from backend.concepts.explanation import ConceptExplanation
from backend.errors import InputError


@dataclasses.dataclass(frozen=True)
class Pair:
    """A slice of the first slicing and its counterpart in the other."""

    first: int
    other: int
    shared: int
    """Members in both."""
    overlap: float
    """Shared members over all members of either."""


@dataclasses.dataclass(frozen=True, eq=False)
class Match:
    """Two slicings of the same samples, of K and L slices."""

    pairs: tuple[Pair, ...]
    """In the order of the first slicing; slices that share nothing have no counterpart."""
    table: np.ndarray
    """[K, L] int64: how many samples are in both slices, of the samples in both slicings."""
    ari: float
    """Over the samples in both slicings."""
    samples: int
    """How many are in both slicings."""
    moved: np.ndarray
    """Indices of samples in both slicings whose slice is not the counterpart of their first one."""
    only_first: np.ndarray
    """Indices of samples in the first slicing alone."""
    only_other: np.ndarray

    def counterpart(self, first: int) -> int | None:
        """The slice of the other slicing that is paired with this one of the first."""
        return next((pair.other for pair in self.pairs if pair.first == first), None)


def match(first: ConceptExplanation, other: ConceptExplanation) -> Match:
    """Pair the slices of two slicings.

    Raises:
        InputError: one of them has no slices, they are of different tables, or no sample is in
            both.
    """
    _check(first, other)
    both, here, there = np.intersect1d(
        first.arrays["errors"], other.arrays["errors"], assume_unique=True, return_indices=True
    )
    if not len(both):
        raise InputError("No sample is in both slicings.", todo="Compare slices of one table.")
    a, b = first.arrays["slices"], other.arrays["slices"]
    shape = (len(first.values["slices"]), len(other.values["slices"]))
    table = contingency(a[here], b[there], shape)
    sizes = np.bincount(a, minlength=shape[0]), np.bincount(b, minlength=shape[1])
    pairs = paired(table, *sizes)
    counterpart = np.full(shape[0], -1)
    counterpart[[pair.first for pair in pairs]] = [pair.other for pair in pairs]
    return Match(
        pairs=pairs,
        table=table,
        ari=ari(a[here], b[there]),
        samples=len(both),
        moved=both[counterpart[a[here]] != b[there]],
        only_first=np.setdiff1d(first.arrays["errors"], both),
        only_other=np.setdiff1d(other.arrays["errors"], both),
    )


def contingency(
    first: np.ndarray, other: np.ndarray, shape: tuple[int, int] | None = None
) -> np.ndarray:
    """[K, L] int64: how often slice i of `first` [n] meets slice j of `other` [n]."""
    K, L = shape or (int(first.max()) + 1, int(other.max()) + 1)
    cells = first.astype(np.int64) * L + other
    return np.bincount(cells, minlength=K * L).reshape(K, L)


def paired(table: np.ndarray, sizes: np.ndarray, others: np.ndarray) -> tuple[Pair, ...]:
    """The one-to-one pairing of largest summed overlap.

    Args:
        table: [K, L] shared members.
        sizes, others: [K] and [L] members in all.
    """
    from scipy.optimize import linear_sum_assignment

    overlap = table / np.maximum(sizes[:, None] + others[None, :] - table, 1)
    rows, columns = linear_sum_assignment(overlap, maximize=True)
    return tuple(
        Pair(int(i), int(j), int(table[i, j]), float(overlap[i, j]))
        for i, j in zip(rows, columns, strict=True)
        if table[i, j]
    )


def ari(first: np.ndarray, other: np.ndarray) -> float:
    """Adjusted Rand index of two partitions [n] of the same samples; 1 where both are trivial."""
    table = contingency(first, other)
    together = _pairs(table)
    in_first, in_other = _pairs(table.sum(axis=1)), _pairs(table.sum(axis=0))
    everything = _pairs(np.array([len(first)]))
    expected = in_first * in_other / everything if everything else 0.0
    highest = (in_first + in_other) / 2
    return float((together - expected) / (highest - expected)) if highest != expected else 1.0


def _pairs(counts: np.ndarray) -> int:
    return int((counts * (counts - 1) // 2).sum())


def _check(first: ConceptExplanation, other: ConceptExplanation) -> None:
    for one in (first, other):
        if one.values.get("kind") != "slices":
            raise InputError("This explanation has no slices.", todo="Compare two slicings.")
    known = [one.provenance.request.input for one in (first, other) if one.provenance]
    if len(set(known)) > 1:
        raise InputError(
            "The slicings are of different tables, so sample numbers do not mean the same.",
            todo="Compare slices of one table.",
        )
