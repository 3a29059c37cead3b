"""Gradient × concept: the slope at the sample times the distance from the reference.

Shrikumar et al., "Not Just a Black Box", 2016, with concepts for inputs:

    score_j = (x_j - b_j) ∂f/∂x_j (x)

It sums to f(x) - f(b) where the head is linear between the two, and elsewhere misses it.
"""

from __future__ import annotations

from typing import Any

from backend.concepts.decided import decided
from backend.concepts.decision import Decision, DecisionParameters
from backend.concepts.explanation import ConceptExplanation, ConceptTable, ConceptTarget
from backend.explainer import Explainer, Reference, Run


class GradientXConcept(Explainer):
    """Slope of the logit along each concept, times how far the concept is from the reference.

    Arrays: scores [k] float32. `values`: see `backend.concepts.decided`.
    """

    id = "gradient_x_concept"
    title = "Gradient × concept"
    family = "concepts"
    reference = Reference(
        authors="Shrikumar, Greenside, Shcherbina, Kundaje",
        title="Not Just a Black Box: Learning Important Features Through Propagating Activation "
        "Differences",
        year=2016,
        link="https://arxiv.org/abs/1605.01713",
    )
    how_to_read = (
        "How far each concept would move the logit if the head went on as straight as it is at "
        "this sample. Positive: it speaks for the class. A head with hidden layers bends, and the "
        "gap between the sum and the whole difference says how much."
    )
    libraries = ("scikit-learn",)
    Parameters = DecisionParameters

    def explain(
        self, model: Any, input: ConceptTable, target: ConceptTarget, parameters: Any, run: Run
    ) -> ConceptExplanation:
        """The products.

        Raises:
            InputError: there is no such sample or class, or the head does not fit the table.
        """
        decision = Decision.of(input, target, parameters.baseline, parameters.contrast)
        scores = decision.gradient(decision.x) * (decision.x - decision.baseline)
        run.count(forward=3, backward=1)
        return decided(decision, scores, run, base=float(decision.value(decision.baseline)))
