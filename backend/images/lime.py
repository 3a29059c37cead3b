"""LIME: a linear stand-in for the model around this picture, of covered superpixels."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from backend.explainer import Explainer, Reference, Run
from backend.images.explanation import ImageExplanation, ImageTarget, Photos
from backend.images.superpixels import SuperpixelParameters


class LimeParameters(SuperpixelParameters):
    """How near is near, and how strict the stand-in is."""

    width: Annotated[float, Field(gt=0, le=10)] = Field(
        0.25,
        title="Kernel width",
        description="A sample counts exp(-d² / width²), d its cosine distance from the picture.",
    )
    penalty: Annotated[float, Field(ge=0, le=100)] = Field(
        1.0, title="Penalty", description="Of the ridge regression."
    )


class Lime(Explainer):
    """Ridge regression of the logit on which segments are seen, near samples counting more.

    Arrays and values as `backend.images.explained` has them, with segments [h, w] int32; and
    segments (how many), fidelity: weighted R² of the stand-in.
    """

    id = "lime"
    title = "LIME"
    family = "images"
    reference = Reference(
        authors="Ribeiro, Singh, Guestrin",
        title="“Why Should I Trust You?”: Explaining the Predictions of Any Classifier",
        year=2016,
        link="https://arxiv.org/abs/1602.04938",
    )
    how_to_read = (
        "What a superpixel adds to the logit by a linear stand-in. How well that repeats the model "
        "is its fidelity: see the note."
    )
    libraries = ("torch", "transformers", "scikit-image", "scikit-learn")
    uses_seed = True
    Parameters = LimeParameters

    def explain(
        self, model: Any, input: Photos, target: ImageTarget, parameters: Any, run: Run
    ) -> ImageExplanation:
        """The map.

        Raises:
            InputError: there is no such picture or class, or it cannot be cut.
        """
        from sklearn.linear_model import Ridge

        from backend.images.explained import Decision, explained
        from backend.images.superpixels import Cut

        decision = Decision(model, input, target, run)
        cut = Cut(decision, parameters)
        kept = run.numpy_generator().random((parameters.samples, cut.count)) < 0.5
        kept[0] = True
        logits = cut.logits(kept, "pictures with covered segments")
        near = weights(kept, parameters.width)
        stand_in = Ridge(alpha=parameters.penalty).fit(kept, logits, sample_weight=near)
        fidelity = float(stand_in.score(kept, logits, sample_weight=near))
        return explained(
            decision,
            cut.spread(stand_in.coef_),
            unit="logit",
            signed=True,
            values={"segments": cut.count, "fidelity": fidelity},
            notes=(f"The linear stand-in explains {fidelity:.0%} of the variance (weighted R²).",),
            arrays={"segments": cut.numbers.astype(np.int32)},
        )


def weights(kept: np.ndarray, width: float) -> np.ndarray:
    """[n] of samples [n, M] bool: by the cosine distance from the whole picture."""
    count = kept.sum(axis=1)
    cosine = np.sqrt(count / kept.shape[1])  # of a 0/1 vector with the vector of ones
    return np.asarray(np.exp(-((1 - cosine) ** 2) / width**2))
