"""Layer-CAM: maps weighted place by place by their positive gradient."""

from __future__ import annotations

from typing import Any

from backend.explainer import Explainer, Reference, Run
from backend.images.explanation import ImageExplanation, ImageTarget, Photos
from backend.images.grad_cam import CamParameters


class LayerCam(Explainer):
    """sum_k ReLU(G_k) A_k, of maps A and gradient G; signed, sum_k G_k A_k (HiResCAM, 2020).

    Arrays and values as `backend.images.explained` has them, and layer and grid.
    """

    id = "layer_cam"
    title = "Layer-CAM"
    family = "images"
    reference = Reference(
        authors="Jiang, Zhang, Hou, Cheng, Wei",
        title="LayerCAM: Exploring Hierarchical Class Activation Maps for Localization",
        year=2021,
        link="https://doi.org/10.1109/TIP.2021.3089943",
    )
    how_to_read = (
        "As Grad-CAM with the gradient of each place in place of its mean. With evidence against "
        "it is HiResCAM, whose parts sum to what the maps add to the logit."
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
        weights = gradient if parameters.signed else gradient.clamp_min(0)
        return cam(decision, (weights * maps).sum(dim=0), signed=parameters.signed)
