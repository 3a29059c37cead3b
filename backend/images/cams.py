"""What class activation maps share: maps and gradients of the last layer that has a place for each.

Imports torch: only workers import this module.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from backend.explainer import Run
from backend.images.explained import Decision, enlarged, explained
from backend.images.explanation import ImageExplanation, ImageTarget, Photos

NOTHING = "No map speaks for this class: all that is left after taking positive evidence is zero."


def maps_and_gradient(decision: Decision) -> tuple[Tensor, Tensor]:
    """Maps A and the gradient of the explained logit with respect to them, [K, gh, gw] each."""
    model = decision.model
    with model.features() as found:
        logit = decision.logit(decision.x)[0]
        (gradient,) = torch.autograd.grad(logit, found[-1])
    decision.run.count(backward=1)
    at = model.maps
    return at.spatial(found[-1].detach())[0], at.spatial(gradient)[0]


def cam(
    decision: Decision, weighted: Tensor, *, signed: bool, values: dict[str, Any] | None = None
) -> ImageExplanation:
    """The explanation of a map [gh, gw]; what speaks against the class is left out unless signed.

    Args:
        weighted: the weighted sum of the maps.
    """
    kept = weighted if signed else weighted.clamp_min(0)
    nothing = not bool(kept.any())
    return explained(
        decision,
        enlarged(kept, decision.model.shape),
        unit="weighted activation",
        signed=signed,
        values={
            "layer": decision.model.maps.name,
            "grid": list(decision.model.maps.grid),
            **(values or {}),
        },
        notes=(NOTHING,) if nothing and bool(weighted.any()) else (),
    )


def decided(model: Any, input: Photos, target: ImageTarget, run: Run) -> Decision:
    """The decision an explainer is about."""
    return Decision(model, input, target, run)
