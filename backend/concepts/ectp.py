"""How far each concept moves the class: ECTP, step 1 of CB-SLICE (arXiv 2605.29836).

1. For each wrongly predicted sample i and concept j, set what the label head reads of j to off and
   to on, the other concepts as they are; p_0 and p_1 are the class distributions it gives then, p
   the one it gave, and P_ij the predicted probability of the concept:
       T_ij = (1 - P_ij) KL(p_0 || p) + P_ij KL(p_1 || p).
2. Average over the samples of each true class: s_cj.
3. Keep the concepts that are above the mean of their class in any class.

A concept changes one column of what the head reads, so the first layer's output moves by that
column's weights alone, z + w_j (v - x_j), and only the layers after it are evaluated anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from backend.concepts.explanation import CLIP, Bottleneck
from backend.concepts.head import Head

VALUES: dict[Bottleneck, tuple[float, float]] = {
    "hard": (0.0, 1.0),
    "soft": (float(np.log(CLIP / (1 - CLIP))), float(np.log((1 - CLIP) / CLIP))),
}
"""What the head reads of a concept that is set off, and of one that is set on."""
FEWEST_KEPT = 2
CELLS = 2**18
"""Numbers in one block of intermediate values: it fits a processor's cache."""

Groups = tuple[tuple[int, ...], ...]
Step = Callable[[int, int], None]


def influence(
    head: Head,
    inputs: np.ndarray,
    probabilities: np.ndarray,
    bottleneck: Bottleneck,
    exclusive: Groups = (),
    step: Step = lambda *_: None,
) -> np.ndarray:
    """T of every sample and concept, [n, k] in nats, never negative.

    Memory is bounded by the result and `CELLS`.

    Args:
        inputs: [n, k], what the head reads.
        probabilities: [n, k], predicted concepts.
        exclusive: sets of concepts of which one is true: setting one on sets the others off.
        step: called with (samples done, samples in all).
    """
    off, on = VALUES[bottleneck]
    found = np.zeros(inputs.shape)
    for rows in blocks(len(inputs), inputs.shape[1] * max(len(b) for b in head.biases)):
        step(rows.start, len(inputs))
        x, p = inputs[rows], probabilities[rows]
        first = head.weights[0] @ x.T + head.biases[0][:, None]
        before = _outputs(head, first)[:, :, None]
        if bottleneck == "hard" and not exclusive:  # the other value is the one it has
            shift = _shift(head, x, 1.0 - x)
            after = _outputs(head, first[:, :, None] + shift)
            found[rows] = np.where(x > 0.5, 1.0 - p, p) * divergence(after, before)
            continue
        for value, weight in ((off, 1.0 - p), (on, p)):
            shift = _shift(head, x, np.full(x.shape, value))
            if value == on:
                _set_others_off(shift, head, x, off, exclusive)
            after = _outputs(head, first[:, :, None] + shift)
            found[rows] += weight * divergence(after, before)
    return found


def divergence(after: np.ndarray, before: np.ndarray) -> np.ndarray:
    """KL(after || before) of class distributions given by raw outputs [q, ...], nats.

    One output is the logit of a Bernoulli, whose probabilities are kept `CLIP` from 0 and 1.
    """
    if len(after) == 1:
        a, b = (np.clip(0.5 * (1 + np.tanh(0.5 * z[0])), CLIP, 1 - CLIP) for z in (after, before))
        kl = a * np.log(a / b) + (1 - a) * np.log((1 - a) / (1 - b))
    else:
        a, b = log_softmax(after), log_softmax(before)
        kl = (np.exp(a) * (a - b)).sum(axis=0)
    return np.asarray(np.maximum(kl, 0.0))


def log_softmax(z: np.ndarray) -> np.ndarray:
    """Log-probabilities along the first axis."""
    z = z - z.max(axis=0)
    return np.asarray(z - np.log(np.exp(z).sum(axis=0)))


def by_class(scores: np.ndarray, labels: np.ndarray, classes: int) -> np.ndarray:
    """[m, k] means of scores [e, k] over the samples of each true class; NaN where it has none."""
    found = np.full((classes, scores.shape[1]), np.nan)
    for c in np.unique(labels):
        found[c] = scores[labels == c].mean(axis=0)
    return found


def keep(scores: np.ndarray, most: int) -> np.ndarray:
    """The kept concepts, ascending: above their class's mean in any class, at most `most`.

    Where these are too many, those with the largest score in any class stay; where they are fewer
    than two, the next ones in that order join.

    Args:
        scores: [m, k], see `by_class`.
    """
    known = scores[~np.isnan(scores).all(axis=1)]
    above = (known > known.mean(axis=1, keepdims=True)).any(axis=0)
    largest = known.max(axis=0)
    order = np.lexsort((np.arange(len(largest)), -largest, ~above))
    count = min(max(int(above.sum()), FEWEST_KEPT), max(most, FEWEST_KEPT), len(largest))
    return np.sort(order[:count])


def blocks(n: int, width: int) -> Iterator[slice]:
    """Slices of n rows such that a block of rows times `width` numbers stays within `CELLS`."""
    size = max(1, CELLS // max(1, width))
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def _shift(head: Head, x: np.ndarray, value: np.ndarray) -> np.ndarray:
    """[h, b, k]: by how much the first layer moves when each concept alone is set to its value."""
    return np.asarray(head.weights[0][:, None, :] * (value - x)[None])


def _set_others_off(
    shift: np.ndarray, head: Head, x: np.ndarray, off: float, exclusive: Groups
) -> None:
    for group in exclusive:
        members = list(group)
        each = head.weights[0][:, None, members] * (off - x[:, members])[None]
        shift[:, :, members] += each.sum(axis=2, keepdims=True) - each


def _outputs(head: Head, first: np.ndarray) -> np.ndarray:
    """[q, ...] raw outputs from the first layer's outputs [h, ...]."""
    z = first
    for weight, bias in zip(head.weights[1:], head.biases[1:], strict=True):
        z = np.tensordot(weight, np.maximum(z, 0.0), axes=1)
        z += bias.reshape(-1, *[1] * (z.ndim - 1))
    return z
