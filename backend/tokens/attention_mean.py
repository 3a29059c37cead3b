"""Mean attention: how much the explained rows look at each token, over heads and layers.

The baseline every attention-based method is compared with; attention is where a model looks, not
what it takes (Jain & Wallace, "Attention is not Explanation", NAACL 2019).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from backend.explainer import Explainer, Reference, Run
from backend.tokens.explanation import TokenExplanation
from backend.tokens.flow import Flow, LayerParameters

if TYPE_CHECKING:
    from torch import Tensor

    from backend.tokens.capture import LayerParts

RowReading = Literal["span", "last", "received"]
READING: Any = Field(
    "span",
    title="Reading",
    description="`span`: mean over the rows that predict the explained tokens; `last`: the row "
    "that predicts the first of them; `received`: what a token gets from itself and all later "
    "ones.",
)


class AttentionMeanParameters(LayerParameters):
    """Which layers, tokens and rows count."""

    reading: RowReading = READING


class AttentionMean(Explainer):
    """Attention averaged over heads and layers.

    Arrays (L layers, H heads, N tokens, Q kept query rows, `values["queries"]`):
        attention: [L, H, Q, N], each row sums to 1 over keys.
        layer_tokens: [L, N], the chosen reading layer by layer.
        readings/span, last: [N]; readings/received: [N], only where all rows were computed.
    """

    id = "attention_mean"
    title = "Attention, mean"
    family = "tokens"
    reference = Reference(
        authors="Jain, Wallace",
        title="Attention is not Explanation",
        year=2019,
        link="https://arxiv.org/abs/1902.10186",
    )
    how_to_read = (
        "The share of attention a token gets, averaged over heads and layers. It says where the "
        "model looks, not what it takes from there: the first token often gets most of it."
    )
    Parameters = AttentionMeanParameters

    def explain(
        self, model: Any, input: Any, target: Any, parameters: Any, run: Run
    ) -> TokenExplanation:
        flow = AttentionFlow(model, input, target, parameters, parameters.reading)
        flow.read(run)
        return flow.explanation("share of attention", signed=False)


class AttentionFlow(Flow):
    """Attention as it is: the mean over heads is the token matrix."""

    def matrix(self, parts: LayerParts, *, keep: bool) -> Tensor:
        if keep:
            self.kept.put("attention", parts.index, parts.attention)
        return parts.attention.mean(dim=0)
