"""SmoothGrad: the size of the gradient, averaged over noisy copies of the picture."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.images.explanation import ImageExplanation, ImageTarget, Photos
from backend.images.saliency import gradient


class SmoothGradParameters(Frozen):
    """How many copies, and how noisy."""

    copies: Annotated[int, Field(ge=1, le=500)] = Field(
        20, title="Copies", description="Noisy copies of the picture."
    )
    noise: Annotated[float, Field(gt=0, le=1)] = Field(
        0.15,
        title="Noise",
        description="Standard deviation, as a share of the range of the picture's values.",
    )


class SmoothGrad(Explainer):
    """Mean over noisy copies of the largest size of the gradient over the channels.

    Arrays and values as `backend.images.explained` has them.
    """

    id = "smooth_grad"
    title = "SmoothGrad"
    family = "images"
    reference = Reference(
        authors="Smilkov, Thorat, Kim, Viégas, Wattenberg",
        title="SmoothGrad: removing noise by adding noise",
        year=2017,
        link="https://arxiv.org/abs/1706.03825",
    )
    how_to_read = "As saliency, with less of the speckle that single gradients have."
    uses_seed = True
    Parameters = SmoothGradParameters

    def explain(
        self, model: Any, input: Photos, target: ImageTarget, parameters: Any, run: Run
    ) -> ImageExplanation:
        """The map.

        Raises:
            InputError: there is no such picture or class.
        """
        import torch

        from backend.images.explained import Decision, explained

        decision = Decision(model, input, target, run)
        generator = run.torch_generator()
        sigma = float(parameters.noise * (decision.x.max() - decision.x.min()))
        total = np.zeros(decision.model.shape)

        def work(part: Any) -> list[None]:
            drawn = torch.randn(len(part), *decision.x.shape[1:], generator=generator)
            found = gradient(decision, decision.x + sigma * drawn.to(decision.x.device))
            total[:] += found.abs().amax(dim=1).double().sum(dim=0).cpu().numpy()
            return [None] * len(part)

        run.batches(range(parameters.copies), decision.model.at_once, work, "noisy copies")
        return explained(decision, total / parameters.copies, unit="logit per normalised step")
