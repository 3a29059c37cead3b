"""Plain counts beside ECTP: which concepts go wrong where the class does."""

from __future__ import annotations

import numpy as np

from backend.concepts.explanation import ConceptTable


def pearson(table: ConceptTable) -> np.ndarray:
    """[k] correlation over all samples of "concept wrong" with "class wrong"; NaN without any."""
    concept = (table.arrays["logits"] > 0) != (table.arrays["concepts"] > 0)
    task = table.arrays["labels"] != table.arrays["predictions"]
    a, b = concept - concept.mean(axis=0), task - task.mean()
    spread = concept.std(axis=0) * task.std()
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(spread > 0, (b @ a) / (len(task) * spread), np.nan)


def quality(table: ConceptTable, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Precision, recall and F1 of each predicted concept over some samples, [k] each.

    NaN where there is nothing to divide by: no concept predicted, none true, or neither.
    """
    predicted = table.arrays["logits"][rows] > 0
    true = table.arrays["concepts"][rows] > 0
    both = (predicted & true).sum(axis=0)
    said, there = predicted.sum(axis=0), true.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "concept_precision": both / said,
            "concept_recall": both / there,
            "concept_f1": 2 * both / (said + there),
        }
