"""Heatmaps of layer × head × query × key: one head, all heads of a layer, two arrays abreast."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from backend.tokens.explanation import TokenExplanation
from components.figures.blocks import Grid, grid
from components.figures.frame import color_axis, frame
from components.figures.palette import Scale, Theme, diverging, escape, positive, sequential
from components.figures.palette import shorten as _shorten
from components.figures.palette import theme as theme_of

MOST_LABELS = 60
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
    found = _grid(explanation, array, layer, head, max_tokens)
    figure = go.Figure(_trace(explanation, found, "coloraxis"))
    figure.update_layout(coloraxis=_color_axis(explanation, array, look, [found]))
    _axes(figure, explanation, found, MOST_LABELS)
    title = f"{_name(array)} · {_where(explanation, array, layer, head)}"
    return frame(figure, look, title, [_largest([found]), *_reduced(found)], _height(found))


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
    figure = make_subplots(
        rows=1, cols=2, horizontal_spacing=0.16, subplot_titles=[_name(name) for name in names]
    )
    _panel_titles(figure, look)
    notes: list[str] = []
    for column, array in enumerate(names, start=1):
        found = _grid(explanation, array, layer, head, max_tokens)
        axis = "coloraxis" if column == 1 else "coloraxis2"
        figure.add_trace(_trace(explanation, found, axis), row=1, col=column)
        place = {"x": 0.425 if column == 1 else 1.005, "xanchor": "left"}
        figure.update_layout({axis: _color_axis(explanation, array, look, [found], **place)})
        _axes(figure, explanation, found, 40, row=1, col=column)
        how = "" if head is not None else (", summed" if array != "attention" else ", averaged")
        notes.append(f"{_name(array)}{how}: {_largest([found]).lower()}")
    figure.update_yaxes(showticklabels=False, title=None, row=1, col=2)
    title = f"Attention and contributions · {_where(explanation, 'attention', layer, head, False)}"
    return frame(
        figure, look, title, ["; ".join(notes), *_reduced(found)], _height(found), panels=True
    )


def heads(
    explanation: TokenExplanation, array: str, *, layer: int, theme: str = "light"
) -> go.Figure:
    """All heads of one layer as small multiples on one colour scale.

    Raises:
        ValueError: no such array or layer.
    """
    look = theme_of(theme)
    count = _array(explanation, array, layer).shape[0]
    grids = [_grid(explanation, array, layer, head, SMALL) for head in range(count)]
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
        figure.add_trace(_trace(explanation, found, "coloraxis"), row=row + 1, col=column + 1)
    figure.update_xaxes(showticklabels=False, showgrid=False, ticks="")
    figure.update_yaxes(showticklabels=False, showgrid=False, ticks="", autorange="reversed")
    figure.update_layout(coloraxis=_color_axis(explanation, array, look, grids))
    title = (
        f"{_name(array)} · layer {layer + 1} of {explanation.arrays[array].shape[0]} · all heads"
    )
    notes = [f"{_largest(grids)}; rows are queries, columns keys", *_reduced(grids[0])]
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


def _array(explanation: TokenExplanation, array: str, layer: int) -> np.ndarray:
    """[heads, queries, keys] of a layer."""
    known = [name for name, values in explanation.arrays.items() if values.ndim == 4]
    if array not in known:
        raise ValueError(f"no array '{array}' of heads; there are: {', '.join(known) or 'none'}")
    values = explanation.arrays[array]
    if not 0 <= layer < values.shape[0]:
        raise ValueError(f"layer must be 0 to {values.shape[0] - 1} (got {layer})")
    chosen: np.ndarray = values[layer]
    return chosen


def _grid(
    explanation: TokenExplanation, array: str, layer: int, head: int | None, most: int
) -> Grid:
    values = _array(explanation, array, layer)
    if head is not None and not 0 <= head < len(values):
        raise ValueError(f"head must be 0 to {len(values) - 1} (got {head})")
    if head is not None:
        matrix = values[head]
    else:
        matrix = values.mean(axis=0) if array == "attention" else values.sum(axis=0)
    return grid(matrix, _queries(explanation, matrix), most)


def _queries(explanation: TokenExplanation, matrix: np.ndarray) -> np.ndarray:
    listed = explanation.values.get("queries")
    return np.arange(matrix.shape[0]) if listed is None else np.asarray(listed, dtype=np.int64)


def _trace(explanation: TokenExplanation, found: Grid, axis: str) -> go.Heatmap:
    return go.Heatmap(
        z=found.values,
        x=_places(explanation, found.columns),
        y=_places(explanation, _row_spans(explanation, found)),
        coloraxis=axis,
        hoverongaps=False,
        hovertemplate="%{y} reads %{x}<br>%{z:.4g}<extra></extra>",
        xgap=1 if len(found.columns) <= 40 else 0,
        ygap=1 if len(found.columns) <= 40 else 0,
    )


def _row_spans(explanation: TokenExplanation, found: Grid) -> tuple[tuple[int, int], ...]:
    listed = explanation.values.get("queries")
    if listed is None:
        return found.rows
    return tuple((int(listed[a]), int(listed[b - 1]) + 1) for a, b in found.rows)


def _token(explanation: TokenExplanation, position: int) -> str:
    begin, end = explanation.sequence.offsets[position]
    return explanation.sequence.text[begin:end]


def _places(explanation: TokenExplanation, spans: tuple[tuple[int, int], ...]) -> list[str]:
    """Categories of an axis: unique by the position, so that a repeated word stays apart."""
    return [f"{_label(explanation, span)} ({_positions(span)})" for span in spans]


def _positions(span: tuple[int, int]) -> str:
    return f"{span[0]}" if span[1] - span[0] == 1 else f"{span[0]}–{span[1] - 1}"


def _label(explanation: TokenExplanation, span: tuple[int, int], longest: float = 9.0) -> str:
    first = _shorten(_token(explanation, span[0]), longest)
    if span[1] - span[0] == 1:
        return escape(first)
    return escape(f"{first} …")


def _axes(
    figure: go.Figure, explanation: TokenExplanation, found: Grid, most: int, **where: int
) -> None:
    rows = _row_spans(explanation, found)
    for spans, update, extra in (
        (found.columns, figure.update_xaxes, {"tickangle": -90, "title": "key: the token read"}),
        (rows, figure.update_yaxes, {"autorange": "reversed", "title": "query: the reader"}),
    ):
        places, step = _places(explanation, spans), -(-len(spans) // most)
        update(
            type="category",
            tickvals=places[::step],
            ticktext=[_label(explanation, span, 6.0) for span in spans[::step]],
            tickfont={"size": 10 if len(spans) > 24 else 11},
            showgrid=False,
            ticks="",
            **extra,
            **where,
        )


def _color_axis(
    explanation: TokenExplanation, array: str, theme: Theme, grids: list[Grid], **bar: Any
) -> dict[str, Any]:
    largest = max(_peak(found) for found in grids) or 1.0
    if array == "attention":
        scale: Scale = sequential(theme)
        return color_axis(theme, scale, (0.0, largest), "attention probability", **bar)
    below = any(np.nanmin(found.values, initial=0.0) < 0 for found in grids)
    scale = diverging(theme) if below else positive(theme)
    return color_axis(theme, scale, (-largest if below else 0.0, largest), explanation.unit, **bar)


def _peak(found: Grid) -> float:
    return float(np.nanmax(np.abs(found.values), initial=0.0))


def _largest(grids: list[Grid]) -> str:
    return f"Largest {max(_peak(found) for found in grids):.3g}"


def _reduced(found: Grid) -> list[str]:
    if not found.reduced:
        return []
    queries, keys = found.rows[-1][1], found.columns[-1][1]
    return [
        f"{queries} × {keys} shown as {len(found.rows)} × {len(found.columns)}: neighbouring keys "
        "are summed, queries averaged"
    ]


def _name(array: str) -> str:
    return array.replace("_", " ").capitalize()


def _where(
    explanation: TokenExplanation, array: str, layer: int, head: int | None, how: bool = True
) -> str:
    layers, count = explanation.arrays[array].shape[:2]
    over = ("mean of " if array == "attention" else "sum of ") if how else ""
    which = f"{over}{count} heads" if head is None else f"head {head + 1} of {count}"
    return f"layer {layer + 1} of {layers} · {which}"


def _height(found: Grid) -> int:
    return min(720, max(150, 17 * len(found.rows))) + 160
