"""Colours and widths of scores on a graph: few levels, so that many edges share one line."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from backend.graphs.explanation import GraphExplanation
from components.figures.frame import color_axis
from components.figures.labels import shorten
from components.figures.palette import Scale, Theme, contrast, diverging, on_scale, positive

LEVELS = 24
"""From zero to the end of the scale; half as many on each side of a signed one."""
THIN, WIDE = 1.6, 7.0
"""Pixels of the weakest and the strongest score."""
WIDE_MANY = 4.5
MANY = 150
"""Edges from which on lines are thinner."""
UNIT_EM = 26.0
BELOW = {
    "orientation": "h",
    "x": 0,
    "xanchor": "left",
    "y": -0.01,
    "yanchor": "top",
    "len": 0.6,
    "thickness": 9,
}
BAR = 56
"""Pixels that the colour bar takes below the drawing."""


@dataclasses.dataclass(frozen=True)
class Ink:
    """How scores up to `limit` are drawn."""

    limit: float
    signed: bool
    theme: Theme
    wide: float = WIDE

    @classmethod
    def of(cls, found: GraphExplanation, theme: Theme, limit: float | None, edges: int) -> Ink:
        """The ink of an explanation.

        Args:
            limit: end of the scale; None is the largest score.
            edges: how many edges are drawn.
        """
        signed = bool(found.values["signed"]) or bool((found.arrays["scores"] < 0).any())
        end = largest(found) if limit is None else float(limit)
        end = end if math.isfinite(end) and end > 0 else 0.0
        return cls(end, signed, theme, WIDE if edges <= MANY else WIDE_MANY)

    @property
    def scale(self) -> Scale:
        """From the low end of the colour bar to the high one."""
        return diverging(self.theme) if self.signed else positive(self.theme)

    def levels(self, scores: np.ndarray) -> np.ndarray:
        """[...] int: 0 for a score of 0 or none, up to the number of levels; negative below 0."""
        if not self.limit:
            return np.zeros(np.shape(scores), dtype=np.int64)
        part = np.nan_to_num(np.asarray(scores, dtype=np.float64) / self.limit)
        steps = np.ceil(np.abs(np.clip(part, -1, 1)) * self._count)
        return np.asarray(np.sign(part) * steps, dtype=np.int64)

    def colour(self, level: int) -> str:
        """The colour of a level."""
        part = level / self._count
        return on_scale(0.5 + 0.5 * part if self.signed else max(0.0, part), self.scale)

    def width(self, level: int) -> float:
        """Pixels of a level's line."""
        return round(THIN + (self.wide - THIN) * abs(level) / self._count, 2)

    def pale(self, level: int) -> bool:
        """Whether a level's colour hardly shows on the paper."""
        return contrast(self.colour(level), self.theme.paper) < 1.7

    def axis(self, unit: str) -> dict[str, Any]:
        """The colour axis; the ends of its bar are exact."""
        end = self.limit or 1.0
        places = [-end, 0.0, end] if self.signed else [0.0, end / 2, end]
        bar = {**BELOW, "tickvals": places, "ticktext": [number(place) for place in places]}
        axis = color_axis(
            self.theme, self.scale, (places[0], end), shorten(unit or "score", UNIT_EM), **bar
        )
        axis["colorbar"]["title"]["side"] = "top"
        return axis

    @property
    def _count(self) -> int:
        return LEVELS // 2 if self.signed else LEVELS


def largest(found: GraphExplanation) -> float:
    """The size of the largest score of an edge, of a node where no edge has one; 0 without any."""
    edges, nodes = found.arrays["scores"], found.arrays["node_scores"]
    for scores in (edges, nodes):
        finite = np.abs(scores[np.isfinite(scores)])
        if finite.size and finite.max() > 0:
            return float(finite.max())
    return 0.0


def number(value: float) -> str:
    """A score as it is written: three digits, a real minus."""
    if not math.isfinite(value):
        return "–"
    return f"{value:.3g}".replace("-", "−")
