"""Random slices: what chance gives, the row every slicing method has to beat.

Every error gets K uniform numbers, divided by their sum, as memberships, so each slice is equally
likely for each error, and a slice has a ranking of its members like that of any other method.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from backend.concepts.explanation import ConceptExplanation, ConceptTable, ConceptTarget
from backend.concepts.partition import SliceParameters, coherence, concept_logits, ranked
from backend.concepts.slices import check_errors
from backend.explainer import Explainer, Run


class RandomSlices(Explainer):
    """A random partition of the errors."""

    id = "random"
    title = "Random slices"
    family = "concepts"
    role = "slicing"
    how_to_read = (
        "The errors are dealt out at random. A method that finds groups must score above this; "
        "where this row scores high, the groups are too easy to tell methods apart."
    )
    libraries = ("numpy",)
    uses_seed = True
    control = True
    Parameters = SliceParameters

    def explain(
        self, model: Any, input: ConceptTable, target: ConceptTarget, parameters: Any, run: Run
    ) -> ConceptExplanation:
        errors = check_errors(input)
        memberships = random_memberships(len(errors), parameters.slices, run.numpy_generator())
        run.progress(1, 1, "dealing")
        points = concept_logits(input, errors)
        return ranked(input, errors, memberships, coherence(points, memberships))


def random_memberships(e: int, slices: int, generator: np.random.Generator) -> np.ndarray:
    """[e, slices], rows sum to 1, every column equally likely the largest."""
    drawn = 1.0 - generator.random((e, slices))
    return np.asarray(drawn / drawn.sum(axis=1, keepdims=True))
