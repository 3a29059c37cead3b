"""How far explanations of one input agree: ranks, top positions, signs.

Each number has a 95 % interval, as though the positions were drawn independently from many like
them: of a rank correlation by Fisher's z with the variance of Bonett & Wright ("Sample size
requirements for estimating Pearson, Kendall and Spearman correlations", Psychometrika 65, 2000),
of a share Wilson's (1927).
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

Measure = Literal["spearman", "overlap", "sign"]

SMALLEST_TOP = 3
Z = 1.959963984540054
"""97.5 % quantile of the normal distribution; scipy takes seconds to say so."""


class Undefined(ValueError):
    """Two explanations cannot be compared by a measure; the text says why."""


@dataclasses.dataclass(frozen=True, eq=False)
class Agreement:
    """Pairwise agreement of M explanations; NaN where undefined, with the reason.

    Attributes:
        spearman: [M, M] rank correlation, -1 to 1.
        overlap: [M, M] share of the top k positions that are the same, 0 to 1.
        sign: [M, M] share of the positions with the same sign, of those where neither is zero.
        common: [M, M] int, positions that have a score in both.
        k: [M, M] int, how many positions the overlap looks at.
        signs: [M, M] int, positions that have a sign in both.
        reasons: (measure, row, column) -> why the entry is NaN.
    """

    names: tuple[str, ...]
    spearman: np.ndarray
    overlap: np.ndarray
    sign: np.ndarray
    common: np.ndarray
    k: np.ndarray
    signs: np.ndarray
    reasons: dict[tuple[Measure, int, int], str]

    def matrix(self, measure: Measure) -> np.ndarray:
        """The matrix [M, M] of one measure."""
        matrices = {"spearman": self.spearman, "overlap": self.overlap, "sign": self.sign}
        return matrices[measure]

    def ends(self, measure: Measure) -> tuple[np.ndarray, np.ndarray]:
        """[M, M] lower and upper ends of the 95 % intervals; NaN where there is none."""
        values = self.matrix(measure)
        if measure == "spearman":
            return correlation_ends(values, self.common)
        return share_ends(values, self.k if measure == "overlap" else self.signs)


def agreement(
    names: Sequence[str],
    scores: Sequence[np.ndarray],
    k: float = 0.1,
    signed: Sequence[bool] | None = None,
) -> Agreement:
    """Compare each pair of explanations on the positions both have a score for.

    Args:
        names: M titles, for the reasons.
        scores: M arrays [N]; NaN where an explanation has no score.
        k: share of the common positions that count as top; rounded up, at least 3.
        signed: whether each explanation's sign means something; None takes all as signed.

    Raises:
        ValueError: lengths differ, or k is not in (0, 1].
    """
    vectors = [np.asarray(vector, dtype=np.float64) for vector in scores]
    signs = [True] * len(vectors) if signed is None else list(signed)
    if not len(names) == len(vectors) == len(signs):
        raise ValueError(f"{len(names)} names, {len(vectors)} score vectors, {len(signs)} signs")
    if len({vector.shape for vector in vectors}) > 1 or any(v.ndim != 1 for v in vectors):
        raise ValueError(f"expected vectors of one length (got {[v.shape for v in vectors]})")
    if not 0 < k <= 1:
        raise ValueError(f"k must be above 0 and at most 1 (got {k})")
    size = len(vectors)
    values: dict[Measure, np.ndarray] = {name: np.full((size, size), np.nan) for name in MEASURES}
    common, tops, signs_of_both = (np.zeros((size, size), dtype=int) for _ in range(3))
    reasons: dict[tuple[Measure, int, int], str] = {}
    for i, j in itertools.combinations_with_replacement(range(size), 2):
        both = np.isfinite(vectors[i]) & np.isfinite(vectors[j])
        top = top_count(int(both.sum()), k)
        a, b = vectors[i][both], vectors[j][both]
        pair = Pair((names[i], names[j]), a, b, top, (signs[i], signs[j]))
        for place in {(i, j), (j, i)}:
            common[place], tops[place] = both.sum(), top
            signs_of_both[place] = ((a != 0) & (b != 0)).sum()
            for name, measure in MEASURES.items():
                try:
                    values[name][place] = measure(pair)
                except Undefined as error:
                    reasons[name, *place] = str(error)
    return Agreement(
        names=tuple(names),
        spearman=values["spearman"],
        overlap=values["overlap"],
        sign=values["sign"],
        common=common,
        k=tops,
        signs=signs_of_both,
        reasons=reasons,
    )


@dataclasses.dataclass(frozen=True, eq=False)
class Pair:
    """Two explanations on their common positions."""

    names: tuple[str, str]
    a: np.ndarray
    b: np.ndarray
    k: int
    signed: tuple[bool, bool]


def top_count(n: int, share: float) -> int:
    """How many of n positions count as top: the share rounded up, at least 3, at most n."""
    # 0.1 * 30 is 3.0000000000000004: without the rounding it would count as 4.
    return min(n, max(SMALLEST_TOP, math.ceil(round(share * n, 9))))


def ranks(values: np.ndarray) -> np.ndarray:
    """Ranks [N] from 1 (smallest); equal values share the mean of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranked: np.ndarray = (last - (counts - 1) / 2.0)[inverse]
    return ranked


def scaled_ranks(scores: np.ndarray) -> np.ndarray:
    """Ranks from 0, the lowest score, to 1, in the scores' shape; NaN stays, one alone has 0.5."""
    values = np.asarray(scores, dtype=np.float64)
    found = np.full(values.shape, np.nan)
    there = np.isfinite(values)
    count = int(there.sum())
    if count:
        found[there] = (ranks(values[there]) - 1) / (count - 1) if count > 1 else 0.5
    return found


def top_set(values: np.ndarray, k: int) -> set[int]:
    """Indices of the k largest values; among equals the earlier position goes first."""
    return set(np.argsort(-values, kind="stable")[:k].tolist())


def spearman(pair: Pair) -> float:
    """Rank correlation (Spearman 1904), equal values sharing their mean rank.

    Raises:
        Undefined: fewer than two common positions, or one of the two is constant.
    """
    if len(pair.a) < 2:
        raise Undefined(f"{_both(pair)} have {len(pair.a)} positions in common")
    for name, values in zip(pair.names, (pair.a, pair.b), strict=True):
        if (values == values[0]).all():
            raise Undefined(f"all scores of {name} are equal, so it ranks nothing")
    x, y = (ranks(values) - (len(values) + 1) / 2.0 for values in (pair.a, pair.b))
    return float(np.clip((x @ y) / math.sqrt((x @ x) * (y @ y)), -1.0, 1.0))


def overlap(pair: Pair) -> float:
    """Share of the k top positions of the one that are among the k top positions of the other.

    Raises:
        Undefined: no more than k common positions, where every overlap is whole.
    """
    if len(pair.a) <= pair.k:
        raise Undefined(
            f"{_both(pair)} have {len(pair.a)} positions in common, all of them among the top"
        )
    return len(top_set(pair.a, pair.k) & top_set(pair.b, pair.k)) / pair.k


def sign(pair: Pair) -> float:
    """Share of equal signs among the positions where neither score is zero.

    Raises:
        Undefined: a method without signs, or no position where both have one.
    """
    for name, signed in zip(pair.names, pair.signed, strict=True):
        if not signed:
            raise Undefined(f"the scores of {name} have no sign")
    both = (pair.a != 0) & (pair.b != 0)
    if not both.any():
        raise Undefined(f"{_both(pair)} have no position where both are other than zero")
    return float((np.sign(pair.a[both]) == np.sign(pair.b[both])).mean())


def correlation_ends(r: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """95 % interval of rank correlations r over n positions; NaN for fewer than four."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z, error = np.arctanh(r), np.sqrt((1 + r**2 / 2) / np.where(n > 3, n - 3, np.nan))
        return np.tanh(z - Z * error), np.tanh(z + Z * error)


def share_ends(p: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """95 % interval of shares p of n positions; NaN where there are none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        many = np.where(n > 0, n, np.nan)
        centre = (p + Z**2 / (2 * many)) / (1 + Z**2 / many)
        half = np.sqrt(p * (1 - p) / many + (Z / (2 * many)) ** 2) * Z / (1 + Z**2 / many)
        return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


def _both(pair: Pair) -> str:
    return f"{pair.names[0]} and {pair.names[1]}"


MEASURES: dict[Measure, Callable[[Pair], float]] = {
    "spearman": spearman,
    "overlap": overlap,
    "sign": sign,
}


def differing(a: np.ndarray, b: np.ndarray, n: int = 10) -> tuple[int, ...]:
    """Positions at which two explanations differ most in rank, largest difference first.

    Ranks are among the positions both have a score for; positions of equal rank are left out, and
    among equal differences the earlier position goes first.

    Args:
        a: [N] scores, NaN where there is none.
        b: [N] scores.
        n: how many positions at most.

    Raises:
        ValueError: the shapes differ.
    """
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"expected two vectors of one length (got {a.shape} and {b.shape})")
    common = np.flatnonzero(np.isfinite(a) & np.isfinite(b))
    distance = np.abs(ranks(a[common]) - ranks(b[common]))
    order = np.argsort(-distance, kind="stable")[:n]
    return tuple(int(common[i]) for i in order if distance[i] > 0)
