"""Pictures of a figure that is drawn without a browser."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from PIL import Image

from components.figures.matplot_page import Page


def image(page: Page, axes: Axes, given: Any) -> None:  # noqa: ARG001
    """A picture whose pixels stand at whole numbers, the first row on top."""
    data = base64.b64decode(str(given.source).partition(",")[2])
    with Image.open(io.BytesIO(data), formats=("PNG",)) as opened:
        axes.imshow(np.asarray(opened), interpolation="nearest", aspect="auto")
