"""One figure of a view."""

from __future__ import annotations

import dataclasses

import plotly.graph_objects as go


@dataclasses.dataclass(frozen=True, eq=False)
class Plot:
    """A figure, and the sentence that says how to read it."""

    title: str
    figure: go.Figure
    how_to_read: str
