"""Reduce a long text to the parts that carry the mass, with the words around them."""

from __future__ import annotations

import dataclasses
import heapq
import itertools
from collections.abc import Sequence

import numpy as np

AROUND = 3
"""Units kept on each side of one that is kept for its score."""

SHORTEST_GAP = 4
"""A shorter gap is shown rather than announced."""


@dataclasses.dataclass(frozen=True)
class Run:
    """Consecutive units [start, stop): shown, or left out and announced."""

    start: int
    stop: int
    shown: bool


def windows(scores: np.ndarray, must: Sequence[int], budget: int) -> tuple[Run, ...]:
    """Runs that cover all units once, at most about `budget` of them shown.

    Units are taken from the largest |score| down, each with its neighbours; those in `must` (the
    explained ones, the planted evidence) come first.

    Args:
        scores: [units]; NaN counts as nothing.
        must: indices to show before any other.
    """
    n = len(scores)
    if n <= budget:
        return (Run(0, n, True),) if n else ()
    keep = np.zeros(n, dtype=bool)
    room = budget
    for centre in (*must, *_from_largest(scores)):
        around = slice(max(0, centre - AROUND), centre + AROUND + 1)
        fresh = int((~keep[around]).sum())
        if fresh > room:
            break
        keep[around] = True
        room -= fresh
    return _runs(keep)


def _from_largest(scores: np.ndarray) -> list[int]:
    sizes = np.nan_to_num(np.abs(scores), nan=-1.0, posinf=0.0)
    return heapq.nsmallest(len(sizes), range(len(sizes)), key=lambda i: -sizes[i])


def _runs(keep: np.ndarray) -> tuple[Run, ...]:
    edges = [0, *(np.flatnonzero(np.diff(keep)) + 1).tolist(), len(keep)]
    runs: list[Run] = []
    for start, stop in itertools.pairwise(edges):
        shown = bool(keep[start]) or stop - start < SHORTEST_GAP
        if runs and shown and runs[-1].shown:
            runs[-1] = Run(runs[-1].start, stop, True)
        else:
            runs.append(Run(start, stop, shown))
    return tuple(runs)
