"""One scorer of edges for all scales, and the soft masks it makes of its scores."""

from __future__ import annotations

import torch
from torch import Tensor

HIDDEN = 64
BOUND = 5.0
"""Scores stay within this."""


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
        reach = float(scores.abs().max()) + 20.0 if len(scores) else 0.0
        low = torch.full_like(sizes, -reach)
        high = -low
        for _ in range(40):
            middle = (low + high) / 2
            share = torch.zeros_like(low).index_add(
                0, owners, torch.sigmoid(scores - middle[owners])
            ) / sizes.clamp(min=1)
            more = share > budget
            low, high = torch.where(more, middle, low), torch.where(more, high, middle)
        return ((low + high) / 2)[owners]


def spread(scores: Tensor, owners: Tensor, count: int) -> Tensor:
    """[edges] the deviation of the scores in each edge's graph, at least 1e-3."""
    zero = torch.zeros(count, device=scores.device, dtype=scores.dtype)
    sizes = zero.index_add(0, owners, torch.ones_like(scores)).clamp(min=1)
    mean = (zero.index_add(0, owners, scores) / sizes)[owners]
    variance = zero.index_add(0, owners, (scores - mean) ** 2) / sizes
    return variance.sqrt().clamp(min=1e-3)[owners]
