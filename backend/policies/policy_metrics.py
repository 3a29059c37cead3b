"""Faithfulness of a ranking of state variables: curves in, numbers out.

`deletion` starts at the moment's state and draws variables anew from the visited states, the most
important first; `insertion` starts with all drawn anew and gives variables their values back in the
same order (Petsiuk, Das & Saenko, "RISE", BMVC 2018, with state variables for pixels). The curves
are of the probability of the action, a mean over draws.
"""

from __future__ import annotations

import numpy as np

from backend.metric import Metric

METRICS: tuple[Metric, ...] = (
    Metric(
        "deletion_auc",
        "Deletion area",
        False,
        "Area under the probability of the action while variables are drawn anew, the most "
        "important first. Small: the first ones to go carried the choice.",
    ),
    Metric(
        "insertion_auc",
        "Insertion area",
        True,
        "Area under the probability of the action while variables get their values back, the most "
        "important first. Large: the first ones make the choice.",
    ),
    Metric(
        "insertion_gap",
        "Insertion - deletion",
        True,
        "Area between the two curves. Random rankings have zero on average; negative is a ranking "
        "upside down.",
    ),
    Metric(
        "comprehensiveness",
        "Comprehensiveness",
        True,
        "How far the probability of the action falls when the top half of the variables is drawn "
        "anew (ERASER, ACL 2020).",
    ),
    Metric(
        "agreement",
        "Action kept",
        True,
        "Share of draws in which the agent still takes the action when only the top half of the "
        "variables keep their values.",
    ),
)


def ranking(scores: np.ndarray) -> np.ndarray:
    """Numbers [S] from the highest score to the lowest; ties in order, NaN last."""
    return np.argsort(np.where(np.isnan(scores), np.inf, -scores), kind="stable")


def half(count: int) -> int:
    """How many variables the top half is: rounded up."""
    return -(-count // 2)


def metrics(deletion: np.ndarray, insertion: np.ndarray, kept: float) -> dict[str, float]:
    """Every metric of METRICS.

    Args:
        deletion, insertion: [S + 1] from none changed to all. kept: of `agreement`.
    """
    fractions = np.linspace(0, 1, len(deletion))
    areas = [float(np.trapezoid(curve, fractions)) for curve in (deletion, insertion)]
    return {
        "deletion_auc": areas[0],
        "insertion_auc": areas[1],
        "insertion_gap": areas[1] - areas[0],
        "comprehensiveness": float(deletion[0] - deletion[half(len(deletion) - 1)]),
        "agreement": kept,
    }
