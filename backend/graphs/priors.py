"""Three simple scores of edges, and their consensus, from which the scorer starts.

evidence: what the states of both ends put into the log-odds, by the gradient of the readout: class
    activation mapping (Pope et al., "Explainability Methods for Graph Convolutional Neural
    Networks", CVPR 2019), an edge having the smaller of its ends'.
gradient: size of the slope of the log-odds along a mask over the edges.
path: integrated gradients along the mask, from no messages to all (Sundararajan et al. 2017).

None is best everywhere, and where one fails the others seldom do; so the start is the mean of their
standardised ranks, in a node task without the evidence, as there only the target has any. Where a
GNN divides by degrees (GCN), deleted edges make graphs it never saw, and what is measured by
weakening messages goes astray while the evidence in its states does not; where a class is in few
bonds of a molecule, it is the other way round.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from backend.graphs.batch import Batch, parts
from backend.graphs.classifier import Classifier
from backend.graphs.gnn import POOLS, Output
from backend.graphs.part import Part

SINGLE = ("evidence", "gradient", "path")
CONSENSUS = "consensus"
NAMES = (CONSENSUS, *SINGLE)
STEPS = 8
"""Points of the path, at the middles of equal intervals."""
AT_ONCE = 10_000
"""Edges in one pass over points of the path."""
TOLERANCE = 1e-5
"""Of the largest value: values closer than this are alike."""


def log_odds(logits: Tensor, labels: Tensor) -> Tensor:
    """[items] log p / (1 - p) of each item's label."""
    own = logits.gather(1, labels[:, None])[:, 0]
    others = torch.ones_like(logits, dtype=torch.bool).scatter(1, labels[:, None], False)
    return own - logits.masked_fill(~others, -torch.inf).logsumexp(dim=1)


def evidence(classifier: Classifier, batch: Batch, output: Output, labels: Tensor) -> Tensor:
    """[nodes] what the last layer's state of each node puts into the log-odds of its item's class.

    Gradient times state, linearised at the readout. Of a node task only the target has any.
    """
    gnn = classifier.gnn
    width = gnn.architecture.hidden
    state = output.states[:, -width:].detach().clone().requires_grad_(True)
    if batch.targets is None:
        pooled = POOLS[gnn.architecture.pooling](state, batch.graphs, batch.count)
    else:
        pooled = state[batch.targets]
    logits = gnn.out(torch.relu(gnn.hidden(pooled)))
    (slope,) = torch.autograd.grad(log_odds(logits, labels).sum(), state)
    return (slope * state.detach()).sum(dim=1)


def slopes(logits: Tensor, weights: Tensor, labels: Tensor) -> Tensor:
    """[edges] gradient of the log-odds of logits that were computed with these weights."""
    (slope,) = torch.autograd.grad(log_odds(logits, labels).sum(), weights, allow_unused=True)
    return torch.zeros_like(weights) if slope is None else slope


def path(classifier: Classifier, found: Sequence[Part], labels: Tensor) -> Tensor:
    """[edges of the parts, in their order] the mean gradient on the way from mask 0 to mask 1."""
    edges = sum(len(part) for part in found)
    # As many points at once as divide them evenly, so that one batch serves all.
    size = max(
        n for n in range(1, STEPS + 1) if STEPS % n == 0 and (n == 1 or n * edges <= AT_ONCE)
    )
    batch = parts([*found] * size, classifier.device)
    points = (torch.arange(STEPS, device=classifier.device) + 0.5) / STEPS
    total = torch.zeros(edges, device=classifier.device)
    for some in torch.split(points, size):
        weights = some.repeat_interleave(edges).requires_grad_(True)
        logits = classifier.logits(batch, weights)
        slope = slopes(logits, weights, labels.repeat(size))
        total += slope.view(size, -1).sum(dim=0)
    return total / STEPS


def agreed(single: dict[str, np.ndarray], part: Part) -> np.ndarray:
    """[e] float32 the consensus of the single scores, standardised."""
    names = SINGLE if part.node is None else SINGLE[1:]
    return standardised(np.sum([single[name] for name in names], axis=0))


def of_ends(part: Part, nodes: np.ndarray) -> np.ndarray:
    """[e] float32 standardised ranks of the smaller evidence of an edge's two ends."""
    return standardised(ranks(nodes[part.edges].min(axis=1)))


def split(found: Sequence[Part], flat: Tensor) -> list[np.ndarray]:
    """Values of a batch's edges, part by part."""
    ends = np.cumsum([len(part) for part in found])[:-1]
    return np.split(flat.detach().cpu().numpy(), ends)


def ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 0 to 1; values closer than TOLERANCE share the mean of theirs.

    Without the tolerance the last bit of a sum, which depends on the order of the nodes, would
    decide between edges that are alike.
    """
    values = np.asarray(values, dtype=np.float64)
    if len(values) < 2:
        return np.zeros(len(values))
    order = np.argsort(values, kind="stable")
    steps = np.diff(values[order]) > TOLERANCE * max(float(np.abs(values).max()), 1e-12)
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
