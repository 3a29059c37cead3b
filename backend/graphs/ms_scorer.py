"""One scorer of edges for all scales, and the soft masks it makes of its scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from scipy.special import expit
from torch import Tensor

HIDDEN = 64
BOUND = 5.0
"""Scores stay within this."""
SPREAD = 1e-3
"""Smallest deviation scores are divided by."""
REACH, BISECTIONS = 20.0, 40
"""How far beyond the scores thresholds are looked for, and in how many steps."""


class Scorer(torch.nn.Module):
    """Scores edges, within BOUND; scales differ by a gain and a shift (FiLM).

    Args:
        width: of an edge's features. scales: how many.
    """

    def __init__(self, width: int, scales: int) -> None:
        super().__init__()
        self.first = torch.nn.Linear(width, HIDDEN)
        self.second = torch.nn.Linear(HIDDEN, HIDDEN)
        self.last = torch.nn.Linear(HIDDEN, 1)
        self.gains = torch.nn.Parameter(torch.zeros(scales, HIDDEN))
        self.shifts = torch.nn.Parameter(torch.zeros(scales, HIDDEN))

    def forward(self, features: Tensor) -> Tensor:
        """[scales, edges] scores of features [edges, width]."""
        h = self.first(features)
        h = torch.relu(h[None] * (1 + self.gains[:, None]) + self.shifts[:, None])
        raw = self.last(torch.relu(self.second(h)))[..., 0]
        return BOUND * torch.tanh(raw / BOUND)


def thresholds(scores: Tensor, owners: Tensor, count: int, budget: float) -> Tensor:
    """[edges] each edge's threshold: the mean of sigmoid(score - threshold) in a graph is `budget`.

    By bisection, without a gradient. Graphs without edges have none.
    """
    with torch.no_grad():
        sizes = torch.zeros(count, device=scores.device, dtype=scores.dtype).index_add(
            0, owners, torch.ones_like(scores)
        )
        reach = float(scores.abs().max()) + REACH if len(scores) else 0.0
        low = torch.full_like(sizes, -reach)
        high = -low
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            share = torch.zeros_like(low).index_add(
                0, owners, torch.sigmoid(scores - middle[owners])
            ) / sizes.clamp(min=1)
            more = share > budget
            low, high = torch.where(more, middle, low), torch.where(more, high, middle)
        return ((low + high) / 2)[owners]


def sharp(scores: np.ndarray, budgets: Sequence[float]) -> np.ndarray:
    """[K, e] float32 masks of one graph, its scores divided by their deviation at each scale.

    sigmoid(z - `thresholds`) of all scales at once, in a tenth of the time: a graph has few edges,
    so what counts is how many operations there are.

    Args:
        scores: [K, e] float64.
    """
    if not scores.size:
        return np.zeros(scores.shape, dtype=np.float32)
    z = scores / np.maximum(scores.std(axis=1, keepdims=True), SPREAD)
    wanted = np.asarray(budgets)[:, None]
    high = np.abs(z).max() + np.full((len(z), 1), REACH)
    low = -high
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        more = expit(z - middle).mean(axis=1, keepdims=True) > wanted
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    return np.asarray(expit(z - (low + high) / 2), dtype=np.float32)
