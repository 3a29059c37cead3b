"""KernelSHAP: Shapley values of superpixels by weighted regression."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from backend.explainer import Explainer, Reference, Run
from backend.images.explanation import ImageExplanation, ImageTarget, Photos
from backend.images.superpixels import SuperpixelParameters

MOST_EXACT = 12
"""Segments up to which every coalition may be tried, where the samples allow."""


class KernelShap(Explainer):
    """Shapley values by Lundberg and Lee's weighted regression, its two constraints kept exactly.

    Where the samples are enough for every coalition all are tried, and the values are exact. Else
    coalitions are drawn by the kernel's weight of their size, each with its complement.

    Arrays and values as `backend.images.explained` has them, with segments [h, w] int32; and
    segments (how many), coalitions, exact, difference (of the logits of the picture and of nothing
    seen), which the segments' values sum to.
    """

    id = "kernel_shap"
    title = "KernelSHAP"
    family = "images"
    reference = Reference(
        authors="Lundberg, Lee",
        title="A Unified Approach to Interpreting Model Predictions",
        year=2017,
        link="https://arxiv.org/abs/1705.07874",
    )
    how_to_read = (
        "A superpixel's fair share of how far the logit is from that of a picture with everything "
        "covered; shares sum to the whole difference."
    )
    libraries = ("torch", "transformers", "scikit-image")
    uses_seed = True
    Parameters = SuperpixelParameters

    def explain(
        self, model: Any, input: Photos, target: ImageTarget, parameters: Any, run: Run
    ) -> ImageExplanation:
        """The map.

        Raises:
            InputError: there is no such picture or class, or it cannot be cut.
        """
        from backend.images.explained import Decision, explained
        from backend.images.superpixels import Cut

        decision = Decision(model, input, target, run)
        cut = Cut(decision, parameters)
        exact = cut.count <= MOST_EXACT and 2**cut.count - 2 <= parameters.samples
        kept, weight = (
            every(cut.count)
            if exact
            else drawn(cut.count, parameters.samples, run.numpy_generator())
        )
        ends = np.array([[False] * cut.count, [True] * cut.count])
        none, whole = cut.logits(ends, "nothing and everything covered")
        logits = cut.logits(kept, "coalitions of segments")
        values = solved(kept, weight, logits - none, whole - none)
        return explained(
            decision,
            cut.spread(values),
            unit="logit",
            signed=True,
            values={
                "segments": cut.count,
                "coalitions": len(kept),
                "exact": exact,
                "difference": float(whole - none),
            },
            arrays={"segments": cut.numbers.astype(np.int32)},
        )


def every(count: int) -> tuple[np.ndarray, np.ndarray]:
    """All coalitions but the empty and the whole one, [n, M] bool, and the kernel's weights [n]."""
    rows = np.array(list(itertools.product((False, True), repeat=count)))[1:-1]
    sizes = rows.sum(axis=1)
    return rows, np.array([kernel(count, int(size)) for size in sizes])


def kernel(count: int, size: int) -> float:
    """The weight of one coalition of a size."""
    return (count - 1) / (math.comb(count, size) * size * (count - size))


def drawn(
    count: int, samples: int, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Coalitions by the kernel's weight of their size, each with its complement; weights are 1."""
    sizes = np.arange(1, count)
    chance = 1.0 / (sizes * (count - sizes))
    rows = np.zeros((samples, count), dtype=bool)
    for i in range(0, samples, 2):
        size = int(generator.choice(sizes, p=chance / chance.sum()))
        rows[i, generator.choice(count, size, replace=False)] = True
        if i + 1 < samples:
            rows[i + 1] = ~rows[i]
    return rows, np.ones(samples)


def solved(
    kept: np.ndarray, weight: np.ndarray, worth: np.ndarray, difference: float
) -> np.ndarray:
    """[M] values of least weighted squares that sum to the difference.

    The last segment's value is the rest of the sum, so the constraint leaves M - 1 unknowns.

    Args:
        kept: [n, M] bool. worth: [n], what the coalition adds to nothing seen.
    """
    last = kept[:, -1].astype(np.float64)
    rows = kept[:, :-1].astype(np.float64) - last[:, None]
    goal = worth - last * difference
    root = np.sqrt(weight)
    found, *_ = np.linalg.lstsq(rows * root[:, None], goal * root, rcond=None)
    return np.append(found, difference - found.sum())
