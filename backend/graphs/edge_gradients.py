"""Gradients of a class's logit with respect to a mask over the edges of a part.

The mask has one entry an edge. Both directions of an undirected edge share it, so its gradient is
the sum over the two. That of a self-loop is 0 where the GNN is a GCN or a GAT: see `Gnn.forward`.
"""

from __future__ import annotations

import numpy as np
import torch

from backend.explainer import Run
from backend.graphs import batch as batches
from backend.graphs.classifier import AT_ONCE, Classifier
from backend.graphs.part import Part


def gradients(
    classifier: Classifier, part: Part, label: int, masks: np.ndarray, run: Run, what: str
) -> np.ndarray:
    """Gradients of the logit of a class at several masks.

    Args:
        masks: [m, e], every entry from 0 to 1.

    Returns:
        [m, e] float64.
    """
    size = max(1, AT_ONCE // (2 * len(part) + len(part.node_ids) + 1))
    found = []
    for start in range(0, len(masks), size):
        run.progress(start, len(masks), what)
        some = torch.from_numpy(masks[start : start + size]).float().to(classifier.device)
        weights = some.reshape(-1).requires_grad_(True)
        logits = classifier.logits(batches.copies(part, len(some), classifier.device), weights)
        [slope] = torch.autograd.grad(logits[:, label].sum(), weights, allow_unused=True)
        slope = torch.zeros_like(weights) if slope is None else slope
        found.append(slope.reshape(some.shape).double().cpu().numpy())
        run.count(forward=len(some), backward=len(some))
    return np.concatenate(found) if found else np.zeros_like(masks, dtype=np.float64)
