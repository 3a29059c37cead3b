"""How far each method's map stays when its seed, or a little noise on the picture, changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from backend.explanation import Comparison, Explanation, Request
from backend.images.cells import CELLS
from backend.images.explanation import ImageTarget, Photos
from backend.images.noise import RADIUS, STEPS, noisy
from backend.images.sensitivity import max_sensitivity
from backend.stability import Stability
from components import stable
from components.agree import Ranked
from components.compare import Item
from components.figures.graph_parts import percent
from components.session import engine


def panel(opened: Comparison, photos: Photos, done: Sequence[Item], prefix: str) -> None:
    """Explain again with other seeds and on noisy copies of the picture, and compare."""
    stable.panel(done, Shaken(opened, photos), opened.key(), prefix, MOVED)


def moved(runs: Sequence[Explanation]) -> str:
    """Max-sensitivity of the first map over the others, and how many these are; "" of none."""
    first, *others = (run.arrays["scores"] for run in runs)
    found = max_sensitivity(first, others)
    if found is None:
        return ""
    return f"{found:.3f} of {len(others)} {'copy' if len(others) == 1 else 'copies'}"


MOVED = stable.Beside(
    "max-sensitivity",
    moved,
    "Max-sensitivity (Yeh et al., 2019): how far the map of a noisy copy is from that of the "
    "picture, as a share of the map's own length, pixel by pixel; the largest over the copies, so "
    "more copies can only raise it. 0: the map does not move; a map that ignores the picture has "
    "that too.",
)


def _names(_: Explanation) -> list[str]:
    return [f"row {i // CELLS + 1}, column {i % CELLS + 1}" for i in range(CELLS**2)]


class Shaken:
    """The same picture with a little noise."""

    about = (
        f"Noise: each pixel up to {STEPS} of 255 steps ({percent(RADIUS)}) higher or lower, hardly "
        f"seen. Maps are compared by the means over {CELLS} × {CELLS} cells."
    )
    change = "noise"
    share = 0.1
    ranked = Ranked("cell", _names)

    def __init__(self, opened: Comparison, photos: Photos) -> None:
        self.target = ImageTarget.model_validate(opened.target)
        self.photos = photos

    def shaken(self, item: Item, run: int) -> Request:
        request = item.request
        assert item.explanation is not None  # noqa: S101  it is done
        digest = _noisy(request.input, self.target.image, run, self.photos, request.family)
        label = int(item.explanation.values["label"])
        return request.moved(digest, ImageTarget(label=label).model_dump(mode="json"))

    def aligned(self, found: Sequence[Explanation]) -> list[np.ndarray]:
        return [one.compared() for one in found]

    def drawn(self, first: Item, runs: Sequence[Explanation], measured: Stability) -> None:
        """Nothing more: the bars of mean and spread name the cells."""


@st.cache_resource(max_entries=64, show_spinner=False)
def _noisy(whole: str, image: int, seed: int, _photos: Photos, family: str) -> str:  # noqa: ARG001
    """Digest of a noisy copy, stored."""
    return engine().put_input(noisy(_photos, image, seed), family)
