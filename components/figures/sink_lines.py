"""What the plots of a sink share: colours of lines, axes of layers, the legend's place."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go

from components.figures.curves import LINES, LINES_DARK
from components.figures.palette import Theme

BELOW = {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"}
"""A legend under the plot."""


def palette(look: Theme) -> tuple[str, ...]:
    """Colours of lines, safe for colour-blind readers."""
    return LINES if look.name == "light" else LINES_DARK


def per_layer(figure: go.Figure, values: np.ndarray, name: str, line: dict[str, Any]) -> None:
    """One line over layers."""
    figure.add_scatter(
        x=list(range(1, len(values) + 1)),
        y=values.astype(np.float32),
        mode="lines+markers",
        marker={"size": 5, "color": line["color"]},
        name=name,
        showlegend=True,
        line=line,
        hovertemplate=f"layer %{{x}}: {name} %{{y:.3f}}<extra></extra>",
    )


def layer_axis(figure: go.Figure, layers: int) -> None:
    """Whole numbers, at most about fifteen of them."""
    step = math.ceil(layers / 15)
    ticks = list(range(1, layers + 1, step))
    figure.update_xaxes(
        title="layer",
        tickvals=ticks,
        ticktext=[str(tick) for tick in ticks],
        tickangle=0,
        range=[0.5, layers + 0.5],
    )


def average(values: np.ndarray) -> np.ndarray:
    """Mean over the first axis without NaN; NaN where nothing is known."""
    known = np.isfinite(values)
    totals = np.where(known, values, 0.0).sum(axis=0, dtype=np.float64)
    result = np.full(totals.shape, np.nan)
    np.divide(totals, known.sum(axis=0), out=result, where=known.any(axis=0))
    return result
