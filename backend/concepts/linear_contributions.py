"""Concept contributions: exact shares of a linear label head's logit.

Koh et al., "Concept Bottleneck Models", ICML 2020, read the label from concepts with a linear
layer. Its logit is a sum, so that concept j has

    score_j = w_j (x_j - b_j),   Σ_j score_j = f(x) - f(b),

which is also its Shapley value, gradient × concept and integrated gradient.
"""

from __future__ import annotations

from typing import Any

from backend.bundle import Bundle
from backend.concepts.decided import decided
from backend.concepts.decision import Decision, DecisionParameters
from backend.concepts.explanation import ConceptExplanation, ConceptTable, ConceptTarget
from backend.errors import InputError
from backend.explainer import Explainer, Reference, Run

NOT_LINEAR = "The label head has hidden layers, so its logit is no sum over concepts."
INSTEAD = "Use Shapley values or integrated gradients."


class LinearContributions(Explainer):
    """Weight times distance from the reference, for each concept.

    Arrays: scores [k] float32. `values`: see `backend.concepts.decided`.
    """

    id = "linear_contributions"
    title = "Concept contributions"
    family = "concepts"
    reference = Reference(
        authors="Koh, Nguyen, Tang, Mussmann, Pierson, Kim, Liang",
        title="Concept Bottleneck Models",
        year=2020,
        link="https://arxiv.org/abs/2007.04612",
    )
    how_to_read = (
        "How far each concept moves the logit away from where the reference puts it. Positive: it "
        "speaks for the class. Negative: against it. The bars sum to the whole difference, exactly."
    )
    libraries = ("scikit-learn",)
    Parameters = DecisionParameters

    def supports(self, config: dict[str, Any], input: Bundle) -> str | None:
        head = input.head() if isinstance(input, ConceptTable) else None
        return f"{NOT_LINEAR} {INSTEAD}" if head is not None and not head.linear else None

    def explain(
        self, model: Any, input: ConceptTable, target: ConceptTarget, parameters: Any, run: Run
    ) -> ConceptExplanation:
        """The contributions.

        Raises:
            InputError: the head has hidden layers, or there is no such sample or class.
        """
        decision = Decision.of(input, target, parameters.baseline, parameters.contrast)
        if not decision.head.linear:
            raise InputError(NOT_LINEAR, todo=INSTEAD)
        scores = decision.gradient(decision.x) * (decision.x - decision.baseline)
        run.count(forward=2)
        return decided(decision, scores, run, base=float(decision.value(decision.baseline)))
