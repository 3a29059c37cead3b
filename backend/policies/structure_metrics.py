"""How well a graph has the edges of known equations."""

from __future__ import annotations

import numpy as np

from backend.policies.equations import UNKNOWN


def scores(present: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Precision, recall, F1, and edges that differ (structural Hamming distance).

    Args:
        present: bool. truth: uint8 of the same shape, 255 where nobody knows: those do not count.
    """
    known = truth != UNKNOWN
    found, true = present[known], truth[known] == 1
    hits = int((found & true).sum())
    precision = hits / int(found.sum()) if found.any() else 0.0
    recall = hits / int(true.sum()) if true.any() else 1.0
    both = precision + recall
    return {
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / both if both else 0.0,
        "shd": float((found != true).sum()),
    }
