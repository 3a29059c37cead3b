"""Contribution Weights: what each token adds along the direction of an attention layer's output.

Cunningham & Cirone, "Contribution Weights: A Geometrical Analysis of Self-Attention Transformers",
ICML 2026, arXiv 2606.07604. The abstract names three factors: attention weight, size of the value,
alignment with the layer's output. The choices it leaves open are parameters here.

1. Per layer: o_i the attention output at query i, f_{j,h} what key j writes through head h.
2. c[h,i,j] = A[h,i,j] <f_{j,h}, o_i / ||o_i||>; divided by ||o_i|| it sums to 1 over h and j.
3. Heads share the direction, so C[i,j] = Σ_h c[h,i,j] is exact; layers are averaged or chained.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from backend.explainer import Explainer, Reference, Run
from backend.tokens.explanation import Prompt, Target, TokenExplanation
from backend.tokens.flow import Flow, LayerParameters
from backend.tokens.readings import Reading

if TYPE_CHECKING:
    from torch import Tensor

    from backend.tokens.capture import LayerParts

_REFERENCES = {
    "layer_output": "attention output",
    "head_output": "head's output",
    "residual": "residual stream",
    "block_output": "block's output",
}
_UNITS = {
    "output_norm": "share of the {}",
    "none": "length along the {}",
    "absolute": "share of absolute contributions to the {}",
}


class ContributionParameters(LayerParameters):
    """The choices behind a contribution and behind a token's score."""

    reference: Literal["layer_output", "head_output", "residual", "block_output"] = Field(
        "layer_output",
        title="Reference",
        description="Direction along which a contribution is measured: the attention layer's "
        "output, each head's own output (each head's row then sums to 1), the residual stream "
        "after attention, or the residual stream after the whole block.",
    )
    normalisation: Literal["output_norm", "none", "absolute"] = Field(
        "output_norm",
        title="Normalisation",
        description="`output_norm` divides by the reference's length, so contributions sum to 1; "
        "`none` keeps lengths; `absolute` divides by the sum of absolute contributions.",
    )
    sign: Literal["signed", "positive", "absolute"] = Field(
        "signed",
        title="Sign",
        description="What of a token's contribution in a layer and row goes into its score. The "
        "stored matrices are always signed, and `rollout` always takes the positive part.",
    )
    reading: Reading = Field(
        "span",
        title="Reading",
        description="`span`: mean over the rows that predict the explained tokens; `last`: the row "
        "that predicts the first of them; `received`: what a token gives to all later ones; "
        "`rollout`: layers multiplied, residual stream included.",
    )


class ContributionWeights(Explainer):
    """Contribution Weights of every head and key, and the token scores read from them.

    Arrays (L layers, H heads, N tokens, Q kept query rows, `values["queries"]`):
        contributions: [L, H, Q, N], signed, zero for later keys; NaN where the reference is
            shorter than 1e-8.
        attention: [L, H, Q, N], each row sums to 1 over keys.
        others/bias, others/residual, others/feed_forward: [L, Q], what sources beside the keys
            contribute, where the model or the reference has them; with these, contributions sum
            to 1 over heads and keys (to the reference's length where not normalised).
        norms: [L, Q] (or [L, H, Q] per head), length of the reference.
        layer_tokens: [L, N], the chosen reading layer by layer (`span` for `rollout`).
        readings/span, last, received, rollout: [N]; on long inputs the last two only where chosen.
    """

    id = "contribution_weights"
    title = "Contribution Weights"
    family = "tokens"
    reference = Reference(
        authors="Cunningham, Cirone",
        title="Contribution Weights: A Geometrical Analysis of Self-Attention Transformers",
        year=2026,
        link="https://arxiv.org/abs/2606.07604",
    )
    reconstruction = True
    how_to_read = (
        "How much of what attention wrote came from each token, in the direction it was written. "
        "1 means all of it; a negative value pushed the other way. Unlike attention, a token that "
        "is looked at but has nothing to say scores near 0."
    )
    Parameters = ContributionParameters

    def explain(
        self, model: Any, input: Any, target: Any, parameters: Any, run: Run
    ) -> TokenExplanation:
        flow = _Flow(model, input, target, parameters)
        flow.read(run)
        return flow.result()


class _Flow(Flow):
    names = ("contributions", "attention")
    chained = True

    def __init__(
        self, model: Any, input: Prompt, target: Target, parameters: ContributionParameters
    ) -> None:
        super().__init__(model, input, target, parameters, parameters.reading)
        self.choice = parameters
        self.beside: dict[str, list[np.ndarray]] = {}
        self.short = 0

    def matrix(self, parts: LayerParts, *, keep: bool) -> Tensor:
        from backend.tokens import contributions as cw

        reference = cw.direction(parts, self.choice.reference, self.choice.normalisation)
        if not keep or self.kept.rows == self.rows:  # rows kept of more were counted before
            self.short += int((reference.norm < cw.SMALLEST_NORM).sum())
        absolute = self.choice.normalisation == "absolute"
        if not keep:
            return self._signed(cw.contributions(parts, reference, absolute=absolute))
        self.kept.put("attention", parts.index, parts.attention)
        with self.kept.slot("contributions", parts.index, parts.attention.device) as out:
            total = cw.contributions(parts, reference, absolute=absolute, out=out)
        for name, value in reference.others.items():
            self.beside.setdefault(f"others/{name}", []).append(value.cpu().numpy())
        self.beside.setdefault("norms", []).append(reference.norm.cpu().numpy())
        return self._signed(total)

    def mixing(self, parts: LayerParts, matrix: Tensor) -> Tensor:
        from backend.tokens import contributions as cw

        return cw.mixing(parts)

    def _signed(self, total: Tensor) -> Tensor:
        if self.choice.sign == "positive":
            return total.clamp(min=0)
        return total.abs() if self.choice.sign == "absolute" else total

    def result(self) -> TokenExplanation:
        """The explanation, after the last layer."""
        rolled = self.reading == "rollout"
        template = _UNITS[self.choice.normalisation]
        unit = template.format(_REFERENCES[self.choice.reference])
        note = (
            f"{self.short} rows have no direction (the reference is shorter than 1e-8): they are "
            "NaN in the matrices and left out of the scores."
        )
        return self.explanation(
            "share of the residual stream" if rolled else unit,
            signed=self.choice.sign == "signed" and not rolled,
            arrays={name: np.stack(values) for name, values in self.beside.items()},
            values={"undefined_rows": self.short},
            notes=(note,) if self.short else (),
        )
