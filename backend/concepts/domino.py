"""Domino: slices of errors that look alike and are mistaken for one another alike.

Eyuboglu et al., "Domino: Discovering Systematic Errors with Cross-Modal Embeddings", ICLR 2022.

1. Points: the table's embedding, or concept logits where it has none, reduced to at most 128
   principal components.
2. K components of an error-aware mixture (`backend.concepts.error_mixture`), started from k-means
   on the points, and as many more as are spared.
3. The K components with the largest share times discrepancy are the slices. The discrepancy is how
   far a component's true and predicted classes are apart; the paper sorts by it alone, but it looks
   at all samples, and among errors alone nearly every component has a discrepancy of 1.
4. Errors of the other components are gathered in one more slice, the last, the rest.

The published settings spare ten components, which take up the rightly predicted samples. There are
none among errors, where they only break slices to pieces; so none is spared unless asked for.

The paper embeds pictures and words with CLIP and describes a slice in words; here the embedding is
the table's, and there is no description.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from backend.concepts.error_mixture import CLASS_WEIGHT, STEPS, Components, Observed, fit
from backend.concepts.explanation import ConceptExplanation, ConceptTable, ConceptTarget
from backend.concepts.partition import (
    SliceParameters,
    bounded,
    encoded,
    principal,
    ranked,
    variance_floor,
)
from backend.concepts.slices import check_errors
from backend.explainer import Explainer, Reference, Run

MOST_DIMENSIONS = 128


class DominoParameters(SliceParameters):
    """Into how many slices the errors are split, and what is left over."""

    spare: Annotated[int, Field(ge=0, le=20)] = Field(
        0,
        title="Spare components",
        description="Components fitted beyond the slices; the errors of those that are not kept "
        "make one more slice. The published setting is 10, for a mixture of all samples.",
    )


class Domino(Explainer):
    """Error-aware mixture of embedding, true class and predicted class.

    Values:
        space: what was clustered. dimensions: principal components. components: fitted in all.
        rest: whether the last slice gathers the errors of the components not kept.

    Arrays:
        objective: [steps] float32, mean log-likelihood of an error, nats.
    """

    id = "domino"
    title = "Domino"
    family = "concepts"
    role = "slicing"
    reference = Reference(
        authors="Eyuboglu, Varma, Saab, Delbrouck, Lee-Messer, Dunnmon, Zou, Ré",
        title="Domino: Discovering Systematic Errors with Cross-Modal Embeddings",
        year=2022,
        link="https://arxiv.org/abs/2203.14960",
    )
    how_to_read = (
        "A slice is a set of errors with a similar embedding, the same true class and the same "
        "predicted class. It knows the classes, which weigh 40-fold, so it mostly splits the "
        "confusion matrix; it gives no reason."
    )
    libraries = ("numpy", "scikit-learn")
    uses_seed = True
    Parameters = DominoParameters

    def explain(
        self, model: Any, input: ConceptTable, target: ConceptTarget, parameters: Any, run: Run
    ) -> ConceptExplanation:
        errors = check_errors(input)
        raw, space = encoded(input, errors)
        points = principal(raw, MOST_DIMENSIONS, run.seed)
        count = bounded(points, parameters.slices + parameters.spare, run)
        seen = Observed(points, *_classes(input, errors))
        found = fit(seen, _start(points, count, run), variance_floor(points), run)
        if not found.converged:
            run.warn(f"The mixture still changed after {STEPS} steps.")
        memberships, factors, rest = _kept(found.memberships, found.components, parameters.slices)
        notes = [f"Clustered: the {space} of the errors, not CLIP's embedding as in the paper."]
        if rest:
            notes.append("The last slice gathers the errors of the components that were not kept.")
        return ranked(
            input,
            errors,
            memberships,
            factors,
            named="discrepancy",
            arrays={"objective": np.asarray(found.objective, dtype=np.float32)},
            values={
                "space": space,
                "dimensions": points.shape[1],
                "components": count,
                "class_weight": CLASS_WEIGHT,
                "rest": rest,
            },
            notes=tuple(notes),
        )


def _classes(table: ConceptTable, errors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """True class [e, m], one-hot, and predicted probabilities [e, m] of the errors.

    Where the table has no task logits, or logits of another prediction, the predicted class is
    certain.
    """
    labels, predictions = table.arrays["labels"][errors], table.arrays["predictions"][errors]
    logits = table.arrays.get("task_logits")
    m = int(max(labels.max(), predictions.max())) + 1
    if logits is not None:
        m = max(m, logits.shape[1])
    known = np.eye(m)
    if logits is None or (logits[errors].argmax(axis=1) != predictions).any():
        return known[labels], known[predictions]
    raised = np.exp(logits[errors] - logits[errors].max(axis=1, keepdims=True), dtype=np.float64)
    probabilities = np.zeros((len(errors), m))
    probabilities[:, : logits.shape[1]] = raised / raised.sum(axis=1, keepdims=True)
    return known[labels], probabilities


def _start(points: np.ndarray, count: int, run: Run) -> np.ndarray:
    """[e, count], one-hot, from k-means."""
    from sklearn.cluster import KMeans

    run.progress(0, STEPS, "k-means")
    assigned = KMeans(count, n_init=1, random_state=run.seed).fit_predict(points)
    return np.asarray(np.eye(count)[assigned])


def _kept(
    memberships: np.ndarray, components: Components, slices: int
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Memberships and discrepancies of the slices, and whether the last is a rest of errors."""
    score = components.weights * components.discrepancy
    order = np.argsort(-score, kind="stable")
    kept, others = order[:slices], order[slices:]
    left = memberships[:, others].sum(axis=1, keepdims=True)
    found = np.concatenate([memberships[:, kept], left], axis=1)
    rest = bool((found.argmax(axis=1) == len(kept)).any())
    return found, np.append(components.discrepancy[kept], 0.0), rest
