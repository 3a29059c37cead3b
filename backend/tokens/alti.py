"""ALTI: how much closer each token's vector brings the residual stream to where it ends.

Ferrando, Gállego & Costa-jussà, "Measuring the Mixing of Contextual Information in the
Transformer", EMNLP 2022:

1. T_ij = Σ_h A[h,i,j] f_{j,h}, plus the residual x_i at j = i; m_i = x_i + attention output.
2. C[i,j] = max(0, ||m_i||_1 - ||m_i - T_ij||_1), rows divided by their sum.
3. Layers are multiplied, C_L ... C_1, and read at the rows that predict the explained tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from backend.explainer import Explainer, Reference, Run
from backend.tokens.explanation import Prompt, Target, TokenExplanation
from backend.tokens.flow import Flow, LayerParameters
from backend.tokens.readings import Reading

if TYPE_CHECKING:
    from torch import Tensor

    from backend.tokens.capture import LayerParts


class AltiParameters(LayerParameters):
    """Which layers and tokens count, and how layers are joined."""

    reading: Reading = Field(
        "rollout",
        title="Reading",
        description="`rollout` multiplies the layers, as the paper does; the others average them: "
        "`span` over the rows that predict the explained tokens, `last` the row that predicts "
        "the first of them, `received` what a token gives to itself and all later ones.",
    )


class Alti(Explainer):
    """Aggregation of layer-wise token-to-token interactions.

    Arrays (L layers, H heads, N tokens, Q kept query rows, `values["queries"]`):
        attention: [L, H, Q, N], each row sums to 1 over keys.
        layer_tokens: [L, N], the chosen reading layer by layer (`span` for `rollout`).
        readings/rollout, span, last, received: [N]; on long inputs the first and the last only
            where chosen.
    """

    id = "alti"
    title = "ALTI"
    family = "tokens"
    reference = Reference(
        authors="Ferrando, Gállego, Costa-jussà",
        title="Measuring the Mixing of Contextual Information in the Transformer",
        year=2022,
        link="https://arxiv.org/abs/2203.04212",
    )
    how_to_read = (
        "The share of the last layer's position that came from each token, layer after layer, "
        "the token's own residual stream included. Shares are never negative and sum to 1."
    )
    Parameters = AltiParameters

    def explain(
        self, model: Any, input: Any, target: Any, parameters: Any, run: Run
    ) -> TokenExplanation:
        flow = _Alti(model, input, target, parameters, parameters.reading, run)
        flow.read(run)
        return flow.explanation("share of the residual stream", signed=False)


class _Alti(Flow):
    chained = True

    def __init__(
        self,
        model: Any,
        input: Prompt,
        target: Target,
        parameters: AltiParameters,
        reading: Reading,
        run: Run,
    ) -> None:
        super().__init__(model, input, target, parameters, reading)
        self.run = run

    def matrix(self, parts: LayerParts, *, keep: bool) -> Tensor:
        from backend.tokens import written

        if keep:
            self.kept.put("attention", parts.index, parts.attention)
            if self.kept.rows != self.rows:  # these rows were computed before
                return parts.attention[0]
        closer = written.proximity(parts, self.run.check_cancelled)
        return closer / closer.sum(dim=-1, keepdim=True)
