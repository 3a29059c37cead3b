"""Heatmaps of layer × head × query × key: one head, all heads of a layer, two arrays abreast."""

from __future__ import annotations

import math

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from backend.tokens.explanation import TokenExplanation
from components.figures import maps
from components.figures.frame import frame
from components.figures.palette import Theme
from components.figures.palette import theme as theme_of

MOST_LABELS = 60
ABOVE = {"orientation": "h", "xanchor": "left", "y": 1.0, "yanchor": "bottom", "thickness": 9}
"""A colour bar on top of its panel."""
SMALL = 40
"""Rows and columns at most of one small multiple."""


def heatmap(
    explanation: TokenExplanation,
    array: str,
    *,
    layer: int,
    head: int | None = None,
    theme: str = "light",
    max_tokens: int = 128,
) -> go.Figure:
    """One layer's query × key matrix.

    Args:
        array: a [layers, heads, queries, keys] array of the explanation.
        layer, head: from 0; head None sums contributions and averages attention over the heads.

    Raises:
        ValueError: no such array, layer or head.
    """
    look = theme_of(theme)
    found = maps.head_grid(explanation, array, layer, head, max_tokens)
    figure = go.Figure()
    maps.draw(figure, explanation, found, "coloraxis", look)
    figure.update_layout(coloraxis=maps.colour_scale(explanation, array, look, [found]))
    maps.axes(figure, explanation, found, MOST_LABELS)
    title = f"{maps.name(array)} · {maps.where(explanation, array, layer, head)}"
    return frame(
        figure, look, title, [maps.largest([found]), *maps.remarks(found)], maps.height(found)
    )


def pair(
    explanation: TokenExplanation,
    layer: int,
    head: int | None = None,
    theme: str = "light",
    max_tokens: int = 96,
) -> go.Figure:
    """Attention beside contributions of one layer, each with its own legend and unit.

    Raises:
        ValueError: the explanation lacks one of the two, or no such layer or head.
    """
    look = theme_of(theme)
    names = ("attention", "contributions")
    figure = make_subplots(rows=1, cols=2, horizontal_spacing=0.05)
    notes: list[str] = []
    for column, array in enumerate(names, start=1):
        found = maps.head_grid(explanation, array, layer, head, max_tokens)
        axis = "coloraxis" if column == 1 else "coloraxis2"
        maps.draw(figure, explanation, found, axis, look, row=1, col=column)
        start, stop = figure.layout["xaxis" if column == 1 else "xaxis2"].domain
        bar = {**ABOVE, "x": start, "len": stop - start}
        scale = maps.colour_scale(explanation, array, look, [found], **bar)
        scale["colorbar"]["title"]["side"] = "top"
        figure.update_layout({axis: scale})
        maps.axes(figure, explanation, found, 36, row=1, col=column)
        how = "" if head is not None else (", summed" if array != "attention" else ", averaged")
        notes.append(f"{maps.name(array)}{how}: {maps.largest([found]).lower()}")
    figure.update_yaxes(showticklabels=False, title=None, row=1, col=2)
    title = "Attention and contributions"
    notes = [
        maps.where(explanation, "attention", layer, head, how=False),
        *notes,
        *maps.remarks(found),
    ]
    done = frame(figure, look, title, notes, maps.height(found) + 44)
    return done.update_layout(margin_t=done.layout.margin.t + 44)


def heads(
    explanation: TokenExplanation, array: str, *, layer: int, theme: str = "light"
) -> go.Figure:
    """All heads of one layer as small multiples on one colour scale.

    Raises:
        ValueError: no such array or layer.
    """
    look = theme_of(theme)
    count = maps.head_arrays(explanation, array, layer).shape[0]
    grids = [maps.head_grid(explanation, array, layer, head, SMALL) for head in range(count)]
    tall = len(grids[0].rows) / max(1, len(grids[0].columns))
    columns = _columns(count, tall)
    lines = math.ceil(count / columns)
    figure = make_subplots(
        rows=lines,
        cols=columns,
        subplot_titles=[f"head {head + 1}" for head in range(count)],
        horizontal_spacing=0.1 / columns,
        vertical_spacing=min(0.3 / lines, 0.12),
    )
    _panel_titles(figure, look)
    for head, found in enumerate(grids):
        row, column = divmod(head, columns)
        maps.draw(figure, explanation, found, "coloraxis", look, row=row + 1, col=column + 1)
    figure.update_xaxes(showticklabels=False, showgrid=False, ticks="")
    figure.update_yaxes(showticklabels=False, showgrid=False, ticks="", autorange="reversed")
    figure.update_layout(coloraxis=maps.colour_scale(explanation, array, look, grids))
    layers = explanation.arrays[array].shape[0]
    title = f"{maps.name(array)} · layer {layer + 1} of {layers} · all heads"
    figure.update_traces(xgap=0, ygap=0)
    notes = [f"{maps.largest(grids)}; rows are queries, columns keys", *maps.remarks(grids[0])]
    return frame(
        figure, look, title, notes, round(lines * max(90, 900 / columns * tall * 0.8)) + 40
    )


def _columns(count: int, tall: float) -> int:
    """Panels a row: about as wide as high in all, with few places left empty at the end."""
    ideal = math.sqrt(count * (1.4 if tall > 0.4 else 0.5))
    near = range(max(1, math.floor(ideal) - 1), min(count, math.ceil(ideal) + 1) + 1)
    return min(near, key=lambda columns: (-count % columns, abs(columns - ideal)))


def _panel_titles(figure: go.Figure, theme: Theme) -> None:
    for note in figure.layout.annotations:
        left = note.x - _domain_width(figure) / 2
        note.update(x=left, xanchor="left", font={"size": 12, "color": theme.muted})


def _domain_width(figure: go.Figure) -> float:
    start, stop = figure.layout.xaxis.domain
    return float(stop - start)
