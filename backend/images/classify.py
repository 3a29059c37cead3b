"""The preparation of what rests on a class: which one the model finds in each picture."""

from __future__ import annotations

from typing import Any

import numpy as np

from backend.explainer import Explainer, Run
from backend.images.explanation import ImageExplanation, ImageTarget, Photos


class Classify(Explainer):
    """Classes of all pictures.

    Arrays: labels [n] int32, probabilities [n] float32: the most probable class of each picture.
    Values: kind "classes", names (of the classes that occur, by number as text).
    """

    id = "classify"
    title = "Classify the pictures"
    family = "images"
    role = "preparation"

    def explain(
        self, model: Any, input: Photos, target: ImageTarget, parameters: Any, run: Run
    ) -> ImageExplanation:
        """The classes."""
        chances = probabilities(model, [model.preprocessing.seen(input.image(i))
                                        for i in range(len(input))], run)  # fmt: skip
        labels = chances.argmax(axis=1)
        return ImageExplanation(
            arrays={
                "labels": labels.astype(np.int32),
                "probabilities": chances.max(axis=1).astype(np.float32),
            },
            values={
                "kind": "classes",
                "names": {str(c): model.names[c] for c in np.unique(labels).tolist()},
            },
        )


def probabilities(model: Any, pictures: list[np.ndarray], run: Run) -> np.ndarray:
    """[n, C] float64 of pictures [h, w, 3] as the model sees them."""
    import torch

    def work(part: Any) -> list[np.ndarray]:
        x = torch.cat([model.tensor(picture) for picture in part])
        run.count(forward=len(part))
        with torch.no_grad():
            return list(model.logits(x).double().softmax(dim=1).cpu().numpy())

    return np.stack(run.batches(pictures, model.at_once, work, "looking at the pictures"))
