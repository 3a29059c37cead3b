"""What three simple explainers agree on: the start of a learned scorer, and its fallback.

Ranks within a graph of the absolute gradient of the edge mask, of integrated gradients along the
mask from no edges to all (Sundararajan et al. 2017), and of occlusion by real deletion of an edge,
averaged and standardised. All are of the log-odds of the explained class.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from backend.graphs.batch import parts
from backend.graphs.classifier import Classifier
from backend.graphs.part import Part

STEPS = 8
"""Points of the path, at the middles of equal intervals."""


def log_odds(logits: Tensor, labels: Tensor) -> Tensor:
    """[items] log p / (1 - p) of each item's label."""
    own = logits.gather(1, labels[:, None])[:, 0]
    others = torch.ones_like(logits, dtype=torch.bool).scatter(1, labels[:, None], False)
    return own - logits.masked_fill(~others, -torch.inf).logsumexp(dim=1)


def gradients(
    classifier: Classifier, found: Sequence[Part], labels: Sequence[int], mask: float = 1.0
) -> list[np.ndarray]:
    """For each part [e] float32: the log-odds' gradient where every edge's mask is `mask`."""
    batch = parts(found, classifier.device)
    weights = torch.full((batch.edges,), mask, device=classifier.device, requires_grad=True)
    value = log_odds(classifier.logits(batch, weights), _labels(classifier, labels)).sum()
    (slope,) = torch.autograd.grad(value, weights, allow_unused=True)
    flat = torch.zeros_like(weights) if slope is None else slope
    ends = np.cumsum([len(part) for part in found])[:-1]
    return np.split(flat.detach().cpu().numpy(), ends)


def integrated(
    classifier: Classifier, found: Sequence[Part], labels: Sequence[int]
) -> list[np.ndarray]:
    """For each part [e]: the mean gradient on the way from mask 0 to mask 1."""
    points = [(step + 0.5) / STEPS for step in range(STEPS)]
    slopes = [gradients(classifier, found, labels, point) for point in points]
    return [np.mean(rows, axis=0) for rows in zip(*slopes, strict=True)]


def occlusion(classifier: Classifier, part: Part, label: int) -> np.ndarray:
    """[e] by how much the log-odds fall when the edge alone is deleted."""
    keep = np.concatenate([np.ones((1, len(part)), bool), ~np.eye(len(part), dtype=bool)])
    logits = torch.from_numpy(classifier.cut(part, keep))
    odds = log_odds(logits, torch.full((len(keep),), label)).numpy()
    return np.asarray(odds[0] - odds[1:])


def ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 0 to 1; values closer than 1e-5 of the largest share the mean of theirs.

    Without the tolerance the last bit of a sum, which depends on the order of the nodes, would
    decide between edges that are alike.
    """
    values = np.asarray(values, dtype=np.float64)
    if len(values) < 2:
        return np.zeros(len(values))
    order = np.argsort(values, kind="stable")
    steps = np.diff(values[order]) > 1e-5 * max(float(np.abs(values).max()), 1e-12)
    groups = np.concatenate([[0], np.cumsum(steps)])
    at = np.arange(len(values), dtype=np.float64)
    means = np.bincount(groups, at) / np.bincount(groups)
    found = np.empty(len(values))
    found[order] = means[groups] / (len(values) - 1)
    return found


def standardised(values: np.ndarray) -> np.ndarray:
    """Mean 0 and deviation 1; zeros where all are alike."""
    values = np.asarray(values, dtype=np.float64)
    if not len(values) or float(np.ptp(values)) < 1e-9:
        return np.zeros(len(values), dtype=np.float32)
    return np.asarray((values - values.mean()) / values.std(), dtype=np.float32)


def consensus(
    classifier: Classifier, found: Sequence[Part], labels: Sequence[int]
) -> list[np.ndarray]:
    """For each part [e] float32: the standardised mean of the three ranks."""
    slopes = gradients(classifier, found, labels)
    paths = integrated(classifier, found, labels)
    rows = []
    for part, label, slope, path in zip(found, labels, slopes, paths, strict=True):
        single = occlusion(classifier, part, label)
        rows.append(standardised(ranks(np.abs(slope)) + ranks(path) + ranks(single)))
    return rows


def _labels(classifier: Classifier, labels: Sequence[int]) -> Tensor:
    return torch.tensor(list(labels), dtype=torch.long, device=classifier.device)
