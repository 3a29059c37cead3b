"""Tables whose experts are known, for the tests of M-CBE."""

from __future__ import annotations

import numpy as np

from backend.concepts.explanation import ConceptTable, ConceptTarget
from backend.concepts.mcbe import MixtureOfExperts, MixtureParameters
from tests.fake import FakeRun


def table(concepts, labels, embedding=None, *, predictions=None, classes=2):
    """A table whose concepts are predicted as they are."""
    concepts = np.asarray(concepts, dtype=np.int8)
    arrays = {
        "logits": (8.0 * concepts - 4.0).astype(np.float32),
        "concepts": concepts,
        "labels": np.asarray(labels, dtype=np.int32),
        "predictions": np.asarray(labels if predictions is None else predictions, dtype=np.int32),
    }
    if embedding is not None:
        arrays["embedding"] = np.asarray(embedding, dtype=np.float32)
    return ConceptTable(
        arrays=arrays,
        title="made",
        concept_names=tuple(f"c{j}" for j in range(concepts.shape[1])),
        class_names=tuple(f"class {c}" for c in range(classes)),
    )


WEIGHTS = np.array([[3.0, -3.0, 0.0, 2.0, 0.0], [-3.0, 0.0, 3.0, 2.0, 0.0]])
BIASES = np.array([-1.0, -1.0])


def two_regimes(n=4000, seed=0):
    """Labels drawn from one of two logistic models; which one, the embedding says.

    Returns the table and the regime [n].
    """
    rng = np.random.default_rng(seed)
    concepts = rng.integers(0, 2, size=(n, 5))
    regime = rng.integers(0, 2, size=n)
    embedding = rng.normal(scale=0.3, size=(n, 4))
    embedding[:, 0] += 2 * regime - 1
    z = (concepts * WEIGHTS[regime]).sum(axis=1) + BIASES[regime]
    labels = rng.random(n) < 1 / (1 + np.exp(-z))
    return table(concepts, labels, embedding), regime


def explain(made, *, seed=0, run=None, **parameters):
    """The mixture of a table."""
    return MixtureOfExperts().explain(
        None, made, ConceptTarget(), MixtureParameters(**parameters), run or FakeRun(seed=seed)
    )
