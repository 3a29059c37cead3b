"""Numbers of one map: what taking its pixels away, or showing them alone, does to the class.

Insertion and deletion: Petsiuk et al., "RISE", 2018. Average drop and increase: Chattopadhay et
al., "Grad-CAM++", 2018. Faithfulness correlation: Bhatt et al., 2020.
Infidelity: `backend.images.infidelity`. Where the object is known: the pointing game (Zhang et
al., 2016), overlap of the map's highest pixels, average precision.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from backend.metric import Metric

METRICS: tuple[Metric, ...] = (
    Metric(
        "insertion",
        "Insertion",
        True,
        "Mean probability of the class as the picture, out of focus at first, is uncovered from "
        "the highest scores on.",
    ),
    Metric(
        "deletion",
        "Deletion",
        False,
        "Mean probability as pixels turn grey from the highest scores on. Such pictures occur in "
        "no data, so only the order of methods counts.",
    ),
    Metric("gap", "Insertion − deletion", True, "The first less the second; random maps have 0."),
    Metric(
        "drop",
        "Average drop",
        False,
        "Share of the probability that is lost when only what the map marks is seen, on black.",
    ),
    Metric(
        "increase",
        "Increase",
        True,
        "1 where the class is more probable on what the map marks alone, else 0; over many "
        "pictures a share.",
    ),
    Metric(
        "correlation",
        "Faithfulness correlation",
        True,
        "Correlation of the summed scores of random parts with the fall of the logit when they "
        "turn grey.",
    ),
    Metric(
        "infidelity",
        "Infidelity",
        False,
        "How badly the map foretells the fall of the logit under Gaussian noise of 3 % of the "
        "input's range, which in the model's normalised units is each channel's own. Maps have "
        "units of their own, so a map is first scaled by the factor, of either sign, that suits "
        "it best; the mean square of what is left is then divided by that of the falls, so that "
        "pictures can be compared. 0 foretells all, 1 nothing; by chance it is 1 less one over "
        "the number of draws (16).",
    ),
    Metric("pointing", "Pointing game", True, "1 where the highest pixel is on the known object."),
    Metric(
        "overlap",
        "Overlap",
        True,
        "Intersection over union of the known object and as many of the highest pixels as it has.",
    ),
    Metric(
        "precision",
        "Average precision",
        True,
        "Of telling the object's pixels from the others by their scores; by chance its share of "
        "the picture.",
    ),
)
OF_OBJECT = ("pointing", "overlap", "precision")
NO_OBJECT = "the object is not known for this picture"
NO_SPREAD = "all scores are equal, so they rank nothing"


def area(curve: np.ndarray) -> float:
    """Mean height of a curve at even steps (trapezoid)."""
    return float(((curve[1:] + curve[:-1]) / 2).mean())


def order(scores: np.ndarray) -> np.ndarray:
    """[h * w] pixels from the highest score down; among equals the earlier one goes first."""
    return np.argsort(-scores.ravel(), kind="stable")


def marked(scores: np.ndarray) -> np.ndarray:
    """[h, w] from 0 to 1: positive scores as a share of the largest; nothing where none is."""
    kept = np.maximum(scores, 0.0)
    most = float(kept.max(initial=0.0))
    return np.asarray(kept / most if most > 0 else kept)


def located(scores: np.ndarray, mask: np.ndarray) -> dict[str, float | None]:
    """OF_OBJECT by id.

    Args:
        mask: [h, w] 0 or 1, of both kinds; else the numbers are None.
    """
    from sklearn.metrics import average_precision_score

    inside = mask.ravel() > 0
    count = int(inside.sum())
    if not 0 < count < inside.size:
        return dict.fromkeys(OF_OBJECT)
    ranked = order(scores)
    hits = int(inside[ranked[:count]].sum())
    return {
        "pointing": float(inside[ranked[0]]),
        "overlap": hits / (2 * count - hits),
        "precision": float(average_precision_score(inside, scores.ravel())),
    }


def undefined(
    found: Mapping[str, float | None], scores: np.ndarray, mask: np.ndarray | None
) -> dict[str, str]:
    """Why a number is None, by id."""
    flat = bool((scores == scores.ravel()[0]).all())
    reasons = {}
    for name, value in found.items():
        if value is None:
            reasons[name] = (
                NO_OBJECT
                if name in OF_OBJECT and mask is None
                else (NO_SPREAD if flat else "there is no such number for this map")
            )
    return reasons
