"""Flip one concept: how much less the logit would be if the concept were predicted otherwise.

Leave-one-out (Li, Monroe & Jurafsky, "Understanding Neural Networks through Representation
Erasure", 2016) with a bottleneck's two values in the place of erasure:

    score_j = f(x) - f(x with concept j on its other value)

In a hard bottleneck the other value is 1 - x_j. In a soft one it is the 5th or the 95th percentile
of the concept's logits over the table, whichever is the other side of "off" and "on", as
interventions on such models use them (Koh et al., ICML 2020).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import Field

from backend.concepts.decided import decided
from backend.concepts.decision import CONTRAST, Contrast, Decision, switched
from backend.concepts.explanation import ConceptExplanation, ConceptTable, ConceptTarget
from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen


class ConceptFlipParameters(Frozen):
    """What is explained, and what a flip takes with it."""

    contrast: Contrast = CONTRAST
    exclusive: bool = Field(
        False,
        title="Keep exclusive concepts apart",
        description="Turning a concept on turns off those that cannot be true beside it, where "
        "the table names such concepts.",
    )


class ConceptFlip(Explainer):
    """Drop of the logit when a concept is set to its other value, all others as they are.

    Arrays: scores [k] float32. `values`: see `backend.concepts.decided`, without
    `baseline_output` and `completeness_gap`, as flips do not add up; and flipped, [k] the explained
    logit after each flip.
    """

    id = "concept_flip"
    title = "Flip one concept"
    family = "concepts"
    reference = Reference(
        authors="Li, Monroe, Jurafsky",
        title="Understanding Neural Networks through Representation Erasure",
        year=2016,
        link="https://arxiv.org/abs/1612.08220",
    )
    how_to_read = (
        "How much the logit would fall if this one concept were predicted the other way. Positive: "
        "as it is, it speaks for the class. A flip that takes the logit below zero changes a "
        "decision between two classes. Flips do not add up."
    )
    libraries = ("scikit-learn",)
    Parameters = ConceptFlipParameters

    def explain(
        self, model: Any, input: ConceptTable, target: ConceptTarget, parameters: Any, run: Run
    ) -> ConceptExplanation:
        """The drops.

        Raises:
            InputError: there is no such sample or class, or the head does not fit the table.
        """
        decision = Decision.of(input, target, "mean", parameters.contrast)
        after = decision.value(flipped(decision, parameters.exclusive))
        run.count(forward=len(after) + 1)
        return decided(
            decision,
            decision.value(decision.x) - after,
            run,
            base=None,
            values={"flipped": after.tolist()},
        )


def flipped(decision: Decision, exclusive: bool = False) -> np.ndarray:
    """[k, k] head inputs: row j has concept j on its other value."""
    off, on = switched(decision.table)
    is_on = decision.table.arrays["logits"][decision.sample] > 0
    k = len(is_on)
    rows = np.tile(decision.x, (k, 1))
    np.fill_diagonal(rows, np.where(is_on, off, on))
    if exclusive:
        for members in map(list, decision.table.exclusive):
            for j in members:
                others = [other for other in members if other != j and is_on[other]]
                if not is_on[j]:
                    rows[j, others] = off[others]
    return rows
