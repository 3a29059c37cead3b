"""Attention rollout, plain and by gradient: how attention carries patches to the class token."""

from __future__ import annotations

from typing import Any

import numpy as np

from backend.bundle import Bundle
from backend.explainer import Explainer, Reference, Run
from backend.images.explanation import ImageExplanation, ImageTarget, Photos

SERVED = ("vit", "deit", "dinov2")
FEWEST = 2
"""Blocks: patches are read at the last but one."""
NO_ATTENTION = (
    "It needs a transformer whose class token attends to all patches (ViT, DeiT, DINOv2); this "
    "model has none."
)


def refused(config: dict[str, Any]) -> str | None:
    """Why a model of this config has no attention to roll out, or None."""
    if config.get("model_type") not in SERVED:
        return NO_ATTENTION
    few = int(config.get("num_hidden_layers", FEWEST)) < FEWEST
    return f"It needs a transformer of at least {FEWEST} blocks." if few else None


class AttentionRollout(Explainer):
    """The class token's row of the product over the blocks of (A + I) / 2, A the heads' mean.

    Arrays and values as `backend.images.explained` has them.
    """

    id = "attention_rollout"
    title = "Attention rollout"
    family = "images"
    reference = Reference(
        authors="Abnar, Zuidema",
        title="Quantifying Attention Flow in Transformers",
        year=2020,
        link="https://arxiv.org/abs/2005.00928",
    )
    how_to_read = (
        "How much attention, block after block, could have carried from a patch to the class "
        "token. It is the same for every class."
    )

    def supports(self, config: dict[str, Any], input: Bundle) -> str | None:
        return refused(config)

    def explain(
        self, model: Any, input: Photos, target: ImageTarget, parameters: Any, run: Run
    ) -> ImageExplanation:
        """The map.

        Raises:
            InputError: there is no such picture or class.
        """
        import torch

        from backend.images.explained import Decision

        decision = Decision(model, input, target, run)
        with torch.no_grad():
            found = model.module(decision.x.to(model.dtype), output_attentions=True).attentions
        run.count(forward=1)
        steps = [one[0].double().mean(dim=0) for one in found]
        return rolled(decision, [(a + torch.eye(len(a)).to(a)) / 2 for a in steps])


class GradientRollout(Explainer):
    """The class token's row of the product over the blocks of I + mean over heads of ReLU(G A).

    A is a block's attention, G the gradient of the explained logit with respect to it. Arrays and
    values as `backend.images.explained` has them.
    """

    id = "gradient_rollout"
    title = "Gradient rollout"
    family = "images"
    reference = Reference(
        authors="Chefer, Gur, Wolf",
        title="Generic Attention-model Explainability for Interpreting Bi-Modal and "
        "Encoder-Decoder Transformers",
        year=2021,
        link="https://arxiv.org/abs/2103.15679",
    )
    how_to_read = (
        "As attention rollout, with only the attention that speaks for the class: its gradient is "
        "positive."
    )

    def supports(self, config: dict[str, Any], input: Bundle) -> str | None:
        return refused(config)

    def explain(
        self, model: Any, input: Photos, target: ImageTarget, parameters: Any, run: Run
    ) -> ImageExplanation:
        """The map.

        Raises:
            InputError: there is no such picture or class.
        """
        import torch

        from backend.images.explained import Decision

        decision = Decision(model, input, target, run)
        x = decision.x.to(model.dtype).requires_grad_()
        found = model.module(x, output_attentions=True)
        logit = found.logits[0, decision.label].float()
        gradients = torch.autograd.grad(logit, found.attentions)
        run.count(forward=1, backward=1)
        steps = []
        for attention, gradient in zip(found.attentions, gradients, strict=True):
            kept = (gradient[0] * attention[0]).detach().double().clamp_min(0).mean(dim=0)
            steps.append(kept + torch.eye(len(kept)).to(kept))
        return rolled(decision, steps)


def rolled(decision: Any, steps: list[Any]) -> ImageExplanation:
    """The explanation of the product of [N, N] steps, the first block's first."""
    import torch

    from backend.images.explained import enlarged, explained

    product = steps[0]
    for step in steps[1:]:
        product = step @ product
    at = decision.model.maps
    patches = product[0, at.prefix :].reshape(at.grid)
    return explained(
        decision,
        enlarged(patches.to(torch.float64), decision.model.shape).astype(np.float32),
        unit="attention carried",
        values={"grid": list(at.grid)},
    )
