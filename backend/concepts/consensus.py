"""The consensus of several attributions of one decision."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from backend import consensus
from backend.concepts.decided import decided
from backend.concepts.decision import Decision
from backend.concepts.explanation import ConceptExplanation, ConceptTable, ConceptTarget
from backend.explainer import Run


class ConceptConsensus(consensus.Consensus):
    """Mean ranking of concepts.

    Arrays and values as `backend.concepts.decided` and `backend.consensus.Consensus` have them, and
    output_unit: what one unit of the explained logit is, which the scores are not in.
    """

    family = "concepts"
    libraries = ("scikit-learn", "numpy")

    def told(
        self,
        input: ConceptTable,
        target: ConceptTarget,
        run: Run,
        arrays: dict[str, np.ndarray],
        values: dict[str, Any],
    ) -> ConceptExplanation:
        decision = Decision.of(input, target)
        told = {**values, "output_unit": decision.unit}
        found = decided(decision, arrays["scores"], run, base=None, values=told)
        return dataclasses.replace(found, arrays=arrays, unit=consensus.UNIT)
