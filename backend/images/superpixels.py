"""Superpixels, and the picture with some of them covered: what LIME and KernelSHAP share."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from backend.errors import InputError
from backend.explanation import Frozen
from backend.images.fills import Fill, fill_field

FEWEST = 2
COMPACTNESS, SIGMA = 10.0, 1.0


class SuperpixelParameters(Frozen):
    """Into what the picture is cut, and how many cut-outs are tried."""

    segments: Annotated[int, Field(ge=4, le=400)] = Field(
        50, title="Segments", description="Superpixels aimed at (SLIC)."
    )
    samples: Annotated[int, Field(ge=20, le=5000)] = Field(
        200, title="Samples", description="Pictures with some segments covered, a pass each."
    )
    fill: Fill = fill_field("mean", "Covered with")


def segments(seen: np.ndarray, count: int) -> np.ndarray:
    """[h, w] int: the number of each pixel's superpixel, from 0 without gaps (SLIC).

    Raises:
        InputError: the picture falls into fewer than two.
    """
    from skimage.segmentation import slic

    found = slic(
        seen, n_segments=count, compactness=COMPACTNESS, sigma=SIGMA, start_label=0,
        channel_axis=-1,
    )  # fmt: skip
    _, numbers = np.unique(found, return_inverse=True)
    numbers = numbers.reshape(found.shape)
    if numbers.max() + 1 < FEWEST:
        raise InputError(
            "The picture falls into one superpixel, so there is nothing to compare.",
            todo="Ask for more segments, or use another method.",
        )
    return np.asarray(numbers)


class Cut:
    """A picture in M segments, and what the model says of it while some are covered.

    Args:
        decision: `backend.images.explained.Decision`.
    """

    def __init__(self, decision: Any, parameters: SuperpixelParameters) -> None:
        import torch

        self.decision = decision
        self.numbers = segments(decision.seen, parameters.segments)
        self.count = int(self.numbers.max()) + 1
        self.places = torch.from_numpy(self.numbers).to(decision.x.device)
        self.fill = decision.model.fill(decision.seen, parameters.fill)

    def logits(self, kept: np.ndarray, what: str) -> np.ndarray:
        """[n] logits of the pictures in which only the segments kept [n, M] bool are seen."""
        import torch

        def picture(i: int) -> Any:
            on = torch.from_numpy(kept[i]).to(self.places.device)[self.places]
            return torch.where(on, self.decision.x, self.fill)

        return np.asarray(self.decision.each(range(len(kept)), picture, what))

    def spread(self, scores: np.ndarray) -> np.ndarray:
        """[h, w]: the score [M] of each pixel's segment."""
        return np.asarray(scores[self.numbers])
