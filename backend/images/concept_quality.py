"""Whether concepts are real: VCM, the match of vector and concept, and CCM, of concept and class.

ConEx names both measures; its text could not be had, so the definitions are ours.
"""

from __future__ import annotations

import numpy as np

TOP = 20
"""Pictures of a mixed pool in which the share of the class is counted."""


def vcm(e: np.ndarray, member: np.ndarray, vectors: np.ndarray) -> list[float | None]:
    """Of each concept, the share of its held-out pieces whose likeliest direction is its own.

    Args:
        e: [n, C] centred embeddings of held-out pieces. member: [n] int, the concept of each, -1 of
            none. vectors: [K, C] of unit length.
    """
    if not len(e):
        return [None] * len(vectors)
    likeliest = (e @ vectors.T).argmax(axis=1)
    return [
        float((likeliest[member == c] == c).mean()) if (member == c).any() else None
        for c in range(len(vectors))
    ]


def vcm_auroc(e: np.ndarray, member: np.ndarray, vectors: np.ndarray) -> list[float | None]:
    """Of each concept, how well its direction tells its held-out pieces from all others: AUROC.

    Args:
        e, member, vectors: as in `vcm`; pieces of other classes have -1.
    """
    return [auroc((e @ v)[member == c], (e @ v)[member != c]) for c, v in enumerate(vectors)]


def ccm_auroc(presence: np.ndarray, of_class: np.ndarray) -> list[float | None]:
    """Of each concept, how well its presence tells pictures of the class from others: AUROC.

    Args:
        presence: [n, K], the most of each concept in each held-out picture. of_class: [n] bool.
    """
    return [auroc(column[of_class], column[~of_class]) for column in presence.T]


def ccm_top(presence: np.ndarray, of_class: np.ndarray) -> list[float | None]:
    """Of each concept, the share of the class among the pictures where it is most present.

    Of TOP pictures, or as many as there are of the class.
    """
    count = min(TOP, int(of_class.sum()))
    if not count:
        return [None] * presence.shape[1]
    best = np.argsort(-presence, axis=0, kind="stable")[:count]
    return [float(of_class[column].mean()) for column in best.T]


def auroc(inside: np.ndarray, outside: np.ndarray) -> float | None:
    """Chance that one of the first is above one of the second, ties by half; None of nothing."""
    from sklearn.metrics import roc_auc_score

    if not len(inside) or not len(outside):
        return None
    truth = np.repeat([1, 0], [len(inside), len(outside)])
    return float(roc_auc_score(truth, np.concatenate([inside, outside])))
