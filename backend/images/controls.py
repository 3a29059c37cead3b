"""Maps that know nothing of the model: what every method has to beat."""

from __future__ import annotations

from typing import Any

import numpy as np

from backend.explainer import Explainer, Run
from backend.images.cells import CELLS
from backend.images.explanation import ImageExplanation, ImageTarget, Photos


class RandomMap(Explainer):
    """Numbers from 0 to 1 on a coarse grid, enlarged.

    Arrays and values as `backend.images.explained` has them.
    """

    id = "random_map"
    title = "Random"
    family = "images"
    how_to_read = "A map drawn by lot. A method whose numbers are no better has found nothing."
    uses_seed = True
    control = True

    def explain(
        self, model: Any, input: Photos, target: ImageTarget, parameters: Any, run: Run
    ) -> ImageExplanation:
        """The draw.

        Raises:
            InputError: there is no such picture or class.
        """
        from backend.images.explained import Decision, explained

        decision = Decision(model, input, target, run)
        return explained(decision, drawn(model.shape, run.numpy_generator()), unit="lot")


class CentreGaussian(Explainer):
    """A Gaussian about the middle, a quarter of the picture wide.

    Arrays and values as `backend.images.explained` has them.
    """

    id = "centre_gaussian"
    title = "Centre"
    family = "images"
    how_to_read = (
        "Whatever the picture: its middle, where photographers put what they mean. Methods that "
        "score no better have not looked."
    )
    control = True

    def explain(
        self, model: Any, input: Photos, target: ImageTarget, parameters: Any, run: Run
    ) -> ImageExplanation:
        """The same for every picture.

        Raises:
            InputError: there is no such picture or class.
        """
        from backend.images.explained import Decision, explained

        decision = Decision(model, input, target, run)
        rows, columns = (
            (np.arange(side) - (side - 1) / 2) / (side / 4) for side in decision.model.shape
        )
        found = np.exp(-(rows[:, None] ** 2 + columns[None, :] ** 2) / 2)
        return explained(decision, found, unit="closeness to the middle")


def drawn(shape: tuple[int, int], generator: np.random.Generator) -> np.ndarray:
    """[h, w] float64 from 0 to 1."""
    import torch

    from backend.images.explained import enlarged

    return enlarged(torch.from_numpy(generator.random((CELLS, CELLS))), shape)
