"""Infidelity: how badly a map foretells what a little noise on the picture does to the logit.

Yeh et al., "On the (In)fidelity and Sensitivity of Explanations", 2019. Of noise I and the fall
f = z(x) - z(x - I) of the logit it is E[(b (I·a) - f)²], where one score a counts for the three
channels of its pixel. Maps have units of their own, so the factor b that suits a map best comes
first: b = E[(I·a) f] / E[(I·a)²], as in the authors' code and in captum (`normalize=True`). Logits
of pictures differ too, so what is left is divided by E[f²]: 0 foretells all, 1 nothing.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from backend.images.preprocessing import Preprocessing

NOISE = 0.03
"""Standard deviation of the noise, as a share of the range of a channel from black to white."""


@dataclasses.dataclass(frozen=True, eq=False)
class Shaken:
    """What noise did to one picture, the same for each map of it.

    Attributes:
        noise: [n, h, w] summed over the channels, in the model's normalised units.
        falls: [n] of the explained logit.
    """

    noise: np.ndarray
    falls: np.ndarray


def noise(count: int, preprocessing: Preprocessing, generator: np.random.Generator) -> np.ndarray:
    """[count, 3, h, w] float32 Gaussian noise in the model's normalised units.

    A channel's deviation is NOISE times its range, which normalisation makes a channel's own.
    """
    drawn = generator.normal(size=(count, 3, *preprocessing.shape)).astype(np.float32)
    span = preprocessing.value(255) - preprocessing.value(0)
    return np.asarray(drawn * (np.float32(NOISE) * span)[:, None, None], dtype=np.float32)


def shaken(decision: Any, count: int, generator: np.random.Generator) -> Shaken:
    """The falls of the explained logit under noise; one pass a draw.

    Args:
        decision: a `backend.images.explained.Decision`.
    """
    import torch

    drawn = noise(count, decision.model.preprocessing, generator)

    def picture(i: int) -> Any:
        return decision.x - torch.from_numpy(drawn[i]).to(decision.x.device)

    left = decision.each(range(count), picture, "noise on the picture")
    return Shaken(drawn.sum(axis=1, dtype=np.float64), decision.logits[decision.label] - left)


def infidelity(scores: np.ndarray, known: Shaken) -> float | None:
    """Of a map [h, w], from 0 to 1; None of a map of zeros, or where noise moves no logit.

    By chance it is 1 - 1/n on average over n draws: the factor is fitted to them.
    """
    foretold = np.einsum("nij,ij->n", known.noise, scores.astype(np.float64))
    falls = known.falls
    own, all_of = float(foretold @ foretold), float(falls @ falls)
    if own == 0 or all_of == 0:
        return None
    left = falls - float(foretold @ falls) / own * foretold
    return float(left @ left) / all_of
