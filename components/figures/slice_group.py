"""Slices beside something else: known groups, another slicing, an intervention."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from components.figures.frame import color_axis, frame, numbered
from components.figures.palette import Theme, escape, ink_on, on_scale, sequential, shorten
from components.figures.palette import theme as theme_of
from components.figures.sink_lines import palette

MOST = 20


def crossed(
    counts: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
    notes: Sequence[str] = (),
    theme: str = "light",
    axes: tuple[str, str] = ("", ""),
) -> go.Figure:
    """A table of counts, coloured by the share of its row.

    Args:
        counts: [rows, columns], whole numbers.
        axes: titles of the columns' axis and of the rows' axis.
    """
    look = theme_of(theme)
    totals = counts.sum(axis=1, keepdims=True)
    shares = counts / np.maximum(totals, 1)
    figure = go.Figure()
    figure.add_heatmap(z=shares, coloraxis="coloraxis", xgap=1, ygap=1, hoverinfo="skip")
    scale = sequential(look)
    cells = [(i, j) for i in range(counts.shape[0]) for j in range(counts.shape[1])]
    figure.add_scatter(
        x=[j for _, j in cells],
        y=[i for i, _ in cells],
        mode="text",
        text=[f"{counts[c]}" if counts[c] else "" for c in cells],
        textfont={
            "color": [ink_on(on_scale(float(shares[c]), scale)) for c in cells],
            "size": 11,
        },
        hovertext=[
            f"{escape(rows[i])}, {escape(columns[j])}: {counts[i, j]} ({shares[i, j]:.0%})"
            for i, j in cells
        ],
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
    )
    numbered(
        figure,
        [escape(shorten(name, 9)) for name in columns],
        [escape(shorten(name, 16)) for name in rows],
        tilt=0 if len(columns) <= 12 else -35,
    )
    figure.update_xaxes(title=axes[0])
    figure.update_yaxes(title=axes[1])
    bar = color_axis(look, scale, (0.0, 1.0), "share of the row", tickformat=".0%")
    figure.update_layout(coloraxis=bar)
    return frame(figure, look, title, list(notes), 27 * max(len(rows), 3) + 110)


def gains(
    names: Sequence[str],
    means: np.ndarray,
    ends: np.ndarray,
    title: str,
    notes: Sequence[str] = (),
    theme: str = "light",
) -> go.Figure:
    """Task accuracy won by setting one concept to its true value, largest first.

    Args:
        means: [k] points of accuracy, 0 to 1. ends: [k, 2] of the 95 % interval.
    """
    look = theme_of(theme)
    order = np.argsort(-means, kind="stable")[:MOST]
    figure = go.Figure()
    figure.add_bar(
        x=means[order].tolist(),
        y=list(range(len(order))),
        orientation="h",
        width=0.7,
        marker={"color": [_shade(float(means[j]), look) for j in order.tolist()]},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": np.maximum(ends[order, 1] - means[order], 0).tolist(),
            "arrayminus": np.maximum(means[order] - ends[order, 0], 0).tolist(),
            "color": look.muted,
            "thickness": 1.4,
            "width": 3,
        },
        hovertext=[
            f"{escape(names[j])}: {means[j]:+.1%} [{ends[j, 0]:+.1%}, {ends[j, 1]:+.1%}]"
            for j in order.tolist()
        ],
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
    )
    figure.update_yaxes(
        tickvals=list(range(len(order))),
        ticktext=[escape(shorten(names[j], 16)) for j in order.tolist()],
        autorange="reversed",
        showgrid=False,
    )
    figure.update_xaxes(title="change of task accuracy", tickformat="+.0%", zeroline=True)
    figure.update_xaxes(zerolinecolor=look.muted, zerolinewidth=1)
    if not ends[order].any():
        figure.update_xaxes(range=[-0.1, 0.1])  # plotly's own would end far from 0
    return frame(figure, look, title, list(notes), 25 * max(len(order), 3) + 70)


def _shade(value: float, look: Theme) -> str:
    return palette(look)[0] if value >= 0 else palette(look)[1]
