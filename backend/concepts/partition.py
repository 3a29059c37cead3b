"""What the slicing baselines share: their parameter, the points they look at, and their ranking.

All of them look at the wrongly predicted samples only, and rank their slices by one score:

    score = share * coherence
    share = summed memberships of the members / errors
    coherence = 1 - (mean squared distance of the members to their mean)
                    / (mean squared distance of all errors to theirs), at least 0

so a large slice of errors that are alike comes first; random slices have a coherence near zero.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from backend.concepts.explanation import ConceptExplanation, ConceptTable
from backend.concepts.slices import SLICES, Slice, explanation
from backend.explainer import Run
from backend.explanation import Frozen

SMALLEST_VARIANCE = 1e-4
VARIANCE_SHARE = 0.01
"""Of the points' mean variance."""


class SliceParameters(Frozen):
    """Into how many slices the errors are split."""

    slices: Annotated[int, Field(ge=2, le=50)] = Field(
        SLICES, title="Slices", description="How many slices to look for, at most."
    )


def concept_logits(table: ConceptTable, errors: np.ndarray) -> np.ndarray:
    """[e, k] float64: where the bottleneck puts the errors."""
    return np.asarray(table.arrays["logits"][errors], dtype=np.float64)


def encoded(table: ConceptTable, errors: np.ndarray) -> tuple[np.ndarray, str]:
    """[e, d] float64: the embedding where the table has one, else concept logits; and its name."""
    if "embedding" in table.arrays:
        return table.arrays["embedding"][errors].astype(np.float64), "embedding"
    return concept_logits(table, errors), "concept logits"


def principal(points: np.ndarray, most: int, seed: int) -> np.ndarray:
    """[e, d'] scores on the leading principal components, d' = min(most, d, e).

    Points that are all the same have one component, which is zero.
    """
    from sklearn.decomposition import PCA

    if (points == points[0]).all():
        return np.zeros((len(points), 1))
    count = min(most, *points.shape)
    return np.asarray(PCA(count, random_state=seed).fit_transform(points))


def variance_floor(points: np.ndarray) -> float:
    """What is added to every variance, so that no Gaussian collapses onto a few points."""
    return max(SMALLEST_VARIANCE, VARIANCE_SHARE * float(points.var(axis=0).mean()))


def bounded(points: np.ndarray, slices: int, run: Run) -> int:
    """As many slices as there are different points, with a warning where that is fewer."""
    different = len(np.unique(points, axis=0))
    if different < slices:
        run.warn(f"Only {different} of the errors differ, so there are {different} slices at most.")
    return min(slices, different)


def coherence(points: np.ndarray, memberships: np.ndarray) -> np.ndarray:
    """[K] of points [e, d], each in the slice of its largest membership; 0 for an empty slice."""
    assigned = memberships.argmax(axis=1)
    total = float(np.square(points - points.mean(axis=0)).sum(axis=1).mean())
    found = np.zeros(memberships.shape[1])
    for c in np.unique(assigned) if total > 0 else ():
        members = points[assigned == c]
        within = float(np.square(members - members.mean(axis=0)).sum(axis=1).mean())
        found[c] = max(0.0, 1.0 - within / total)
    return found


def ranked(
    table: ConceptTable,
    errors: np.ndarray,
    memberships: np.ndarray,
    factors: np.ndarray,
    *,
    named: str = "coherence",
    **more: Any,
) -> ConceptExplanation:
    """The explanation of a method's memberships [e, K]; slices that nobody is in are left out.

    Args:
        errors: [e] sample indices.
        factors: [K] from 0 to 1; a slice's score is its share times its factor.
        named: what the factor is.
        more: `arrays`, `values` and `notes` of `backend.concepts.slices.explanation`.
    """
    assigned = memberships.argmax(axis=1)
    used = np.unique(assigned)
    kept = memberships[:, used]
    kept = kept / kept.sum(axis=1, keepdims=True)
    slices = []
    for column, c in enumerate(used):
        members = assigned == c
        weight = float(kept[members, column].sum())
        parts = {"share": weight / len(errors), named: float(factors[c])}
        score = parts["share"] * parts[named]
        slices.append(Slice(size=int(members.sum()), weight=weight, score=score, parts=parts))
    return explanation(table, errors, kept, slices, **more)
