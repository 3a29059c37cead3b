"""How far each method's map stays when its seed, or a little noise on the picture, changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from backend.explanation import Comparison, Explanation, Request
from backend.images.cells import CELLS
from backend.images.explanation import ImageTarget, Photos
from backend.images.noise import NOISE, noisy
from backend.stability import Stability
from components import stable
from components.agree import Ranked
from components.compare import Item
from components.session import engine


def panel(opened: Comparison, photos: Photos, done: Sequence[Item], prefix: str) -> None:
    """Explain again with other seeds and on noisy copies of the picture, and compare."""
    stable.panel(done, Shaken(opened, photos), opened.key(), prefix)


def _names(_: Explanation) -> list[str]:
    return [f"row {i // CELLS + 1}, column {i % CELLS + 1}" for i in range(CELLS**2)]


class Shaken:
    """The same picture with a little noise."""

    about = (
        f"Noise: Gaussian, {NOISE:g} of 256 steps, hardly seen. Maps are compared by the means "
        f"over {CELLS} × {CELLS} cells."
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
