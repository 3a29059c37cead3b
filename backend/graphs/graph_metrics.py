"""Numbers by which scores of edges are compared; functions of scores, truth and probabilities.

One rule serves every method alike: the key part of a share is that share of the edges with the
highest scores. Parts are tried by deleting edges for good, degrees computed anew; no soft masks.
"""

from __future__ import annotations

import numpy as np

from backend.metric import Metric

OPERATOR = "edges"
"""What is taken away; part of the curves' names."""
LEVELS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Shares of the edges at which the curves are taken; 0 and 1 are added."""
SHARES = (0.1, 0.25, 0.5)
"""Shares whose fidelities are averaged."""
SPREAD = (2.5, 97.5)
"""Percentiles of what random rankings reach: the 95 % band of the figures."""

METRICS = (
    Metric(
        "edge_auc",
        "Known reason (AUC)",
        True,
        "How well the scores tell the edges of the known reason from the others, in this graph: "
        "the share of pairs in the right order, 0.5 by chance.",
    ),
    Metric(
        "precision",
        "Precision",
        True,
        "Of the highest scores, as many as the known reason has edges: the share that belongs to "
        "it.",
    ),
    Metric(
        "fidelity_plus",
        "Fidelity +",
        True,
        "What the class's probability loses when the key part is deleted, a mean over parts of 10, "
        "25 and 50 % of the edges.",
    ),
    Metric(
        "fidelity_minus",
        "Fidelity −",
        False,
        "What it loses when only the key part is kept.",
    ),
    Metric(
        "characterisation",
        "Characterisation",
        True,
        "Harmonic mean of fidelity + and of 1 − fidelity − (Amara et al. 2022): both must hold.",
    ),
    Metric(
        "robust_plus",
        "Robust fidelity +",
        True,
        "Fidelity + where not the whole key part is deleted but a random half of it, averaged "
        "(Zheng et al. 2024): such graphs look less strange to the GNN.",
    ),
    Metric(
        "robust_minus",
        "Robust fidelity −",
        False,
        "Fidelity − where a random half of the rest is deleted.",
    ),
    Metric(
        "unfaithfulness",
        "Unfaithfulness",
        False,
        "1 − exp(−KL) between the answers for the whole graph and for the key part of 25 % alone, "
        "as in torch_geometric.",
    ),
    Metric(
        "keep_area",
        "Area, kept",
        True,
        "Mean probability of the class while edges are added from the highest score down.",
    ),
    Metric(
        "remove_area",
        "Area, deleted",
        False,
        "Mean probability of the class while edges are deleted from the highest score down.",
    ),
)


def ranking(scores: np.ndarray) -> np.ndarray:
    """[e] edges from the highest score down; among equals, in their order in the file."""
    return np.argsort(-np.asarray(scores, dtype=np.float64), kind="stable")


def auc(scores: np.ndarray, truth: np.ndarray) -> float | None:
    """Share of (true, other) pairs in the right order, a tie counting half; None without pairs."""
    scores, truth = np.asarray(scores, dtype=np.float64), np.asarray(truth, dtype=bool)
    positive, negative = np.sort(scores[truth]), np.sort(scores[~truth])
    if not len(positive) or not len(negative):
        return None
    below = np.searchsorted(negative, positive, side="left")
    up_to = np.searchsorted(negative, positive, side="right")
    return float((below + up_to).sum() / (2 * len(positive) * len(negative)))


def precision(scores: np.ndarray, truth: np.ndarray) -> float | None:
    """Share of true edges among as many of the highest scores as there are; None without any."""
    truth = np.asarray(truth, dtype=bool)
    size = int(truth.sum())
    return float(truth[ranking(scores)[:size]].mean()) if size else None


def size_of(share: float, edges: int) -> int:
    """Edges of a part: the share, rounded, at least one and no more than there are."""
    return min(edges, max(1, round(share * edges)))


def fractions(edges: int) -> np.ndarray:
    """The distinct shares of the edges at which the curves are taken, from 0 to 1."""
    sizes = {0, edges, *(size_of(level, edges) for level in LEVELS)}
    return np.array(sorted(sizes), dtype=np.float64) / max(edges, 1)


def top(order: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """[sizes, e] bool: the first so many edges of a ranking."""
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    return np.asarray(places[None, :] < np.asarray(sizes)[:, None])


def characterisation(plus: float, minus: float) -> float:
    """2 / (1 / fidelity+ + 1 / (1 − fidelity−)), 0 where either is not positive."""
    if plus <= 0 or minus >= 1:
        return 0.0
    return 2.0 / (1.0 / plus + 1.0 / (1.0 - minus))


def unfaithfulness(whole: np.ndarray, part: np.ndarray) -> float:
    """1 − exp(−KL(part ‖ whole)) of two distributions [classes], as torch_geometric has it."""
    whole, part = (np.clip(np.asarray(p, dtype=np.float64), 1e-12, 1.0) for p in (whole, part))
    return float(1.0 - np.exp(-(part * np.log(part / whole)).sum()))


def area(at: np.ndarray, values: np.ndarray) -> float:
    """Mean height of a curve over [0, 1], by trapezes."""
    if len(at) < 2:
        return float(values.mean()) if len(values) else 0.0
    return float(np.trapezoid(values, at))


def jaccard(one: np.ndarray, other: np.ndarray) -> float:
    """Shared edges of two parts [e] bool, as a share of all in either; 1 for two empty ones."""
    either = int((one | other).sum())
    return float((one & other).sum() / either) if either else 1.0
