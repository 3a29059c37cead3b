"""How well slices recover groups that are known: memberships in, numbers out; no model.

For a group a among e errors that were split into K slices:

- precision@k, as in Eyuboglu et al., "Domino", ICLR 2022: over the slices that hold one of a and at
  least k members, the highest share of a among the k members with the largest membership. Where
  equal memberships leave open who is among the k, it is the share to be expected of a draw. Of
  slices with equal precision the one with the higher share of a in the whole slice is the best.
- mgf, the group frequency of CB-SLICE, ICML 2026: the share of a in the whole of that best slice.
- completeness: the share of a that is in that best slice.
- entropy completeness: 1 - H(slice | a) / log K. One slice: 1; evenly over all K: 0.
- slices: how many of them hold one of a.

A group of which no slice of at least k members holds one has a precision of 0. Each number is
averaged over the groups asked about. Purity is of the slicing as a whole: the sum over the slices
of their largest group, over e.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from backend.metric import Metric

FEWEST = 10
"""Errors of a group below which it can't reach a precision@10 of 1, and is left out."""
SATURATED = 0.95
"""Precision@10 of a control above which the groups tell no methods apart."""
CONTROLS = ("random", "kmeans")

METRICS: tuple[Metric, ...] = (
    Metric(
        "precision_at_10",
        "Precision@10",
        True,
        "Share of the group among the 10 surest members of the slice that shows it best. It says "
        "nothing of how much of the group that slice holds.",
    ),
    Metric(
        "precision_at_5",
        "Precision@5",
        True,
        "Share of the group among the 5 surest members of the slice that shows it best.",
    ),
    Metric(
        "mgf",
        "Group frequency",
        True,
        "Share of the group among all members of its best slice: how clean the slice is.",
    ),
    Metric(
        "completeness",
        "Completeness",
        True,
        "Share of the group's errors that are in its best slice: how much of it one slice shows.",
    ),
    Metric(
        "entropy_completeness",
        "Entropy completeness",
        True,
        "1 where the group is in one slice, 0 where it is spread evenly over all of them.",
    ),
    Metric(
        "purity",
        "Purity",
        True,
        "Share of all errors that belong to the largest group of their slice; those of no group "
        "count as one group, so compare it with random slices. More slices make it higher.",
    ),
    Metric(
        "slices",
        "Slices a group",
        False,
        "How many slices a group is split over; 1 is best. Near the number of slices: the method "
        "does not see the group.",
    ),
)


@dataclasses.dataclass(frozen=True)
class GroupScore:
    """How one group was recovered."""

    group: int
    errors: int
    precision_at_5: float
    precision_at_10: float
    slice: int | None
    """The one with the best precision@10, or None."""
    mgf: float
    completeness: float
    entropy_completeness: float
    slices: int


@dataclasses.dataclass(frozen=True)
class Scores:
    """How the groups were recovered."""

    metrics: dict[str, float | None]
    """By the ids of `METRICS`; all but purity are None where every group was left out."""
    per_group: tuple[GroupScore, ...]
    left_out: dict[int, int]
    """Group -> its errors, for groups with too few."""


def score(
    memberships: np.ndarray,
    slices: np.ndarray,
    groups: np.ndarray,
    asked: Sequence[int],
    fewest: int = FEWEST,
) -> Scores:
    """Scores of a slicing.

    Args:
        memberships: [e, K].
        slices: [e], the slice of each error.
        groups: [e], the group of each error, -1 for none.
        asked: the groups to average over.
        fewest: errors a group needs.
    """
    counts = {a: int((groups == a).sum()) for a in asked}
    found = tuple(
        group_score(memberships, slices, groups == a, a) for a, n in counts.items() if n >= fewest
    )
    metrics: dict[str, float | None] = {
        metric.id: float(np.mean([getattr(one, metric.id) for one in found])) if found else None
        for metric in METRICS
        if metric.id != "purity"
    }
    metrics["purity"] = purity(slices, groups)
    return Scores(metrics, found, {a: n for a, n in counts.items() if n < fewest})


def group_score(
    memberships: np.ndarray, slices: np.ndarray, held: np.ndarray, group: int = 0
) -> GroupScore:
    """How a group was recovered.

    Args:
        memberships: [e, K].
        slices: [e].
        held: [e] bool, who is in the group; at least one is.
    """
    count = memberships.shape[1]
    sizes = np.bincount(slices, minlength=count)
    hits = np.bincount(slices[held], minlength=count)
    at_5, _ = precision(memberships, slices, held, 5)
    at_10, best = precision(memberships, slices, held, 10)
    spread = hits[hits > 0] / hits.sum()
    entropy = float(-(spread * np.log(spread)).sum())
    return GroupScore(
        group=group,
        errors=int(hits.sum()),
        precision_at_5=at_5,
        precision_at_10=at_10,
        slice=best,
        mgf=0.0 if best is None else float(hits[best] / sizes[best]),
        completeness=0.0 if best is None else float(hits[best] / hits.sum()),
        entropy_completeness=1.0 - entropy / np.log(count) if count > 1 else 1.0,
        slices=len(spread),
    )


def precision(
    memberships: np.ndarray, slices: np.ndarray, held: np.ndarray, k: int
) -> tuple[float, int | None]:
    """Precision@k of a group and the slice that has it, or 0 and None; arguments as above."""
    best: tuple[float, float, int] = (0.0, 0.0, 0)
    where = None
    for c in range(memberships.shape[1]):
        members = slices == c
        hits = int(held[members].sum())
        if members.sum() < k or not hits:
            continue
        top = top_share(memberships[members, c], held[members], k)
        # Equal in all three, two slices give the same numbers.
        found = (top, hits / int(members.sum()), hits)
        if where is None or found > best:
            best, where = found, c
    return best[0], where


def top_share(values: np.ndarray, held: np.ndarray, k: int) -> float:
    """Expected share of `held` [n] among the k largest `values` [n], equal ones drawn by lot."""
    smallest = np.partition(values, len(values) - k)[len(values) - k]
    above, tied = values > smallest, values == smallest
    return float((held[above].sum() + (k - above.sum()) * held[tied].mean()) / k)


def purity(slices: np.ndarray, groups: np.ndarray) -> float:
    """Share of the errors in the largest group of their slice; "no group" counts as one."""
    largest = (np.unique(groups[slices == c], return_counts=True)[1].max() for c in set(slices))
    return float(sum(largest) / len(slices))
