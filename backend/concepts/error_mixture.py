"""Domino's error-aware mixture, fitted by expectation-maximisation.

A component j draws an error's point x from a diagonal Gaussian, its true class y and its predicted
class y' from two categorical distributions p_j and q_j:

    log joint_ij = log w_j + log N(x_i | m_j, v_j) + a log p_j(y_i) + a sum_c y'_ic log q_jc
    r_i = softmax_j(log joint_ij)

1. E: r from the components. 2. M: weights, means, variances and class shares from r.
3. Until the mean log-likelihood rises by less than `TOLERANCE` nats a step, or `STEPS` are done.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from backend.explainer import Run

CLASS_WEIGHT = 40.0
"""a: how much the classes count, in the published settings."""
STEPS = 100
TOLERANCE = 1e-3
SMALLEST = 1e-12
"""Probabilities are kept this far from 0 where their logarithm is taken."""


@dataclasses.dataclass(frozen=True)
class Observed:
    """What the mixture explains: e errors in d dimensions, m classes."""

    points: np.ndarray
    """[e, d]"""
    labels: np.ndarray
    """[e, m], one-hot."""
    predictions: np.ndarray
    """[e, m] predicted probabilities."""


@dataclasses.dataclass(frozen=True)
class Components:
    """The parameters of J components."""

    weights: np.ndarray
    """[J]"""
    means: np.ndarray
    """[J, d]"""
    variances: np.ndarray
    """[J, d]"""
    labels: np.ndarray
    """[J, m]: p"""
    predictions: np.ndarray
    """[J, m]: q"""

    @classmethod
    def of(cls, seen: Observed, memberships: np.ndarray, floor: float) -> Components:
        """The M step: the most likely parameters under memberships [e, J].

        Args:
            floor: added to every variance.
        """
        counts = memberships.sum(axis=0) + 10 * np.finfo(np.float64).eps
        shares = (memberships / counts).T
        means = shares @ seen.points
        variances = shares @ np.square(seen.points) - np.square(means)
        return cls(
            weights=counts / counts.sum(),
            means=means,
            variances=np.maximum(variances, 0.0) + floor,
            labels=shares @ seen.labels,
            predictions=shares @ seen.predictions,
        )

    def log_joint(self, seen: Observed) -> np.ndarray:
        """[e, J], see the module."""
        precisions = 1.0 / self.variances
        squares = (
            np.square(seen.points) @ precisions.T
            - 2.0 * seen.points @ (self.means * precisions).T
            + (np.square(self.means) * precisions).sum(axis=1)
        )
        scale = np.log(2.0 * np.pi * self.variances).sum(axis=1)
        classes = seen.labels @ _log(self.labels).T + seen.predictions @ _log(self.predictions).T
        return np.asarray(np.log(self.weights) - 0.5 * (scale + squares) + CLASS_WEIGHT * classes)

    @property
    def discrepancy(self) -> np.ndarray:
        """[J]: the largest difference between the true and the predicted share of a class."""
        return np.asarray(np.abs(self.labels - self.predictions).max(axis=1))


@dataclasses.dataclass(frozen=True)
class Fit:
    """A fitted mixture."""

    components: Components
    memberships: np.ndarray
    """[e, J]"""
    objective: list[float]
    """Mean log-likelihood of an error after each step, nats; classes count `CLASS_WEIGHT`-fold."""
    converged: bool


def fit(seen: Observed, memberships: np.ndarray, floor: float, run: Run) -> Fit:
    """EM from the memberships [e, J] it starts with.

    Raises:
        Cancelled: between two steps.
    """
    # The squares are expanded in `log_joint`: around the mean they lose no digits.
    seen = dataclasses.replace(seen, points=seen.points - seen.points.mean(axis=0))
    objective: list[float] = []
    converged = False
    while not converged and len(objective) < STEPS:
        components = Components.of(seen, memberships, floor)
        memberships, likelihood = _posterior(components.log_joint(seen))
        converged = bool(objective) and abs(likelihood - objective[-1]) < TOLERANCE
        objective.append(likelihood)
        run.progress(len(objective), STEPS, "mixture")
    return Fit(components, memberships, objective, converged)


def _posterior(joint: np.ndarray) -> tuple[np.ndarray, float]:
    """Memberships [e, J] and the mean log-likelihood."""
    highest = joint.max(axis=1, keepdims=True)
    raised = np.exp(joint - highest)
    total = raised.sum(axis=1, keepdims=True)
    return raised / total, float((highest + np.log(total)).mean())


def _log(shares: np.ndarray) -> np.ndarray:
    return np.asarray(np.log(np.maximum(shares, SMALLEST)))
