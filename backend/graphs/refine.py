"""Refinement for one graph: a free offset an edge, by the losses the scorer was learned by."""

from __future__ import annotations

import numpy as np
import torch

from backend.explainer import Run
from backend.graphs import ms_losses
from backend.graphs.batch import parts
from backend.graphs.classifier import Classifier
from backend.graphs.edge_features import Item
from backend.graphs.ms_fit import Fitted
from backend.graphs.ms_scorer import thresholds

PULL = 0.01


def refined(classifier: Classifier, fitted: Fitted, item: Item, steps: int, run: Run) -> np.ndarray:
    """[e] float32 offsets to the scores of all scales, after `steps` of Adam without noise."""
    batch = parts([item.part], classifier.device)
    raw = fitted.raw([item]).detach().to(classifier.device)
    offset = torch.zeros(batch.edges, device=classifier.device, requires_grad=True)
    optimiser = torch.optim.Adam([offset], lr=0.05)
    labels = torch.tensor([item.label], device=classifier.device)
    readout = torch.from_numpy(item.readout)[None].to(classifier.device)
    for step in range(steps):
        rows = [
            torch.sigmoid(w - thresholds(w.detach(), batch.owners, 1, budget))
            for w, budget in zip(raw + offset, fitted.budgets, strict=True)
        ]
        total = ms_losses.loss(classifier, batch, torch.stack(rows), labels, readout)
        total = total + PULL * (offset**2).sum()
        optimiser.zero_grad()
        total.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        run.count(forward=2 * len(rows), backward=2 * len(rows))
        run.progress(step + 1, steps, "refining")
    return np.asarray(offset.detach().cpu().numpy(), dtype=np.float32)
