"""What names a slice: the concepts that decide who is in it (step 3 of CB-SLICE).

For each member i and kept concept j, set the concept's logit to off and to on, the others as they
are; r is the responsibilities' distribution over slices, r_0 and r_1 what it becomes:

    S_ij = (1 - P_ij) KL(r_0 || r) + P_ij KL(r_1 || r)

A slice's keywords are the concepts with the largest mean of S over its members, weighted by their
responsibility for it. `paper` sets the logits of probabilities 1e-6 and 1 - 1e-6, which are far
from any sample, so that r saturates; `percentile` sets the 5th and the 95th percentile of the
concept's logits over all samples.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from backend.concepts.ectp import VALUES, Step, blocks, divergence
from backend.concepts.mixture import Parameters, log_joint
from backend.concepts.slices import Keyword

Intervention = Literal["paper", "percentile"]
INTERVENTIONS: tuple[Intervention, ...] = ("paper", "percentile")
PERCENTILES = (5, 95)


def settings(how: Intervention, logits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """[d] logits of concepts set off, and of concepts set on.

    Args:
        logits: [n, d], the kept concepts of all samples.
    """
    if how == "percentile":
        off, on = np.percentile(logits, PERCENTILES, axis=0)
        return off, on
    d = logits.shape[1]
    return np.full(d, VALUES["soft"][0]), np.full(d, VALUES["soft"][1])


def decisiveness(
    at: Parameters,
    x: np.ndarray,
    probabilities: np.ndarray,
    values: tuple[np.ndarray, np.ndarray],
    step: Step = lambda *_: None,
) -> np.ndarray:
    """S of every sample and kept concept, [e, d] in nats, never negative.

    Args:
        x, probabilities: [e, d] logits and probabilities of the kept concepts.
        values: see `settings`.
        step: called with (samples done, samples in all).
    """
    found = np.zeros(x.shape)
    mean, precision = at["means"][:, None], 1.0 / at["variances"][:, None]
    for rows in blocks(len(x), at["means"].size):
        step(rows.start, len(x))
        z, p = x[rows], probabilities[rows]
        before = log_joint(at, z).T[:, :, None]
        own = (z - mean) ** 2  # [K, b, d]
        for value, weight in zip(values, (1.0 - p, p), strict=True):
            moved = (value - mean) ** 2 - own
            found[rows] += weight * divergence(before - 0.5 * precision * moved, before)
    return found


def of_slices(scores: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """[K, d] weighted means of [e, d].

    Args:
        weights: [e, K], a sample's weight in each slice, zero where it is no member.
    """
    mass = weights.sum(axis=0)[:, None]
    return np.asarray(weights.T @ scores / np.where(mass > 0, mass, 1.0))


def keywords(
    scores: np.ndarray, predicted: np.ndarray, true: np.ndarray, kept: np.ndarray, count: int
) -> tuple[Keyword, ...]:
    """The `count` most decisive concepts of one slice, first the most; ties by their order.

    Args:
        scores, predicted, true: [d], the slice's means of S, of P and of the true concepts.
        kept: [d], which concepts of the table they are.
    """
    return tuple(
        Keyword(int(kept[j]), float(scores[j]), float(predicted[j]), float(true[j]))
        for j in np.argsort(-scores, kind="stable")[:count]
    )


def agreement(first: np.ndarray, second: np.ndarray) -> float | None:
    """Mean over slices of Spearman's correlation of two scores [K, d].

    None where no slice has two different scores in both.
    """
    from scipy.stats import spearmanr

    found = [
        float(spearmanr(a, b).statistic)
        for a, b in zip(first, second, strict=True)
        if np.ptp(a) > 0 and np.ptp(b) > 0
    ]
    return float(np.mean(found)) if found else None
