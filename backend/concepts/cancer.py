"""Breast cancer cell nuclei: ten measurements, high or low, are concepts; twenty are inputs.

Wolberg, Street & Mangasarian, "Breast Cancer Wisconsin (Diagnostic)", UCI 1995 (doi
10.24432/C5DW2B): 569 tumours, ten properties of their cell nuclei, each as the mean, the standard
error and the worst of a picture's nuclei. The means are the concepts, true above their median; a
model reads the other twenty columns.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from backend.bundle import Arrays
from backend.concepts.samples import Data, Samples

PROPERTIES = (
    *("radius", "texture", "perimeter", "area", "smoothness"),
    *("compactness", "concavity", "concave points", "symmetry", "fractal dimension"),
)
CONCEPTS = tuple(f"high {name}" for name in PROPERTIES)
CLASSES = ("malignant", "benign")
SHARE = 1 / 3
"""Of the tumours, for training."""


def read(carrier: Path) -> Arrays:
    """The table in the package scikit-learn.

    Args:
        carrier: `breast_cancer.csv`: a line with counts and class names, then one tumour a line.

    Returns:
        columns: [569, 30] float32. labels: [569] int32, 0 is malignant.
    """
    rows = np.loadtxt(carrier, delimiter=",", skiprows=1, dtype=np.float64)
    return {"columns": rows[:, :-1].astype(np.float32), "labels": rows[:, -1].astype(np.int32)}


def data(arrays: Arrays, seed: int) -> Data:
    """A third of the tumours of each class for training, the rest for validation.

    With more to train on, too few validation samples are predicted wrongly to look for groups
    among them.

    Args:
        arrays: what `read` gives.
        seed: decides which third.
    """
    columns, labels = arrays["columns"].astype(np.float64), arrays["labels"]
    training, validation = _parts(labels, np.random.default_rng(seed))
    means, others = columns[:, : len(PROPERTIES)], columns[:, len(PROPERTIES) :]
    concepts = means > np.median(means[training], axis=0)
    inputs = (others - others[training].mean(axis=0)) / others[training].std(axis=0)
    parts = [
        Samples(
            inputs=inputs[rows].astype(np.float32),
            concepts=concepts[rows].astype(np.int8),
            labels=labels[rows],
            groups=np.full(len(rows), -1, dtype=np.int32),
            references=tuple(f"row {row + 1}" for row in rows),
        )
        for rows in (training, validation)
    ]
    return Data(
        title="Breast cancer",
        training=parts[0],
        validation=parts[1],
        concept_names=CONCEPTS,
        class_names=CLASSES,
    )


def _parts(labels: np.ndarray, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Ascending rows for training and for validation."""
    training = np.zeros(len(labels), dtype=bool)
    for each in range(len(CLASSES)):
        rows = generator.permutation(np.flatnonzero(labels == each))
        training[rows[: round(SHARE * len(rows))]] = True
    return np.flatnonzero(training), np.flatnonzero(~training)
