"""The straight path from a baseline to the prompt, and the integral of f's gradient along it.

    score(j) = Σ_d (e_jd - b_jd) ∫_0^1 ∂f/∂e_jd (b + α(e - b)) dα

Along the path a large model's f may move by many nats within a hundredth of α. The gradient's part
of each interval is known to be f at its end less f at its start, so what an interval misses can be
seen, and points put where they are missing (the aim of Bhat & Raychowdhury, "Non-Uniform
Interpolation in Integrated Gradients for Low-Latency Explainable-AI", ISCAS 2023):

1. A quarter of the points stand evenly, both ends included; intervals are trapezoids.
2. The intervals that miss the most are halved, a few at a time.
3. It ends when the points are spent, or all intervals together miss less than `TOLERANCE`.

Imports torch: only imported when a model is explained.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from captum.attr import IntegratedGradients
from torch import Tensor

from backend.tokens.objective import Objective

TOLERANCE = 0.01
"""Share of |f(e) - f(b)| that the intervals' gaps, each taken as positive, may sum to."""
FIRST_SHARE, ROUND_SHARE = 4, 8
TOKENS_PER_BATCH = 2048
ROWS_PER_BATCH = 16
_WHAT = "integrating gradients"


class Path:
    """The path of one objective.

    Args:
        start: [d] float32, the embedding each token before the first explained one starts from.
    """

    def __init__(self, objective: Objective, start: Tensor) -> None:
        self.objective = objective
        self.end = objective.model.embeddings(objective.ids).detach().float()
        self.start = self.end.clone()
        self.start[: len(objective.context)] = start
        self.size = max(1, min(ROWS_PER_BATCH, TOKENS_PER_BATCH // len(objective.ids)))

    def ends(self) -> tuple[float, float]:
        """f at the prompt and at the baseline.

        Raises:
            ModelError: one is not finite.
        """
        with torch.no_grad():
            values = [float(self.objective.of_embeddings(x[None])) for x in (self.end, self.start)]
        self.objective.run.count(forward=2)
        self.objective.finite(np.array(values), "log-probabilities")
        return values[0], values[1]

    def even(self, steps: int) -> np.ndarray:
        """The integral by Gauss-Legendre quadrature, [N] float64; captum computes it."""
        nodes, weights = np.polynomial.legendre.leggauss(steps)
        points = list(zip(((1 + nodes) / 2).tolist(), (weights / 2).tolist(), strict=True))
        method = IntegratedGradients(self.objective.of_embeddings)

        def part(batch: Sequence[tuple[float, float]]) -> list[np.ndarray]:
            # `attribute` takes no share of the points: this is what it calls for each of its own
            # batches, and batches that shrink when memory runs out need to call it themselves.
            (found,) = method._attribute(
                (self.end[None],),
                (self.start[None],),
                n_steps=len(batch),
                step_sizes_and_alphas=([w for _, w in batch], [a for a, _ in batch]),
            )
            self.objective.run.count(forward=len(batch), backward=len(batch))
            own: np.ndarray = found[0].detach().double().sum(dim=1).cpu().numpy()
            return [own, *[np.zeros_like(own)] * (len(batch) - 1)]

        parts = self.objective.run.batches(points, self.size, part, _WHAT)
        total: np.ndarray = np.sum(parts, axis=0)
        return total

    def adaptive(self, steps: int) -> tuple[np.ndarray, int]:
        """The integral with at most `steps` points put where they are missing.

        Returns:
            [N] float64, and the number of points used.
        """
        alphas = np.linspace(0.0, 1.0, max(3, steps // FIRST_SHARE))
        values, slopes = self._at(alphas, 0, steps)
        while True:
            parts = np.diff(alphas)[:, None] * (slopes[1:] + slopes[:-1]) / 2
            gaps = np.abs(parts.sum(axis=1) - np.diff(values))
            count = min(max(1, steps // ROUND_SHARE), steps - len(alphas))
            if count <= 0 or gaps.sum() <= TOLERANCE * abs(values[-1] - values[0]):
                return parts.sum(axis=0), len(alphas)
            worst = np.argsort(-gaps, kind="stable")[:count]
            new = (alphas[worst] + alphas[worst + 1]) / 2
            new_values, new_slopes = self._at(new, len(alphas), steps)
            order = np.argsort(np.concatenate([alphas, new]), kind="stable")
            alphas = np.concatenate([alphas, new])[order]
            values = np.concatenate([values, new_values])[order]
            slopes = np.concatenate([slopes, new_slopes])[order]

    def _at(self, alphas: np.ndarray, before: int, total: int) -> tuple[np.ndarray, np.ndarray]:
        """f [P] and each token's part of its slope [P, N] at points of the path, float64.

        Raises:
            ModelError: one is not finite anywhere but at the baseline.
        """
        run = self.objective.run
        found = run.batches(
            alphas.tolist(), self.size, self._pass, _WHAT, before=before, total=total
        )
        values, slopes = np.array([v for v, _ in found]), np.array([s for _, s in found])
        if alphas[0] == 0.0 and not np.isfinite(slopes[0]).all():
            slopes[0] = slopes[1]  # at zero, norms have no finite slope: the next point stands in
        self.objective.finite(values, "log-probabilities")
        self.objective.finite(slopes, "gradients")
        return values, slopes

    def _pass(self, alphas: Sequence[float]) -> list[tuple[float, np.ndarray]]:
        way = self.end - self.start
        with torch.enable_grad():
            x = torch.stack([self.start + alpha * way for alpha in alphas]).requires_grad_(True)
            values = self.objective.of_embeddings(x)
            (gradient,) = torch.autograd.grad(values.sum(), x)
        self.objective.run.count(forward=len(alphas), backward=len(alphas))
        slopes = (gradient.double() * way.double()).sum(dim=2).cpu().numpy()
        return list(zip(values.detach().double().tolist(), slopes, strict=True))
