"""Agreement of the methods as a matrix with its numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import plotly.graph_objects as go

from components.figures.frame import color_axis, frame, numbered
from components.figures.palette import (
    Theme,
    diverging,
    escape,
    ink_on,
    on_scale,
    sequential,
    shorten,
)
from components.figures.palette import theme as theme_of

MOST_ENDS = 6
"""Methods up to which a cell has room for its interval; the pointer always shows it."""


def agreement(
    names: Sequence[str],
    matrix: np.ndarray,
    theme: str = "light",
    title: str = "Agreement",
    ends: tuple[np.ndarray, np.ndarray] | None = None,
) -> go.Figure:
    """A matrix of pairwise agreement with its numbers; NaN is grey with a dash.

    A cell can be clicked: its point has the two names as `customdata`.

    Args:
        matrix: [M, M], -1 to 1, or 0 to 1 where none of it is negative and it is no correlation.
        ends: [M, M] lower and upper ends of intervals, NaN where there is none.
    """
    look = theme_of(theme)
    values = np.asarray(matrix, dtype=np.float64)
    signed = "correlation" in title.lower() or bool((values[np.isfinite(values)] < 0).any())
    scale = diverging(look) if signed else sequential(look)
    low = -1.0 if signed else 0.0
    places = list(range(len(names)))
    figure = go.Figure()
    figure.add_heatmap(
        z=values.astype(np.float32),
        x=places,
        y=places,
        coloraxis="coloraxis",
        hoverinfo="skip",
        xgap=2,
        ygap=2,
    )
    limits = ends or (np.full_like(values, np.nan), np.full_like(values, np.nan))
    _numbers(figure, names, values, limits, lambda v: on_scale((v - low) / (1 - low), scale), look)
    shown = [escape(shorten(name, 16)) for name in names]
    numbered(figure, shown, shown)
    bar = color_axis(look, scale, (low, 1.0), title)
    figure.update_layout(coloraxis=bar, dragmode=False, clickmode="event+select")
    row = 56 if ends is not None and len(names) <= MOST_ENDS else 46
    done = frame(figure, look, title, [], row * len(names) + 130)
    return done.update_layout(plot_bgcolor=look.neutral)


def _numbers(
    figure: go.Figure,
    names: Sequence[str],
    values: np.ndarray,
    ends: tuple[np.ndarray, np.ndarray],
    shade: Callable[[float], str],
    theme: Theme,
) -> None:
    """The cells' numbers, on invisible markers: a heatmap alone answers no click."""
    places = range(len(names))
    cells = [(i, j, float(values[i, j])) for i in places for j in places]
    shades = [theme.neutral if math.isnan(v) else shade(v) for _, _, v in cells]
    figure.add_scatter(
        x=[j for _, j, _ in cells],
        y=[i for i, _, _ in cells],
        mode="markers+text",
        marker={"size": 30, "opacity": 0, "symbol": "square"},
        text=[
            _number(v) + (_below(ends, i, j) if len(names) <= MOST_ENDS else "")
            for i, j, v in cells
        ],
        textfont={"color": [ink_on(s) for s in shades], "size": 13 if len(names) < 8 else 11},
        customdata=[[names[i], names[j]] for i, j, _ in cells],
        hovertext=[
            f"{escape(names[i])} and {escape(names[j])}: "
            + ("not defined" if math.isnan(v) else f"{v:.3f}{_between(ends, i, j)}")
            for i, j, v in cells
        ],
        hovertemplate="%{hovertext}<extra></extra>",
        unselected={"marker": {"opacity": 0}},
        selected={"marker": {"opacity": 0}},
        showlegend=False,
    )


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f}".replace("-", "−")


def _below(ends: tuple[np.ndarray, np.ndarray], i: int, j: int) -> str:
    """The interval of two different methods under their number."""
    low, high = (float(end[i, j]) for end in ends)
    if i == j or math.isnan(low) or math.isnan(high):
        return ""
    return f'<br><span style="font-size:9px">{_number(low)} to {_number(high)}</span>'


def _between(ends: tuple[np.ndarray, np.ndarray], i: int, j: int) -> str:
    low, high = (float(end[i, j]) for end in ends)
    if math.isnan(low) or math.isnan(high):
        return ""
    return f"<br>95 % interval {_number(low)} to {_number(high)}"
