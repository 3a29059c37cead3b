"""Norm-based attention: the length of what each token writes, not only the attention it gets.

Kobayashi et al., "Attention is Not Only a Weight: Analyzing Transformers with Vector Norms", EMNLP
2020, and "Incorporating Residual and Normalization Layers into Analysis of Masked Language
Models", EMNLP 2021. With f_{j,h} = V[j,h] W_O[h]:

1. per head: A[h,i,j] ||f_{j,h}||;
2. per token: ||Σ_h A[h,i,j] f_{j,h}||, which heads that cancel make small;
3. per block: the same with the residual x_i added at j = i.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from backend.explainer import Explainer, Reference, Run
from backend.tokens.attention_mean import READING, RowReading
from backend.tokens.explanation import Prompt, Target, TokenExplanation
from backend.tokens.flow import Flow, LayerParameters

if TYPE_CHECKING:
    from torch import Tensor

    from backend.tokens.capture import LayerParts


class AttentionNormParameters(LayerParameters):
    """Which vectors are measured, and how layers are put on one scale."""

    vectors: Literal["heads", "token", "block"] = Field(
        "token",
        title="Vectors",
        description="`heads`: lengths head by head, summed; `token`: the length of the heads' "
        "sum; `block`: the same with the residual stream added to a token's own row.",
    )
    normalisation: Literal["row", "none"] = Field(
        "row",
        title="Normalisation",
        description="`row`: each row is divided by its sum, so every layer counts the same; "
        "`none` keeps lengths, and layers with long vectors count most.",
    )
    reading: RowReading = READING


class AttentionNorm(Explainer):
    """Attention times the length of the written vector.

    Arrays (L layers, H heads, N tokens, Q kept query rows, `values["queries"]`):
        contributions: [L, H, Q, N], A ||f||, lengths, never normalised.
        attention: [L, H, Q, N], each row sums to 1 over keys.
        layer_tokens: [L, N], the chosen reading layer by layer.
        readings/span, last: [N]; readings/received: [N], only where all rows were computed.
    """

    id = "attention_norm"
    title = "Attention × norm"
    family = "tokens"
    reference = Reference(
        authors="Kobayashi, Kuribayashi, Yokoi, Inui",
        title="Attention is Not Only a Weight: Analyzing Transformers with Vector Norms",
        year=2020,
        link="https://arxiv.org/abs/2004.10102",
    )
    how_to_read = (
        "How long the vector is that a token writes, whatever its direction. A token that is much "
        "attended but has a small value vector, as first tokens often do, scores low."
    )
    Parameters = AttentionNormParameters

    def explain(
        self, model: Any, input: Any, target: Any, parameters: Any, run: Run
    ) -> TokenExplanation:
        flow = _Norms(model, input, target, parameters)
        flow.read(run)
        shares = parameters.normalisation == "row"
        unit = "share of the written lengths" if shares else "length of the written vector"
        return flow.explanation(unit, signed=False)


class _Norms(Flow):
    names = ("contributions", "attention")

    def __init__(
        self, model: Any, input: Prompt, target: Target, parameters: AttentionNormParameters
    ) -> None:
        super().__init__(model, input, target, parameters, parameters.reading)
        self.choice = parameters

    def matrix(self, parts: LayerParts, *, keep: bool) -> Tensor:
        from backend.tokens import written

        per_head = self.choice.vectors == "heads"
        heads = written.head_lengths(parts) if keep or per_head else None
        if keep and heads is not None:
            self.kept.put("attention", parts.index, parts.attention)
            self.kept.put("contributions", parts.index, heads)
        if per_head and heads is not None:
            total = heads.sum(dim=0)
        else:
            total = written.token_lengths(parts, residual=self.choice.vectors == "block")
        return total / total.sum(dim=-1, keepdim=True) if self._shares else total

    @property
    def _shares(self) -> bool:
        return self.choice.normalisation == "row"
