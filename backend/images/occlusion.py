"""Occlusion: how far the logit falls when a window of the picture is covered."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from backend.errors import InputError
from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.images.explanation import ImageExplanation, ImageTarget, Photos
from backend.images.fills import Fill, fill_field


class OcclusionParameters(Frozen):
    """The window that is slid over the picture."""

    window: Annotated[int, Field(ge=1, le=1024)] = Field(
        32, title="Window", description="Pixels a side of the window."
    )
    stride: Annotated[int, Field(ge=1, le=1024)] = Field(
        16, title="Stride", description="Pixels from one window to the next."
    )
    fill: Fill = fill_field("grey", "Covered with")


class Occlusion(Explainer):
    """A pixel's score is the mean, over the windows that cover it, of the fall of the logit.

    Arrays and values as `backend.images.explained` has them, and windows, how many there were.
    """

    id = "occlusion"
    title = "Occlusion"
    family = "images"
    reference = Reference(
        authors="Zeiler, Fergus",
        title="Visualizing and Understanding Convolutional Networks",
        year=2014,
        link="https://arxiv.org/abs/1311.2901",
    )
    how_to_read = "Positive: without this part the class's logit is lower."
    Parameters = OcclusionParameters

    def explain(
        self, model: Any, input: Photos, target: ImageTarget, parameters: Any, run: Run
    ) -> ImageExplanation:
        """The map.

        Raises:
            InputError: there is no such picture or class, or the windows leave gaps.
        """
        from backend.images.explained import Decision, explained

        if parameters.stride > parameters.window:
            raise InputError(
                "The stride is larger than the window, so some pixels would never be covered.",
                "stride",
                f"Use at most {parameters.window}.",
            )
        decision = Decision(model, input, target, run)
        fill = model.fill(decision.seen, parameters.fill)
        places = windows(model.shape, parameters.window, parameters.stride)

        def covered(place: tuple[slice, slice]) -> Any:
            x = decision.x.clone()
            x[:, :, place[0], place[1]] = fill[:, :, place[0], place[1]]
            return x

        falls = decision.logits[decision.label] - decision.each(places, covered, "windows")
        total, counts = np.zeros(model.shape), np.zeros(model.shape)
        for place, fall in zip(places, falls, strict=True):
            total[place] += fall
            counts[place] += 1
        return explained(
            decision,
            total / counts,
            unit="logit",
            signed=True,
            values={"windows": len(places)},
        )


def windows(shape: tuple[int, int], size: int, stride: int) -> list[tuple[slice, slice]]:
    """The places of a window, row by row; the last ones end at the edge, smaller if need be."""
    rows, columns = (
        [slice(at, min(at + size, side)) for at in range(0, _last(side, size, stride) + 1, stride)]
        for side in shape
    )
    return [(row, column) for row in rows for column in columns]


def _last(side: int, size: int, stride: int) -> int:
    """Where the last window begins: the first that reaches the edge."""
    return -(-max(side - size, 0) // stride) * stride
