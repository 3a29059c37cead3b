"""Grad-CAM: maps weighted by the mean gradient of the class."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.images.explanation import ImageExplanation, ImageTarget, Photos


class CamParameters(Frozen):
    """What of the weighted sum is shown."""

    signed: bool = Field(
        False,
        title="Evidence against",
        description="Keep what speaks against the class too, in place of leaving it out.",
    )


class GradCam(Explainer):
    """sum_k mean(G_k) A_k over the maps A of the last layer, G their gradient; then its positive
    part, enlarged.

    Arrays and values as `backend.images.explained` has them, and layer and grid.
    """

    id = "grad_cam"
    title = "Grad-CAM"
    family = "images"
    reference = Reference(
        authors="Selvaraju, Cogswell, Das, Vedantam, Parikh, Batra",
        title="Grad-CAM: Visual Explanations from Deep Networks via Gradient-based Localization",
        year=2017,
        link="https://arxiv.org/abs/1610.02391",
    )
    how_to_read = (
        "Where the last maps, each weighted by how much it moves the class, are strong. Coarse: "
        "as fine as those maps. With the linear head right behind them it is exact."
    )
    Parameters = CamParameters

    def explain(
        self, model: Any, input: Photos, target: ImageTarget, parameters: Any, run: Run
    ) -> ImageExplanation:
        """The map.

        Raises:
            InputError: there is no such picture or class.
        """
        from backend.images.cams import cam, decided, maps_and_gradient

        decision = decided(model, input, target, run)
        maps, gradient = maps_and_gradient(decision)
        weights = gradient.mean(dim=(1, 2), keepdim=True)
        return cam(decision, (weights * maps).sum(dim=0), signed=parameters.signed)
