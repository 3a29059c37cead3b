"""Which slice to look at first: step 4 of CB-SLICE (arXiv 2605.29836).

    SI = rho (MC + (1 + SC) / 2) / 2

MC, misprediction consistency: 1 - entropy of the predicted classes / log m. SC, semantic
consistency: mean cosine of the members to their centroid. rho, support: 1 - exp(-N / 10). All are
weighted by the members' responsibilities, N is their sum.
"""

from __future__ import annotations

import numpy as np

SUPPORT = 10.0
"""Summed responsibility at which the support is 1 - 1/e."""


def parts(
    weights: np.ndarray, predictions: np.ndarray, x: np.ndarray, classes: int
) -> dict[str, float]:
    """MC, SC and rho of one slice.

    Args:
        weights: [s] responsibilities of its members, some of them positive.
        predictions: [s] their predicted classes.
        x: [s, d] their logits of the kept concepts.
    """
    share = np.bincount(predictions, weights, minlength=classes) / weights.sum()
    share = share[share > 0]
    entropy = float(-(share * np.log(share)).sum())
    unit = _normalised(x)
    centroid = _normalised((weights @ unit)[None])[0]
    return {
        "MC": 1.0 - entropy / float(np.log(max(classes, 2))),
        "SC": float(weights @ (unit @ centroid) / weights.sum()),
        "rho": 1.0 - float(np.exp(-weights.sum() / SUPPORT)),
    }


def score(parts: dict[str, float]) -> float:
    """SI, between 0 and 1."""
    return parts["rho"] * (parts["MC"] + (1.0 + parts["SC"]) / 2.0) / 2.0


def _normalised(rows: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(length > 0, length, 1.0)
