"""A stand-in for a label head that was not brought: a logistic regression on the predictions.

A table of columns says what a model predicted, not how it got from concepts to classes. A linear
head fitted to the predictions stands in for it, and its fidelity says how far to trust that.
"""

from __future__ import annotations

import numpy as np

from backend.concepts.explanation import ConceptTable
from backend.concepts.head import Head

FAITHFUL = 0.95
"""Fidelity below which a surrogate's reading of a concept is not to be used."""
NEVER = -1e6
"""Bias of a class that is never predicted."""
FOLDS = 5
FEWEST = 25
"""Samples below which nothing is held out."""
STRENGTH = 100.0
"""Inverse of the ridge penalty, on standardised inputs: a head is to be followed, not improved."""


def label_head(table: ConceptTable) -> tuple[Head, float | None]:
    """The table's own label head, or a linear one fitted to its predictions.

    Args:
        table: at least one sample.

    Returns:
        The head, and None for the table's own, else its fidelity: the share of samples whose
        prediction it repeats, each predicted by a head fitted without it (5 folds; with fewer than
        25 samples, by the head itself). The same table gives the same head.
    """
    own = table.head()
    if own is not None:
        return own, None
    inputs, predictions = table.head_inputs(), table.arrays["predictions"].astype(np.int64)
    m = classes(table)
    found = _fitted(inputs, predictions, m)
    if len(inputs) < FEWEST:
        return found, agreement(found, inputs, predictions)
    # Not stratified: a class of one sample has no five parts.
    parts = np.random.default_rng(0).permutation(len(inputs)) % FOLDS
    repeated = 0.0
    for part in range(FOLDS):
        out = parts == part
        held = _fitted(inputs[~out], predictions[~out], m)
        repeated += agreement(held, inputs[out], predictions[out]) * out.sum()
    return found, float(repeated / len(inputs))


def classes(table: ConceptTable) -> int:
    """How many classes a table tells apart, at least two."""
    seen = (table.arrays[name].max(initial=1) + 1 for name in ("labels", "predictions"))
    return int(max(len(table.class_names), *seen))


def agreement(head: Head, inputs: np.ndarray, predictions: np.ndarray) -> float:
    """Share of samples [n, k] for which a head predicts what `predictions` [n] says."""
    return float(np.mean(head.predictions(inputs) == predictions))


def _fitted(inputs: np.ndarray, predictions: np.ndarray, m: int) -> Head:
    from sklearn.linear_model import LogisticRegression

    present = np.unique(predictions)
    weight, bias = np.zeros((m, inputs.shape[1])), np.full(m, NEVER)
    bias[present] = 0.0
    if len(present) > 1:
        mean, scale = inputs.mean(axis=0), inputs.std(axis=0)
        scale[scale == 0] = 1.0
        model = LogisticRegression(C=STRENGTH, max_iter=1000)
        model.fit((inputs - mean) / scale, predictions)
        rows = present[1:] if len(present) == 2 else present
        weight[rows] = model.coef_ / scale
        bias[rows] = model.intercept_ - weight[rows] @ mean
    if m == 2:
        weight, bias = weight[1:] - weight[:1], bias[1:] - bias[:1]
    return Head((weight,), (bias,))
