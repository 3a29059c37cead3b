"""Saliency: the size of the gradient at each pixel; and what gradient methods share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from backend.explainer import Explainer, Reference, Run
from backend.images.explanation import ImageExplanation, ImageTarget, Photos

if TYPE_CHECKING:
    from torch import Tensor

    from backend.images.explained import Decision


def gradient(decision: Decision, x: Tensor) -> Tensor:
    """[B, 3, h, w]: the gradient of the explained logit at pictures [B, 3, h, w]."""
    import torch

    given = x.detach().requires_grad_()
    (found,) = torch.autograd.grad(decision.logit(given).sum(), given)
    decision.run.count(backward=len(x))
    return found


class Saliency(Explainer):
    """The largest size of the gradient over the channels.

    Arrays and values as `backend.images.explained` has them.
    """

    id = "saliency"
    title = "Saliency"
    family = "images"
    reference = Reference(
        authors="Simonyan, Vedaldi, Zisserman",
        title="Deep Inside Convolutional Networks: Visualising Image Classification Models and "
        "Saliency Maps",
        year=2013,
        link="https://arxiv.org/abs/1312.6034",
    )
    how_to_read = "A large value: a small change of this pixel moves the class's logit most."

    def explain(
        self, model: Any, input: Photos, target: ImageTarget, parameters: Any, run: Run
    ) -> ImageExplanation:
        """The map.

        Raises:
            InputError: there is no such picture or class.
        """
        from backend.images.explained import Decision, explained

        decision = Decision(model, input, target, run)
        found = gradient(decision, decision.x)[0].abs().amax(dim=0)
        return explained(decision, found.cpu().numpy(), unit="logit per normalised step")
