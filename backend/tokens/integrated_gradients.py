"""Integrated gradients: the gradient along the way from an empty prompt to the real one.

Sundararajan, Taly & Yan, "Axiomatic Attribution for Deep Networks", ICML 2017:

1. Baseline b: the neutral token's embedding, zeros or the mean embedding at every token before
   the first explained one. The explained tokens keep their embeddings: they are what is explained.
2. score(j) = Σ_d (e_jd - b_jd) ∫_0^1 ∂f/∂e_jd (b + α(e - b)) dα with f = Σ log p(explained token),
   by points put where they are missing, or by Gauss-Legendre quadrature (`backend.tokens.path`).
3. Completeness: the scores sum to f(e) - f(b). The gap that the steps leave is reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from backend.bundle import Bundle
from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.tokens.explanation import TokenExplanation
from backend.tokens.objective import Objective, gradients_unsupported

if TYPE_CHECKING:
    from torch import Tensor

GAP_WARNING = 0.05
_VOCABULARY_ROWS = 8192

Baseline = Literal["neutral", "zero", "mean"]


class IntegratedGradientsParameters(Frozen):
    """Where the path starts and how finely it is walked."""

    steps: Annotated[int, Field(ge=4, le=512)] = Field(
        64,
        title="Steps",
        description="Most points on the path; more make the completeness gap smaller.",
    )
    points: Literal["adaptive", "even"] = Field(
        "adaptive",
        title="Points",
        description="`adaptive` puts points where the scores miss a part of the difference, and "
        "stops early where they miss less than 1 %; `even` is Gauss-Legendre quadrature.",
    )
    baseline: Baseline = Field(
        "neutral",
        title="Baseline",
        description="What every prompt token starts from: the embedding of the model's padding or "
        "end token, a zero vector (where norms jump: many steps are needed), or the mean of all "
        "embeddings.",
    )


class IntegratedGradients(Explainer):
    """Path integral of the gradient, from a baseline to the prompt.

    Values:
        value, baseline_value: f at the prompt and at the baseline (nats).
        completeness_gap: sum of the scores less (value - baseline_value), nats.
        relative_gap: |completeness_gap| / |value - baseline_value|; None where both are equal.
        points_used: points on the path. steps, points, baseline: as chosen.
    """

    id = "integrated_gradients"
    title = "Integrated gradients"
    family = "tokens"
    reference = Reference(
        authors="Sundararajan, Taly, Yan",
        title="Axiomatic Attribution for Deep Networks",
        year=2017,
        link="https://arxiv.org/abs/1703.01365",
    )
    how_to_read = (
        "How many nats each token adds to the answer's log-probability on the way from a neutral "
        "prompt to this one. Positive: it makes the answer more probable. Negative: less. The "
        "scores sum to the whole difference, but for the completeness gap: where that is large, "
        "raise the steps."
    )
    libraries = ("torch", "transformers", "captum")
    Parameters = IntegratedGradientsParameters

    def supports(self, config: dict[str, Any], input: Bundle) -> str | None:
        return gradients_unsupported(config)

    def explain(
        self, model: Any, input: Any, target: Any, parameters: Any, run: Run
    ) -> TokenExplanation:
        from backend.tokens.path import Path

        objective = Objective(model, input, target, run)
        path = Path(objective, baseline(model, parameters.baseline))
        used = parameters.steps
        if parameters.points == "even":
            scores = path.even(used)
        else:
            scores, used = path.adaptive(used)
        value, baseline_value = path.ends()
        difference = value - baseline_value
        gap = float(scores.sum()) - difference
        relative = abs(gap) / abs(difference) if difference else None
        if relative is not None and relative > GAP_WARNING:
            jump = ", or choose another baseline: norms jump at zero"
            run.warn(
                f"The scores miss the difference they should sum to by {relative:.1%}: raise the "
                f"steps (now {parameters.steps}) until this is below {GAP_WARNING:.0%}"
                f"{jump if parameters.baseline == 'zero' else ''}."
            )
        values = {
            "value": value,
            "baseline_value": baseline_value,
            "completeness_gap": gap,
            "relative_gap": relative,
            "points_used": used,
            **parameters.model_dump(),
        }
        return objective.explanation(scores, values)


def baseline(model: Any, kind: Baseline) -> Tensor:
    """The vector a token starts from, [d] float32."""
    import torch

    neutral: Tensor = model.embeddings([model.neutral_id])[0].detach().float()
    if kind == "neutral":
        return neutral
    total = torch.zeros_like(neutral, dtype=torch.float64)
    if kind == "mean":
        for first in range(0, model.vocabulary, _VOCABULARY_ROWS):
            ids = range(first, min(first + _VOCABULARY_ROWS, model.vocabulary))
            total += model.embeddings(ids).detach().double().sum(dim=0)
    mean: Tensor = (total / model.vocabulary).float()
    return mean
