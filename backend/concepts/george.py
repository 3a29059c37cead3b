"""GEORGE: the errors of each true class are clustered by themselves.

Sohoni et al., "No Subclass Left Behind: Fine-Grained Robustness in Coarse-Grained Classification
Problems", NeurIPS 2020.

1. The slices are shared out over the true classes that have errors: one each, then one by one to
   the class with most errors a slice.
2. The class's errors, by embedding or, where the table has none, by concept logits, are reduced to
   two principal components.
3. Gaussian mixtures of 2, 3, ... up to the class's share of slices; the one with the highest mean
   silhouette is kept. A class with one slice or fewer than 4 different errors stays whole.

The published method reduces with UMAP; two principal components stand in for it here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from backend.concepts.explanation import ConceptExplanation, ConceptTable, ConceptTarget
from backend.concepts.gaussian_slices import mixture
from backend.concepts.partition import SliceParameters, coherence, encoded, principal, ranked
from backend.concepts.slices import check_errors
from backend.explainer import Explainer, Reference, Run

DIMENSIONS = 2
FEWEST = 4
"""Different errors of a class below which it is not split."""
SILHOUETTE_SAMPLES = 2000


class George(Explainer):
    """A Gaussian mixture within each true class, its size chosen by silhouette.

    Values:
        space: what was reduced and clustered.
        classes: {true class: how many slices were chosen for it}.
    """

    id = "george"
    title = "GEORGE"
    family = "concepts"
    role = "slicing"
    reference = Reference(
        authors="Sohoni, Dunnmon, Angus, Gu, Ré",
        title="No Subclass Left Behind: Fine-Grained Robustness in Coarse-Grained "
        "Classification Problems",
        year=2020,
        link="https://arxiv.org/abs/2011.12945",
    )
    how_to_read = (
        "A slice is a cluster among the errors of one true class. It knows the true class but not "
        "the predicted one, and gives no reason."
    )
    libraries = ("numpy", "scikit-learn")
    uses_seed = True
    Parameters = SliceParameters

    def explain(
        self, model: Any, input: ConceptTable, target: ConceptTarget, parameters: Any, run: Run
    ) -> ConceptExplanation:
        errors = check_errors(input)
        points, space = encoded(input, errors)
        labels = input.arrays["labels"][errors]
        present, counts = np.unique(labels, return_counts=True)
        if len(present) > parameters.slices:
            run.warn(f"{len(present)} classes have errors, and each has a slice of its own.")
        memberships = np.zeros((len(errors), 0))
        chosen: dict[str, int] = {}
        for i, most in enumerate(shares(counts, parameters.slices)):
            run.progress(i, len(present), "clustering classes")
            members = np.flatnonzero(labels == present[i])
            found = _within(points[members], most, run)
            columns = np.zeros((len(errors), found.shape[1]))
            columns[members] = found
            memberships = np.concatenate([memberships, columns], axis=1)
            chosen[str(present[i])] = len(np.unique(found.argmax(axis=1)))
        run.progress(len(present), len(present), "clustering classes")
        return ranked(
            input,
            errors,
            memberships,
            coherence(points, memberships),
            values={"space": space, "classes": chosen},
            notes=(
                f"Each class's {space} is reduced to {DIMENSIONS} principal components; the "
                "published method reduces with UMAP.",
            ),
        )


def shares(counts: np.ndarray, slices: int) -> np.ndarray:
    """How many slices each class has at most: one, and more for the larger counts [c].

    They sum to `slices`, or to the number of classes where that is larger.
    """
    found = np.ones(len(counts), dtype=np.int64)
    for _ in range(slices - len(counts)):
        found[np.argmax(counts / found)] += 1
    return found


def _within(points: np.ndarray, most: int, run: Run) -> np.ndarray:
    """Memberships [n, 1 to `most`] of one class's errors [n, d]."""
    from sklearn.metrics import silhouette_score

    different = len(np.unique(points, axis=0))
    whole = np.ones((len(points), 1))
    if most < 2 or different < FEWEST:
        return whole
    flat = principal(points, DIMENSIONS, run.seed)
    order = run.numpy_generator().permutation(len(flat))
    shown = np.sort(order[:SILHOUETTE_SAMPLES])
    best, highest = whole, -np.inf
    for count in range(2, min(most, different - 1) + 1):
        run.check_cancelled()
        found = mixture(flat, count, "full", run.seed).predict_proba(flat)
        assigned = found.argmax(axis=1)[shown]
        if not 2 <= len(np.unique(assigned)) < len(shown):
            continue
        silhouette = silhouette_score(flat[shown], assigned)
        if silhouette > highest:
            best, highest = found, silhouette
    return best
