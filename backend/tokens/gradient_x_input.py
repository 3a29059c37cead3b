"""Gradient × input: what a first-order step away from each token's embedding would change.

Shrikumar, Greenside, Shcherbina & Kundaje, "Not Just a Black Box: Learning Important Features
Through Propagating Activation Differences", 2016; Denil, Demiraj & de Freitas, "Extraction of
Salient Sentences from Labelled Documents", 2014:

1. One backward pass of f = Σ log p(explained token) to the input embeddings e_j.
2. score(j) = Σ_d ∂f/∂e_jd · e_jd, or a norm over d.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from backend.bundle import Bundle
from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.tokens.explanation import TokenExplanation
from backend.tokens.objective import UNIT, Objective, gradients_unsupported

_UNITS = {
    "signed": UNIT,
    "norm": "norm of gradient × input (nats)",
    "gradient": "norm of the gradient (nats per unit of the embedding)",
}


class GradientXInputParameters(Frozen):
    """How a token's vector becomes one number."""

    reading: Literal["signed", "norm", "gradient"] = Field(
        "signed",
        title="Reading",
        description="`signed` sums gradient × embedding over the dimensions; `norm` takes the "
        "length of that vector, `gradient` the length of the gradient alone (saliency), both "
        "without a sign.",
    )


class GradientXInput(Explainer):
    """Gradient of the answer's log-probability times the embedding.

    Arrays (N tokens):
        readings/signed, readings/norm, readings/gradient: [N] float32, NaN from the first
            explained token on.

    Values:
        value: f (nats). on_answer: the signed part on the explained tokens themselves, which no
        score shows.
    """

    id = "gradient_x_input"
    title = "Gradient × input"
    family = "tokens"
    reference = Reference(
        authors="Shrikumar, Greenside, Shcherbina, Kundaje",
        title="Not Just a Black Box: Learning Important Features Through Propagating Activation "
        "Differences",
        year=2016,
        link="https://arxiv.org/abs/1605.01713",
    )
    how_to_read = (
        "A first-order guess, from one backward pass, of what the token's embedding adds to the "
        "answer's log-probability. Positive: growing the embedding makes the answer more "
        "probable. Negative: less. Far from linear models it is noisy: trust the order of the "
        "large scores, not their size."
    )
    Parameters = GradientXInputParameters

    def supports(self, config: dict[str, Any], input: Bundle) -> str | None:
        return gradients_unsupported(config)

    def explain(
        self, model: Any, input: Any, target: Any, parameters: Any, run: Run
    ) -> TokenExplanation:
        objective = Objective(model, input, target, run)
        value, gradient, embeds = objective.gradient("one backward pass")
        product = (gradient * embeds).double()
        readings = {
            "signed": product.sum(dim=1).cpu().numpy(),
            "norm": product.norm(dim=1).cpu().numpy(),
            "gradient": gradient.double().norm(dim=1).cpu().numpy(),
        }
        masked = objective.subject.masked
        return objective.explanation(
            readings[parameters.reading],
            {
                "value": value,
                "reading": parameters.reading,
                "on_answer": float(readings["signed"][len(objective.context) :].sum()),
            },
            arrays={f"readings/{name}": masked(reading) for name, reading in readings.items()},
            unit=_UNITS[parameters.reading],
            signed=parameters.reading == "signed",
        )
