"""The consensus of several maps of one picture."""

from __future__ import annotations

import dataclasses
from typing import Any, cast

import numpy as np

from backend import consensus
from backend.bundle import Arrays
from backend.explainer import Run
from backend.images.explanation import ImageExplanation, ImageTarget, Photos

_KEPT = (
    "kind", "picture", "image", "label", "predicted", "probability", "class_names", "top",
    "preprocessing", "remarks", "architecture", "stages", "height", "width",
)  # fmt: skip


class ImageConsensus(consensus.Consensus):
    """Mean ranking of pixels.

    Arrays and values as `backend.images.explained` and `backend.consensus.Consensus` have them.
    """

    family = "images"

    def told(
        self,
        input: Photos,
        target: ImageTarget,
        run: Run,
        arrays: dict[str, np.ndarray],
        values: dict[str, Any],
    ) -> ImageExplanation:
        first = cast(ImageExplanation, run.members[0])
        kept: Arrays = {n: first.arrays[n] for n in ("seen", "mask") if n in first.arrays}
        return dataclasses.replace(
            first,
            arrays={**kept, **arrays},
            values={name: first.values[name] for name in _KEPT} | values,
            notes=(),
            provenance=None,
            unit=consensus.UNIT,
            signed=False,
        )
