"""RISE: the mean of random masks, each weighted by what the model says of what it leaves."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.images.explanation import ImageExplanation, ImageTarget, Photos


class RiseParameters(Frozen):
    """How many masks, and what they look like."""

    masks: Annotated[int, Field(ge=10, le=8000)] = Field(
        400, title="Masks", description="Random masks, a pass each; the paper takes thousands."
    )
    cells: Annotated[int, Field(ge=2, le=32)] = Field(
        7,
        title="Cells",
        description="Cells a side of the coarse grid that a mask is enlarged from.",
    )
    keep: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.5, title="Kept", description="Chance of a cell to stay."
    )


class Rise(Explainer):
    """sum_i p_i M_i / (N keep): masks M of a coarse grid, enlarged and shifted at random.

    Arrays and values as `backend.images.explained` has them.
    """

    id = "rise"
    title = "RISE"
    family = "images"
    reference = Reference(
        authors="Petsiuk, Das, Saenko",
        title="RISE: Randomized Input Sampling for Explanation of Black-box Models",
        year=2018,
        link="https://arxiv.org/abs/1806.07421",
    )
    how_to_read = (
        "The class's mean probability while this pixel is seen. Only differences count: nowhere is "
        "it zero."
    )
    uses_seed = True
    Parameters = RiseParameters

    def explain(
        self, model: Any, input: Photos, target: ImageTarget, parameters: Any, run: Run
    ) -> ImageExplanation:
        """The map.

        Raises:
            InputError: there is no such picture or class.
        """
        from backend.images.explained import Decision, explained

        decision = Decision(model, input, target, run)
        seeds = run.numpy_generator().integers(2**63, size=parameters.masks)
        total = np.zeros(model.shape)
        kept: dict[int, Any] = {}

        def seen(i: int) -> Any:
            kept[i] = mask(model.shape, parameters, int(seeds[i]))
            return decision.x * kept[i].to(decision.x)

        for start in range(0, parameters.masks, model.at_once):
            part = range(start, min(start + model.at_once, parameters.masks))
            found = decision.each(
                part, seen, "random masks", of="probability", before=start, total=parameters.masks
            )
            for i, probability in zip(part, found, strict=True):
                total += probability * kept.pop(i).double().numpy()
        scale = parameters.masks * parameters.keep
        return explained(decision, total / scale, unit="mean probability when seen")


def mask(shape: tuple[int, int], parameters: RiseParameters, seed: int) -> Any:
    """[h, w] float32 from 0 to 1."""
    import torch

    generator = np.random.default_rng(seed)
    cells = parameters.cells
    grid = (generator.random((cells, cells)) < parameters.keep).astype(np.float32)
    size = [-(-side // cells) for side in shape]
    grown = torch.nn.functional.interpolate(
        torch.from_numpy(grid)[None, None],
        size=[(cells + 1) * one for one in size],
        mode="bilinear",
        align_corners=False,
    )[0, 0]
    top, left = (int(generator.integers(0, one)) for one in size)
    return grown[top : top + shape[0], left : left + shape[1]]
