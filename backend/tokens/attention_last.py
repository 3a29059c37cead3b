"""Attention of the last layer, averaged over heads (Jain & Wallace, NAACL 2019)."""

from __future__ import annotations

from typing import Any

from backend.explainer import Explainer, Reference, Run
from backend.tokens.attention_mean import READING, AttentionFlow, RowReading
from backend.tokens.explanation import TokenExplanation
from backend.tokens.flow import RowParameters


class AttentionLastParameters(RowParameters):
    """Which tokens and rows count."""

    reading: RowReading = READING

    def layers(self, count: int) -> slice:
        """The last layer alone."""
        return slice(count - 1, count)


class AttentionLast(Explainer):
    """Attention of the last layer.

    Arrays: as `attention_mean`; the matrices and `layer_tokens` hold every layer, the readings and
    scores the last one.
    """

    id = "attention_last"
    title = "Attention, last layer"
    family = "tokens"
    reference = Reference(
        authors="Jain, Wallace",
        title="Attention is not Explanation",
        year=2019,
        link="https://arxiv.org/abs/1902.10186",
    )
    how_to_read = (
        "The share of the last layer's attention a token gets, averaged over heads. By then a "
        "position holds a mixture of the tokens before it, so it is a coarse picture."
    )
    Parameters = AttentionLastParameters

    def explain(
        self, model: Any, input: Any, target: Any, parameters: Any, run: Run
    ) -> TokenExplanation:
        flow = AttentionFlow(model, input, target, parameters, parameters.reading)
        flow.read(run)
        return flow.explanation("share of the last layer's attention", signed=False)
