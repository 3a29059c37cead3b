"""K-means slices: errors that the bottleneck puts close together.

Lloyd, "Least squares quantization in PCM", 1982; started as in Arthur & Vassilvitskii,
"k-means++", SODA 2007, ten times, of which the closest fit is kept (scikit-learn's `KMeans`).

A membership is the posterior of equal, round Gaussians at the K centres, whose common variance is
the mean squared distance of the errors to their centre per dimension: the nearest centre has the
largest, and the errors nearest to it rank first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from backend.concepts.explanation import ConceptExplanation, ConceptTable, ConceptTarget
from backend.concepts.partition import (
    SliceParameters,
    bounded,
    coherence,
    concept_logits,
    ranked,
)
from backend.concepts.slices import check_errors
from backend.explainer import Explainer, Reference, Run

STARTS = 10


class KMeansSlices(Explainer):
    """K-means on the errors' concept logits.

    Values:
        space: what was clustered. inertia: summed squared distance to the centres.
    """

    id = "kmeans"
    title = "K-means"
    family = "concepts"
    role = "slicing"
    reference = Reference(
        authors="Arthur, Vassilvitskii",
        title="k-means++: The Advantages of Careful Seeding",
        year=2007,
        link="https://theory.stanford.edu/~sergei/papers/kMeansPP-soda.pdf",
    )
    how_to_read = (
        "A slice is a set of errors whose concept logits lie close together. It looks neither at "
        "the true label nor at the predicted one, and gives no reason."
    )
    libraries = ("numpy", "scikit-learn")
    uses_seed = True
    Parameters = SliceParameters

    def explain(
        self, model: Any, input: ConceptTable, target: ConceptTarget, parameters: Any, run: Run
    ) -> ConceptExplanation:
        from sklearn.cluster import KMeans

        errors = check_errors(input)
        points = concept_logits(input, errors)
        count = bounded(points, parameters.slices, run)
        run.progress(0, 1, "k-means")
        fitted = KMeans(count, n_init=STARTS, random_state=run.seed).fit(points)
        run.progress(1, 1, "k-means")
        memberships = closeness(np.square(fitted.transform(points)), points.shape[1])
        values = {"space": "concept logits", "inertia": float(fitted.inertia_)}
        return ranked(input, errors, memberships, coherence(points, memberships), values=values)


def closeness(distances: np.ndarray, dimensions: int) -> np.ndarray:
    """Memberships [e, K] from squared distances [e, K] to the centres."""
    nearest = distances.min(axis=1, keepdims=True)
    # Every point on a centre has no variance: at this floor the others count for nothing.
    variance = max(float(nearest.mean()) / dimensions, 1e-9 * float(distances.max()), 1e-300)
    raised = np.exp(-(distances - nearest) / (2.0 * variance))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))
