"""Tables whose story is known: random heads, and groups in which one concept fails."""

from __future__ import annotations

import numpy as np

from backend.concepts.explanation import ConceptTable
from backend.concepts.head import Head

FAILING = 2


def random_head(k, m, seed=0, hidden=0):
    """A label head with normal weights; one output for two classes."""
    rng = np.random.default_rng(seed)
    widths = [k, *([hidden] if hidden else []), 1 if m == 2 else m]
    pairs = list(zip(widths[1:], widths, strict=False))
    weights = tuple(rng.normal(size=(o, i)) for o, i in pairs)
    return Head(weights, tuple(rng.normal(size=o) for o, _ in pairs))


def random_logits(n, k, seed=0):
    """[n, k] concept logits on both sides of zero."""
    return np.random.default_rng(seed).normal(size=(n, k)) * 3


def failing_table(seed=0, n=800, k=6, flip=0.9):
    """The class is concept FAILING; the model misses it wherever concept 0 is true.

    Concepts 3, 4, ... are of no consequence, concept 1 moves the class a little.
    """
    rng = np.random.default_rng(seed)
    concepts = rng.integers(0, 2, (n, k))
    said = concepts.copy()
    missed = (concepts[:, 0] == 1) & (rng.random(n) < flip)
    said[missed, FAILING] = 1 - said[missed, FAILING]
    logits = (2 * said - 1) * rng.gamma(6, 0.7, (n, k))
    weight = np.zeros((1, k))
    weight[0, FAILING], weight[0, 1] = 6.0, 1.0
    head = Head((weight,), (np.array([-3.5]),))
    labels = concepts[:, FAILING]
    return ConceptTable(
        arrays={
            "logits": logits.astype(np.float32),
            "concepts": concepts.astype(np.int8),
            "labels": labels.astype(np.int32),
            "predictions": head.predictions((logits > 0).astype(float)).astype(np.int32),
            **head.arrays(),
        },
        concept_names=tuple(f"concept {j}" for j in range(k)),
        class_names=("without", "with"),
    )
