"""A table whose class is the exclusive or of two concepts: what no single linear head can tell.

1. Six independent concepts, each true of half the samples; the class is c0 xor c1.
2. An embedding of 16 numbers: six orthonormal directions, one a concept, each at +1 or -1, and
   Gaussian noise of standard deviation σ on all 16.
3. Concept logits 2 (a_j · x) / σ², the exact posterior of such data: nothing else can leak in.
4. A linear head on thresholded concepts, fitted to as many samples of its own; it is at chance.
"""

from __future__ import annotations

import numpy as np

from backend.concepts.explanation import ConceptTable
from backend.concepts.head import Head

SAMPLES = 3000
CONCEPTS = 6
WIDTH = 16
NOISE = 0.35
"""Standard deviation; concepts are then right in 99.8 % of the samples."""


def xor_table(seed: int = 0) -> ConceptTable:
    """3,000 samples of 6 concepts, with the predictions of a linear head."""
    generator = np.random.default_rng(seed)
    directions = np.linalg.qr(generator.normal(size=(WIDTH, CONCEPTS)))[0].T
    concepts, _, logits = _draw(generator, directions)
    head = _fitted((logits > 0).astype(np.float64), _labels(concepts))
    concepts, embedding, logits = _draw(generator, directions)
    inputs = (logits > 0).astype(np.float64)
    return ConceptTable(
        arrays={
            "logits": logits.astype(np.float32),
            "concepts": concepts.astype(np.int8),
            "labels": _labels(concepts).astype(np.int32),
            "predictions": head.predictions(inputs).astype(np.int32),
            "task_logits": head.logits(inputs).astype(np.float32),
            "embedding": embedding.astype(np.float32),
            **head.arrays(),
        },
        title="XOR of two concepts",
        concept_names=tuple(f"c{j}" for j in range(CONCEPTS)),
        class_names=("same", "different"),
        origin={"made": "xor", "seed": seed, "noise": NOISE},
    )


def _draw(
    generator: np.random.Generator, directions: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Concepts [n, k], embedding [n, e] and concept logits [n, k]."""
    concepts = generator.integers(0, 2, size=(SAMPLES, CONCEPTS))
    noise = generator.normal(scale=NOISE, size=(SAMPLES, WIDTH))
    embedding = (2 * concepts - 1) @ directions + noise
    return concepts, embedding, 2 * (embedding @ directions.T) / NOISE**2


def _labels(concepts: np.ndarray) -> np.ndarray:
    labels: np.ndarray = concepts[:, 0] ^ concepts[:, 1]
    return labels


def _fitted(inputs: np.ndarray, labels: np.ndarray) -> Head:
    """Logistic regression by Newton's method."""
    x = np.column_stack([inputs, np.ones(len(inputs))])
    found = np.zeros(x.shape[1])
    for _ in range(10):
        chance = 1 / (1 + np.exp(-x @ found))
        curvature = (x * (chance * (1 - chance))[:, None]).T @ x
        found += np.linalg.solve(curvature, x.T @ (labels - chance))
    return Head((found[None, :-1],), (found[-1:],))
