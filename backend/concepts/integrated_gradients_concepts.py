"""Integrated gradients over concepts: the slope averaged along the way from the reference.

Sundararajan, Taly & Yan, "Axiomatic Attribution for Deep Networks", ICML 2017:

    score_j = (x_j - b_j) ∫₀¹ ∂f/∂x_j (b + t (x - b)) dt,   Σ_j score_j = f(x) - f(b)

Along a straight way a ReLU head is linear between its kinks, so one gradient in each piece, times
the piece's length, is the integral itself. Gauss-Legendre points are what libraries use instead.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from backend.concepts.decided import decided
from backend.concepts.decision import Decision, DecisionParameters
from backend.concepts.explanation import ConceptExplanation, ConceptTable, ConceptTarget
from backend.concepts.head import Head
from backend.explainer import Explainer, Reference, Run

AT_ONCE = 2048
"""Points whose gradients are computed together."""


class IntegratedGradientsParameters(DecisionParameters):
    """What a decision is compared with, and how the way there is walked."""

    steps: Annotated[int, Field(ge=0, le=500)] = Field(
        0,
        title="Steps",
        description="Gauss-Legendre points on the way; 0 takes each straight piece of the head as "
        "a whole, which is exact.",
    )


class IntegratedGradientsConcepts(Explainer):
    """Mean slope of the logit along each concept, times how far it is from the reference.

    Arrays: scores [k] float32. `values`: see `backend.concepts.decided`; and points, how many
    gradients were averaged.
    """

    id = "integrated_gradients_concepts"
    title = "Integrated gradients"
    family = "concepts"
    reference = Reference(
        authors="Sundararajan, Taly, Yan",
        title="Axiomatic Attribution for Deep Networks",
        year=2017,
        link="https://arxiv.org/abs/1703.01365",
    )
    how_to_read = (
        "How far each concept moves the logit on the straight way from the reference to this "
        "sample. Positive: it speaks for the class. The bars sum to the whole difference."
    )
    libraries = ("scikit-learn",)
    Parameters = IntegratedGradientsParameters

    def explain(
        self, model: Any, input: ConceptTable, target: ConceptTarget, parameters: Any, run: Run
    ) -> ConceptExplanation:
        """The integrals.

        Raises:
            InputError: there is no such sample or class, or the head does not fit the table.
        """
        decision = Decision.of(input, target, parameters.baseline, parameters.contrast)
        start, way = decision.baseline, decision.x - decision.baseline
        places, lengths = (
            gauss_legendre(parameters.steps)
            if parameters.steps
            else pieces(decision.head, start, decision.x)
        )
        slope = np.zeros(len(way))
        for first in range(0, len(places), AT_ONCE):
            run.progress(first, len(places), "gradients on the way")
            some = slice(first, first + AT_ONCE)
            slope += lengths[some] @ decision.gradient(start + places[some, None] * way)
        run.count(forward=len(places) + 2, backward=len(places))
        return decided(
            decision,
            slope * way,
            run,
            base=float(decision.value(start)),
            values={"points": len(places)},
        )


def gauss_legendre(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Places in [0, 1] and weights that sum to 1, [count] each."""
    places, weights = np.polynomial.legendre.leggauss(count)
    return (places + 1.0) / 2.0, weights / 2.0


def pieces(head: Head, start: np.ndarray, stop: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Middles and lengths of the pieces of [0, 1] in which a head is linear from start to stop.

    Layer by layer: between the kinks of the layers below, each unit is linear, and has a kink of
    its own where it changes its sign.
    """
    ends = np.array([0.0, 1.0])
    for depth in range(len(head.weights) - 1):
        below = Head(head.weights[: depth + 1], head.biases[: depth + 1])
        units = below.outputs(start + ends[:, None] * (stop - start))
        left, right = units[:-1], units[1:]
        crossed = left * right < 0
        gap = np.nonzero(crossed)[0]
        share = left[crossed] / (left[crossed] - right[crossed])
        ends = np.unique(np.concatenate([ends, ends[gap] + share * np.diff(ends)[gap]]))
    return (ends[:-1] + ends[1:]) / 2.0, np.diff(ends)
