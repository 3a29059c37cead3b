"""The mixture of CB-SLICE (arXiv 2605.29836), step 2: groups that also tell their concepts.

K Gaussians with diagonal variances v over concept logits x, and two linear read-outs of the
responsibilities r, which must tell the true and the predicted concepts of each sample:

    l_ic   = log(softmax(w)_c + 1e-4) + log N(x_i; m_c, v_c)
    r_i    = softmax(l_i)
    L_GMM  = -mean_i logsumexp_c l_ic
    L_true = mean_i sum_j BCE((A r_i + a)_j, true_ij),  L_pred the same with B, b, predicted_ij
    L      = L_GMM + lambda (L_true + L_pred)

All in nats a sample. `backend.concepts.mixture_fit` finds the parameters.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from backend.concepts.ectp import blocks

LEAST_WEIGHT = 1e-4
Parameters = dict[str, np.ndarray]
"""weights [K] (before the softmax), means and variances [K, d], and the read-outs true_weight,
predicted_weight [K, d], true_bias, predicted_bias [d]."""
READ_OUTS = ("true", "predicted")


@dataclasses.dataclass(frozen=True)
class Concepts:
    """What the mixture is fitted to: n samples, d concepts.

    `logits` [n, d]; `true` and `predicted` [n, d], 0.0 or 1.0.
    """

    logits: np.ndarray
    true: np.ndarray
    predicted: np.ndarray

    def __len__(self) -> int:
        return len(self.logits)

    def take(self, rows: np.ndarray | slice) -> Concepts:
        """Some of the samples."""
        each = (self.logits, self.true, self.predicted)
        if isinstance(rows, slice):
            return Concepts(*(array[rows] for array in each))
        return Concepts(*(array.take(rows, axis=0) for array in each))


def log_joint(at: Parameters, x: np.ndarray) -> np.ndarray:
    """[n, K] log of component weight times density, l above."""
    precision = 1.0 / at["variances"]
    constant = (
        np.log(_softmax(at["weights"]) + LEAST_WEIGHT)
        - 0.5 * np.log(2 * np.pi * at["variances"]).sum(axis=1)
        - 0.5 * (at["means"] ** 2 * precision).sum(axis=1)
    )
    return np.asarray((x * x) @ (-0.5 * precision).T + x @ (at["means"] * precision).T + constant)


def responsibilities(at: Parameters, x: np.ndarray) -> np.ndarray:
    """[n, K] share of each component in each sample."""
    return _softmax(log_joint(at, x))


def objective(at: Parameters, data: Concepts, weight: float) -> float:
    """L of the module's text, `weight` is lambda."""
    total = 0.0
    for rows in blocks(len(data), data.logits.shape[1]):
        part = data.take(rows)
        joint = log_joint(at, part.logits)
        most = joint.max(axis=1, keepdims=True)
        e = np.exp(joint - most)
        mass = e.sum(axis=1, keepdims=True)
        total -= float((most + np.log(mass)).sum())
        for name in READ_OUTS:
            z = (e / mass) @ at[f"{name}_weight"] + at[f"{name}_bias"]
            cross = np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z))) - z * getattr(part, name)
            total += weight * float(cross.sum())
    return total / len(data)


def gradient(at: Parameters, data: Concepts, weight: float) -> Parameters:
    """The derivative of L by each parameter, all of `data` at once."""
    x, n = data.logits, len(data)
    r = responsibilities(at, x)
    found: Parameters = {}
    by_r = np.zeros_like(r)
    for name in READ_OUTS:
        z = r @ at[f"{name}_weight"] + at[f"{name}_bias"]
        by_z = (_sigmoid(z) - getattr(data, name)) * (weight / n)
        found[f"{name}_weight"], found[f"{name}_bias"] = r.T @ by_z, by_z.sum(axis=0)
        by_r += by_z @ at[f"{name}_weight"].T
    by_joint = r * (by_r - (r * by_r).sum(axis=1, keepdims=True)) - r / n
    found |= _by_gaussians(at, x, by_joint)
    share = _softmax(at["weights"])
    by_share = by_joint.sum(axis=0) / (share + LEAST_WEIGHT)
    found["weights"] = share * (by_share - share @ by_share)
    return found


def _by_gaussians(at: Parameters, x: np.ndarray, by_joint: np.ndarray) -> Parameters:
    mean, variance = at["means"], at["variances"]
    mass = by_joint.sum(axis=0)[:, None]
    first = by_joint.T @ x
    second = by_joint.T @ (x * x) - 2 * mean * first + mean**2 * mass
    return {
        "means": (first - mass * mean) / variance,
        "variances": 0.5 * (second / variance - mass) / variance,
    }


def _softmax(z: np.ndarray) -> np.ndarray:
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def _sigmoid(z: np.ndarray) -> np.ndarray:
    return 0.5 * (1.0 + np.tanh(0.5 * z))
