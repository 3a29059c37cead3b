"""Grad-CAM++: maps weighted by their positive gradients, each place by how alone it stands."""

from __future__ import annotations

from typing import Any

from backend.explainer import Explainer, Reference, Run
from backend.images.explanation import ImageExplanation, ImageTarget, Photos
from backend.images.grad_cam import CamParameters

SMALLEST = 1e-12


class GradCamPlusPlus(Explainer):
    """Weights sum_hw a ReLU(G) with a = G^2 / (2 G^2 + sum_hw(A) G^3), of maps A and gradient G.

    As in the authors' code, of the logit's exponential, whose higher derivatives are these powers.
    Arrays and values as `backend.images.explained` has them, and layer and grid.
    """

    id = "grad_cam_plus_plus"
    title = "Grad-CAM++"
    family = "images"
    reference = Reference(
        authors="Chattopadhay, Sarkar, Howlader, Balasubramanian",
        title="Grad-CAM++: Improved Visual Explanations for Deep Convolutional Networks",
        year=2018,
        link="https://arxiv.org/abs/1710.11063",
    )
    how_to_read = (
        "As Grad-CAM, but several places that speak for the class are all kept, not averaged away."
    )
    Parameters = CamParameters

    def explain(
        self, model: Any, input: Photos, target: ImageTarget, parameters: Any, run: Run
    ) -> ImageExplanation:
        """The map.

        Raises:
            InputError: there is no such picture or class.
        """
        import torch

        from backend.images.cams import cam, decided, maps_and_gradient

        decision = decided(model, input, target, run)
        maps, gradient = maps_and_gradient(decision)
        below = 2 * gradient**2 + maps.sum(dim=(1, 2), keepdim=True) * gradient**3
        safe = torch.where(below.abs() > SMALLEST, below, torch.ones_like(below))
        alone = torch.where(below.abs() > SMALLEST, gradient**2 / safe, torch.zeros_like(below))
        weights = (alone * gradient.clamp_min(0)).sum(dim=(1, 2), keepdim=True)
        return cam(decision, (weights * maps).sum(dim=0), signed=parameters.signed)
