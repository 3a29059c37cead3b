"""Score-CAM: maps weighted by what the model says of the picture seen through each."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.images.explanation import ImageExplanation, ImageTarget, Photos


class ScoreCamParameters(Frozen):
    """How many maps are tried."""

    maps: Annotated[int, Field(ge=1, le=4096)] = Field(
        64,
        title="Maps",
        description="Of the maps those with the largest mean gradient times activation are tried, "
        "a pass each; the paper tries all.",
    )


class ScoreCam(Explainer):
    """ReLU(sum_k w_k A_k): w is the softmax over the maps of the logit of the picture times the
    map, scaled to 0..1 and enlarged, less that of nothing seen.

    Arrays and values as `backend.images.explained` has them, and layer, grid and tried.
    """

    id = "score_cam"
    title = "Score-CAM"
    family = "images"
    reference = Reference(
        authors="Wang, Wang, Du, Yang, Zhang, Ding, Mardziel, Hu",
        title="Score-CAM: Score-Weighted Visual Explanations for Convolutional Neural Networks",
        year=2020,
        link="https://arxiv.org/abs/1910.01279",
    )
    how_to_read = (
        "As Grad-CAM without gradients: a map counts as much as the class is still recognised when "
        "only what the map marks is seen."
    )
    Parameters = ScoreCamParameters

    def explain(
        self, model: Any, input: Photos, target: ImageTarget, parameters: Any, run: Run
    ) -> ImageExplanation:
        """The map.

        Raises:
            InputError: there is no such picture or class.
        """
        import torch

        from backend.images.cams import cam, decided, maps_and_gradient
        from backend.images.explained import enlarged

        decision = decided(model, input, target, run)
        maps, gradient = maps_and_gradient(decision)
        strength = (gradient.mean(dim=(1, 2)) * maps.mean(dim=(1, 2))).abs()
        chosen = strength.argsort(descending=True, stable=True)[: parameters.maps]

        def through(k: int) -> Any:
            low, high = maps[k].min(), maps[k].max()
            scaled = (maps[k] - low) / (high - low) if high > low else torch.zeros_like(maps[k])
            window = torch.from_numpy(enlarged(scaled, decision.model.shape)).to(decision.x)
            return decision.x * window

        logits = decision.each(chosen.tolist(), through, "pictures through a map")
        weights = torch.from_numpy(logits).softmax(dim=0).to(maps)
        summed = (weights[:, None, None] * maps[chosen]).sum(dim=0)
        return cam(decision, summed, signed=False, values={"tried": len(chosen)})
