"""Attention rollout: attention multiplied through the layers, the residual stream included.

Abnar & Zuidema, "Quantifying Attention Flow in Transformers", ACL 2020:
B_l = (1 - r) mean_h A_l + r I with r = 0.5, rows summing to 1; the score of token j is row i of
B_L ... B_1, averaged over the rows i that predict the explained tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from backend.explainer import Explainer, Reference, Run
from backend.tokens.explanation import Prompt, Target, TokenExplanation
from backend.tokens.flow import Flow, LayerParameters

if TYPE_CHECKING:
    from torch import Tensor

    from backend.tokens.capture import LayerParts


class RolloutParameters(LayerParameters):
    """Which layers and tokens count, and how strong the residual stream is."""

    residual: float = Field(
        0.5,
        ge=0.0,
        le=1.0,
        title="Residual share",
        description="Share of each layer that stays with the token itself; the paper takes 0.5.",
    )


class AttentionRollout(Explainer):
    """Attention rollout.

    Arrays (L layers, H heads, N tokens, Q kept query rows, `values["queries"]`):
        attention: [L, H, Q, N], each row sums to 1 over keys.
        layer_tokens: [L, N], mean attention of the span's rows layer by layer.
        readings/rollout: [N], the scores before anything is left out; readings/span, last,
            received: [N], mean attention over heads and layers, not multiplied.
    """

    id = "attention_rollout"
    title = "Attention rollout"
    family = "tokens"
    reference = Reference(
        authors="Abnar, Zuidema",
        title="Quantifying Attention Flow in Transformers",
        year=2020,
        link="https://arxiv.org/abs/2005.00928",
    )
    how_to_read = (
        "The share of the last layer's position that flowed from each token, if information moved "
        "as attention does. In these models it piles up on the first token: compare with that "
        "token left out."
    )
    Parameters = RolloutParameters

    def explain(
        self, model: Any, input: Any, target: Any, parameters: Any, run: Run
    ) -> TokenExplanation:
        flow = _Rollout(model, input, target, parameters)
        flow.read(run)
        return flow.explanation("share of the flow", signed=False)


class _Rollout(Flow):
    chained = True

    def __init__(
        self, model: Any, input: Prompt, target: Target, parameters: RolloutParameters
    ) -> None:
        super().__init__(model, input, target, parameters, "rollout")
        self.residual = parameters.residual

    def matrix(self, parts: LayerParts, *, keep: bool) -> Tensor:
        if keep:
            self.kept.put("attention", parts.index, parts.attention)
        return parts.attention.mean(dim=0)

    def mixing(self, parts: LayerParts, matrix: Tensor) -> Tensor:
        mixed = matrix * (1.0 - self.residual)
        mixed.diagonal().add_(self.residual)
        return mixed
