"""Integrated gradients: the gradient along the straight way from a baseline to the picture."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.images.explanation import ImageExplanation, ImageTarget, Photos
from backend.images.fills import Fill, fill_field
from backend.images.saliency import gradient

CLOSE = 0.02
"""Completeness gap, as a share of the whole difference, at which the way needs no more points."""
MOST = 400
FIRST = 8
"""Pieces the way is cut into at first."""


class IntegratedGradientsParameters(Frozen):
    """From where, and at how many points."""

    baseline: Fill = fill_field("black", "Baseline")
    points: Literal["adaptive", "fixed"] = Field(
        "adaptive",
        title="Points",
        description="`adaptive` halves those pieces of the way whose gradient least explains how "
        f"the logit changes, until the gap is below {CLOSE:.0%}; `fixed` takes even steps.",
    )
    steps: Annotated[int, Field(ge=1, le=MOST)] = Field(
        50, title="Steps", description="Gauss-Legendre points of a fixed way."
    )


class IntegratedGradients(Explainer):
    """(x - b) times the mean gradient along b + a (x - b), summed over the channels.

    Arrays and values as `backend.images.explained` has them, and baseline, steps, difference (of
    the logits) and gap: how far the scores' sum is from it, as a share of it.
    """

    id = "integrated_gradients"
    title = "Integrated Gradients"
    family = "images"
    reference = Reference(
        authors="Sundararajan, Taly, Yan",
        title="Axiomatic Attribution for Deep Networks",
        year=2017,
        link="https://arxiv.org/abs/1703.01365",
    )
    how_to_read = (
        "What each pixel adds to the logit on the way from the baseline; the scores sum to the "
        "whole difference. Pixels that look like the baseline get nothing."
    )
    Parameters = IntegratedGradientsParameters

    def explain(
        self, model: Any, input: Photos, target: ImageTarget, parameters: Any, run: Run
    ) -> ImageExplanation:
        """The map.

        Raises:
            InputError: there is no such picture or class.
        """
        from backend.images.explained import Decision, explained

        decision = Decision(model, input, target, run)
        base = model.fill(decision.seen, parameters.baseline)
        start = decision.each([base], lambda one: one, "the baseline")[0]
        difference = float(decision.logits[decision.label] - start)
        if parameters.points == "fixed":
            found, steps = _integral(decision, base, parameters.steps), parameters.steps
        else:
            found, steps = _adaptive(decision, base, start, difference)
        gap = abs(float(found.sum()) - difference) / max(abs(difference), 1e-9)
        if gap > CLOSE:
            run.warn(
                f"The scores sum to {found.sum():.4g}, the difference of the logits is "
                f"{difference:.4g}: a gap of {gap:.1%} after {steps} steps."
            )
        return explained(
            decision,
            found,
            unit="logit",
            signed=True,
            values={
                "baseline": parameters.baseline,
                "steps": steps,
                "difference": difference,
                "gap": gap,
            },
        )


def _integral(decision: Any, base: Any, steps: int) -> np.ndarray:
    """[h, w] float64, by one Gauss-Legendre rule over the whole way."""
    points, weights = np.polynomial.legendre.leggauss(steps)
    found = _gradients(decision, base, ((points + 1) / 2).tolist())
    return np.asarray(np.tensordot(weights / 2, found, axes=1))


def _adaptive(decision: Any, base: Any, start: float, difference: float) -> tuple[np.ndarray, int]:
    """[h, w] float64, and how many gradients it took.

    Each piece has a Gauss-Legendre rule of two points. What the piece's integral should sum to is
    known: the logit's change from its one end to the other. Pieces that miss it most are halved.
    """
    rule = (np.polynomial.legendre.leggauss(2)[0] + 1) / 2
    cuts = np.linspace(0, 1, FIRST + 1)
    logits = {0.0: start, 1.0: float(decision.logits[decision.label])}
    parts: dict[tuple[float, float], np.ndarray] = {}
    pieces = list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))
    while True:
        new = [piece for piece in pieces if piece not in parts]
        places = [a + (b - a) * float(at) for a, b in new for at in rule]
        found = _gradients(decision, base, places)
        for i, (a, b) in enumerate(new):
            parts[a, b] = (b - a) * found[2 * i : 2 * i + 2].mean(axis=0)
        ends = sorted({end for piece in new for end in piece} - logits.keys())
        logits |= dict(zip(ends, _along(decision, base, ends), strict=True))
        misses = {(a, b): float(parts[a, b].sum()) - (logits[b] - logits[a]) for a, b in pieces}
        done = 2 * len(parts)
        if abs(sum(misses.values())) <= CLOSE * abs(difference) or done >= MOST:
            return np.asarray(sum(parts[piece] for piece in pieces)), done
        worst = sorted(pieces, key=lambda piece: -abs(misses[piece]))[: max(4, len(pieces) // 3)]
        pieces = [piece for piece in pieces if piece not in worst] + [
            half for a, b in worst for half in ((a, (a + b) / 2), ((a + b) / 2, b))
        ]
        pieces.sort()


def _gradients(decision: Any, base: Any, places: list[float]) -> np.ndarray:
    """[n, h, w] float64: at places along the way, the gradient times the way, summed over the
    channels."""
    import torch

    way = decision.x - base

    def work(part: Any) -> list[np.ndarray]:
        at = torch.tensor(part, dtype=way.dtype, device=way.device)
        found = gradient(decision, base + at[:, None, None, None] * way)
        return list((found * way).double().sum(dim=1).cpu().numpy())

    size = decision.model.at_once
    return np.stack(decision.run.batches(places, size, work, "points along the way"))


def _along(decision: Any, base: Any, places: list[float]) -> np.ndarray:
    """[n] logits at places along the way."""
    if not places:
        return np.zeros(0)
    way = decision.x - base
    return np.asarray(decision.each(places, lambda at: base + at * way, "points along the way"))
