"""What the class gets while pixels are deleted and inserted, most important first."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from backend.images.explanation import ImageExplanation
from components.figures.lines import Line, Panel, panels
from components.figures.palette import theme as theme_of

TITLES = {
    "deletion": "Deletion: the highest turn grey first",
    "insertion": "Insertion: the highest are uncovered first",
}
RANDOM = "random"


def curves(found: Mapping[str, ImageExplanation], theme: str = "light") -> go.Figure:
    """A line a method in each panel; random maps are grey.

    Args:
        found: results of the faithfulness step by method; the random one is named `random`.
    """
    drawn = [
        Panel(
            title=title,
            x_title="share of the pixels",
            y_title="probability of the class",
            lines=tuple(
                Line(
                    name,
                    one.arrays["fractions"],
                    one.arrays[f"curve/pixels/{kind}"],
                    muted=name == RANDOM,
                )
                for name, one in found.items()
            ),
        )
        for kind, title in TITLES.items()
    ]
    notes = [
        "Such pictures occur in no data, so only the order of the methods counts.",
    ]
    return panels(drawn, theme_of(theme), "", notes, height=340)
