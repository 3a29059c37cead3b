"""Gaussian mixture slices: the errors' concept logits as a mixture of K diagonal Gaussians.

Expectation-maximisation (Dempster, Laird & Rubin, 1977; scikit-learn's `GaussianMixture`), which
is CB-SLICE's mixture without its concept losses and its choice of concepts.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from backend.concepts.explanation import ConceptExplanation, ConceptTable, ConceptTarget
from backend.concepts.partition import (
    SliceParameters,
    bounded,
    coherence,
    concept_logits,
    ranked,
    variance_floor,
)
from backend.concepts.slices import check_errors
from backend.explainer import Explainer, Reference, Run

STEPS = 200


class GaussianSlices(Explainer):
    """EM Gaussian mixture on the errors' concept logits.

    Values:
        space: what was clustered. steps: of EM. log_likelihood: mean a sample, nats.
    """

    id = "gaussian_mixture"
    title = "Gaussian mixture"
    family = "concepts"
    role = "slicing"
    reference = Reference(
        authors="Dempster, Laird, Rubin",
        title="Maximum Likelihood from Incomplete Data via the EM Algorithm",
        year=1977,
        link="https://doi.org/10.1111/j.2517-6161.1977.tb01600.x",
    )
    how_to_read = (
        "A slice is a set of errors that one Gaussian over the concept logits explains best. It "
        "is CB-SLICE's mixture without the concept losses, and gives no reason."
    )
    libraries = ("numpy", "scikit-learn")
    uses_seed = True
    Parameters = SliceParameters

    def explain(
        self, model: Any, input: ConceptTable, target: ConceptTarget, parameters: Any, run: Run
    ) -> ConceptExplanation:
        errors = check_errors(input)
        points = concept_logits(input, errors)
        count = bounded(points, parameters.slices, run)
        run.progress(0, 1, "mixture")
        fitted = mixture(points, count, "diag", run.seed)
        run.progress(1, 1, "mixture")
        if not fitted.converged_:
            run.warn(f"The mixture still changed after {STEPS} steps.")
        values = {
            "space": "concept logits",
            "steps": int(fitted.n_iter_),
            "log_likelihood": float(fitted.score(points)),
        }
        memberships = fitted.predict_proba(points)
        return ranked(input, errors, memberships, coherence(points, memberships), values=values)


def mixture(points: np.ndarray, count: int, covariance: str, seed: int) -> Any:
    """A fitted scikit-learn `GaussianMixture` of `count` components, started from k-means."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    model = GaussianMixture(
        count,
        covariance_type=covariance,
        reg_covar=variance_floor(points),
        max_iter=STEPS,
        random_state=seed,
    )
    with warnings.catch_warnings():
        # The caller reads `converged_`; k-means inside complains of equal points.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(points)
