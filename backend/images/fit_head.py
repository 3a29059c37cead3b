"""The preparation behind a classifier of one's own: a linear head on a classifier's features."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from backend.bundle import Bundle
from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.images.carrier import LITE0
from backend.images.explanation import ImageExplanation, ImageTarget, Photos
from backend.images.head import STRENGTH

NO_HEAD = (
    "A head can be fitted to classifiers of transformers that end in one linear layer, as "
    "dinov2-small does; EfficientNet-Lite0 is none of transformers."
)


class FitHeadParameters(Frozen):
    """How a head is fitted."""

    crops: Annotated[int, Field(ge=1, le=64)] = Field(
        8,
        title="Views",
        description="Of each picture: it whole, and square parts of it at random, some mirrored.",
    )
    strength: Annotated[float, Field(gt=0, le=1000)] = Field(
        STRENGTH, title="Strength", description="Inverse weight of the penalty on the weights."
    )


class FitHead(Explainer):
    """Fits a linear head on pictures in folders, which are its classes, and tries it by folds.

    Result: kind "head". Arrays: weight [K, D] float32, bias [K] float32; labels [P] int64, the
    class of each picture; judged [P] int64, what a head says that saw no view of it.

    Values: classes (K names), folds, accuracy (share of pictures judged rightly), majority (share
    of the largest class), layer (name of the layer that the head replaces), architecture.
    """

    id = "fit_head"
    title = "Fit a head on a photo set"
    family = "images"
    role = "preparation"
    reference = Reference(
        authors="Oquab et al.",
        title="DINOv2: Learning Robust Visual Features without Supervision",
        year=2024,
        link="https://arxiv.org/abs/2304.07193",
    )
    how_to_read = (
        "Logistic regression on features that stay as they are. Its accuracy is of pictures left "
        "out; pictures that are much alike, as of one scene, make it look better than it is."
    )
    libraries = ("torch", "transformers", "scikit-learn")
    uses_seed = True
    Parameters = FitHeadParameters

    def supports(self, config: dict[str, Any], input: Bundle) -> str | None:
        return NO_HEAD if config.get("model_type") == LITE0 else None

    def explain(
        self, model: Any, input: Photos, target: ImageTarget, parameters: Any, run: Run
    ) -> ImageExplanation:
        """The head.

        Raises:
            InputError: the pictures make no classes that a head can be fitted on and tried with.
            ModelError: the classifier ends in no single linear layer.
        """
        from backend.images import head

        head.check(input)
        name, _ = head.last_layer(model.module)
        views = head.Views.of(input, parameters.crops, run.seed, model.preprocessing.seen)
        count = len(views.seen)
        features = head.embed(model, views.seen, lambda done: run.progress(done, count, "views"))
        run.count(forward=count)
        weight, bias = head.fit_head(features, views.labels, parameters.strength)
        labels = views.labels[:: parameters.crops]
        judged = head.left_out(features, views.labels, views.pictures, parameters.strength)
        return ImageExplanation(
            arrays={
                "weight": weight,
                "bias": bias,
                "labels": labels.astype(np.int64),
                "judged": judged.astype(np.int64),
            },
            values={
                "kind": "head",
                "classes": list(head.classes(input.folders)),
                "folds": head.fold_count(labels),
                "accuracy": float((judged == labels).mean()),
                "majority": float(np.bincount(labels).max() / len(labels)),
                "layer": name,
                "architecture": model.architecture,
            },
        )
