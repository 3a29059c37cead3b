"""From the map layer on: what the class's logit makes of the maps, place by place.

The logit's change from maps that are `origin` everywhere to the maps of a picture is told apart by
place and channel with integrated gradients (Sundararajan et al., 2017) along the straight way.
Where the rest of the network is linear in the maps, as with a mean and a linear head, one gradient
is exact.

Imports torch: only workers import this module.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import torch
from torch import Tensor

from backend.explainer import Run
from backend.images.models import Classifier

EXACT = 5e-4
"""Largest miss, in logits, of sums that count as complete."""
POINTS = (8, 16, 32, 64, 128)


@dataclasses.dataclass(frozen=True)
class Slope:
    """How the class's logit rests on the maps of one picture.

    Attributes:
        maps: [C, gh, gw] float64. gradient: of the logit at these maps, of the same shape.
        mean: the gradient's mean along the way from the origin.
        base: the logit at the origin. whole: at the maps. points: gradients taken on the way.
    """

    maps: np.ndarray
    gradient: np.ndarray
    mean: np.ndarray
    base: float
    whole: float
    points: int


def features(model: Classifier, x: Tensor, run: Run) -> Tensor:
    """[B, C, gh, gw] float32: the maps of pictures."""
    run.count(forward=len(x))
    with torch.no_grad(), model.features() as found:
        model.logits(x)
    return model.maps.spatial(found[-1])


def logits(model: Classifier, x: Tensor, maps: Tensor, run: Run) -> Tensor:
    """[B, K] logits where the map layer's output has these maps [B, C, gh, gw]; gradients flow.

    What is no map, as a class token, stays as it is for x [B, 3, h, w].
    """
    run.count(forward=len(x))
    at = model.maps

    def put(_layer: Any, _args: Any, output: Any) -> Any:
        tensor = output[0] if isinstance(output, tuple) else output
        given = maps.to(tensor.dtype)
        if at.prefix is not None:
            tokens = given.flatten(2).transpose(1, 2)
            given = torch.cat([tensor[:, : at.prefix], tokens], dim=1)
        return (given, *output[1:]) if isinstance(output, tuple) else given

    handle = at.module.register_forward_hook(put)
    try:
        return model.logits(x)
    finally:
        handle.remove()


def slope(model: Classifier, x: Tensor, label: int, origin: np.ndarray, run: Run) -> Slope:
    """How the logit of a class rests on the maps of one picture.

    Args:
        x: [1, 3, h, w]. origin: [C], the maps' channels where nothing is seen.
    """
    maps = features(model, x, run)
    start = torch.from_numpy(origin).to(maps)[None, :, None, None].expand_as(maps)
    way = (maps - start).double()
    with torch.no_grad():
        base = float(logits(model, x, start, run)[0, label])
    plain, whole = _gradients(model, x, maps[None, 0], label, run)
    mean, points = plain, 1
    if _miss(plain, way, whole, base) > EXACT:
        for points in POINTS:
            places, weights = np.polynomial.legendre.leggauss(points)
            mean = torch.zeros_like(plain)
            for first in range(0, points, model.at_once):
                part = torch.from_numpy((places[first : first + model.at_once] + 1) / 2)
                at = start + part.to(maps)[:, None, None, None] * (maps - start)
                each, _ = _gradients(model, x.expand(len(at), -1, -1, -1), at, label, run)
                share = torch.from_numpy(weights[first : first + model.at_once] / 2)
                mean += (each * share.to(each)[:, None, None, None]).sum(dim=0, keepdim=True)
            if _miss(mean, way, whole, base) <= EXACT:
                break
    return Slope(
        maps=maps[0].double().cpu().numpy(),
        gradient=plain[0].cpu().numpy(),
        mean=mean[0].cpu().numpy(),
        base=base,
        whole=whole,
        points=points,
    )


def gradient(model: Classifier, x: Tensor, maps: Tensor, label: int, run: Run) -> Tensor:
    """[B, C, gh, gw] float64: the gradient of a class's logit with respect to the maps."""
    return _gradients(model, x, maps, label, run)[0]


def _miss(slope: Tensor, way: Tensor, whole: float, base: float) -> float:
    return abs(whole - base - float((slope * way).sum()))


def _gradients(
    model: Classifier, x: Tensor, maps: Tensor, label: int, run: Run
) -> tuple[Tensor, float]:
    """[B, C, gh, gw] float64 gradients of the logit at maps, and the logit at the first."""
    leaf = maps.detach().clone().requires_grad_()
    found = logits(model, x, leaf, run)[:, label]
    (gradient,) = torch.autograd.grad(found.sum(), leaf)
    run.count(backward=len(maps))
    return gradient.double(), float(found[0].detach())
