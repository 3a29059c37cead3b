"""How well a graph has the edges of known equations."""

from __future__ import annotations

import numpy as np

from backend.policies.equations import UNKNOWN


def differing(
    one: np.ndarray, other: np.ndarray, sure_one: np.ndarray, sure_other: np.ndarray
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Edges that are sure in one graph and absent in the other, (source, target); then the reverse.

    Args:
        one, other: bool, edges present. sure_one, sure_other: bool, those of enough bootstraps.
    """
    gone = [(int(i), int(j)) for i, j in np.argwhere(one & sure_one & ~other)]
    new = [(int(i), int(j)) for i, j in np.argwhere(other & sure_other & ~one)]
    return gone, new


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
