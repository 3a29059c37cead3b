"""Query × key matrices of heads, ready to be drawn: labels, colours, remarks."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from backend.tokens.explanation import TokenExplanation
from components.figures.blocks import Grid, grid
from components.figures.frame import color_axis
from components.figures.palette import (
    Scale,
    Theme,
    diverging,
    escape,
    positive,
    sequential,
    shorten,
)


def head_arrays(explanation: TokenExplanation, array: str, layer: int) -> np.ndarray:
    """[heads, queries, keys] of a layer.

    Raises:
        ValueError: no such array or layer.
    """
    known = [name for name, values in explanation.arrays.items() if values.ndim == 4]
    if array not in known:
        raise ValueError(f"no array '{array}' of heads; there are: {', '.join(known) or 'none'}")
    values = explanation.arrays[array]
    if not 0 <= layer < values.shape[0]:
        raise ValueError(f"layer must be 0 to {values.shape[0] - 1} (got {layer})")
    chosen: np.ndarray = values[layer]
    return chosen


def head_grid(
    explanation: TokenExplanation, array: str, layer: int, head: int | None, most: int
) -> Grid:
    """One head's matrix, or that of all heads: attention averaged, all else summed.

    Raises:
        ValueError: no such array, layer or head.
    """
    values = head_arrays(explanation, array, layer)
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


def draw(
    figure: go.Figure,
    explanation: TokenExplanation,
    found: Grid,
    axis: str,
    theme: Theme,
    **where: int,
) -> None:
    """The matrix, and in grey what the method left undefined."""
    x = _places(explanation, found.columns)
    y = _places(explanation, _row_spans(explanation, found))
    gap = 1 if len(found.columns) <= 40 else 0
    figure.add_heatmap(
        z=found.values,
        x=x,
        y=y,
        coloraxis=axis,
        hoverongaps=False,
        hovertemplate="%{y} reads %{x}<br>%{z:.4g}<extra></extra>",
        xgap=gap,
        ygap=gap,
        **where,
    )
    if found.undefined.any():
        figure.add_heatmap(
            z=np.where(found.undefined, 0.0, np.nan).astype(np.float32),
            x=x,
            y=y,
            colorscale=[[0, theme.neutral], [1, theme.neutral]],
            zmin=-1,
            zmax=1,
            showscale=False,
            hoverongaps=False,
            hovertemplate="%{y} reads %{x}<br>not defined<extra></extra>",
            xgap=gap,
            ygap=gap,
            **where,
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
    first = shorten(_token(explanation, span[0]), longest)
    if span[1] - span[0] == 1:
        return escape(first)
    return escape(f"{first} …")


def axes(
    figure: go.Figure, explanation: TokenExplanation, found: Grid, most: int, **where: int
) -> None:
    """Label both axes with tokens, at most `most` labels each."""
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


def colour_scale(
    explanation: TokenExplanation, array: str, theme: Theme, grids: list[Grid], **bar: Any
) -> dict[str, Any]:
    """One colour axis for these grids: attention from 0, scores around 0 where any is below."""
    largest = max(_peak(found) for found in grids) or 1.0
    if array == "attention":
        scale: Scale = sequential(theme)
        return color_axis(theme, scale, (0.0, largest), "attention probability", **bar)
    below = any(np.nanmin(found.values, initial=0.0) < 0 for found in grids)
    scale = diverging(theme) if below else positive(theme)
    return color_axis(theme, scale, (-largest if below else 0.0, largest), explanation.unit, **bar)


def _peak(found: Grid) -> float:
    return float(np.nanmax(np.abs(found.values), initial=0.0))


def largest(grids: list[Grid]) -> str:
    """The raw maximum, in words."""
    return f"Largest {max(_peak(found) for found in grids):.3g}"


def remarks(found: Grid) -> list[str]:
    """What the picture leaves out or greys out."""
    remarks = []
    if found.reduced:
        queries, keys = found.rows[-1][1], found.columns[-1][1]
        remarks.append(
            f"{queries} × {keys} shown as {len(found.rows)} × {len(found.columns)}: neighbouring "
            "keys are summed, queries averaged"
        )
    if found.undefined.any():
        remarks.append("Grey: not defined")
    return remarks


def name(array: str) -> str:
    """An array's name as a title."""
    return array.replace("_", " ").capitalize()


def where(
    explanation: TokenExplanation, array: str, layer: int, head: int | None, *, how: bool = True
) -> str:
    """Which layer and heads, counted from 1."""
    layers, count = explanation.arrays[array].shape[:2]
    over = ("mean of " if array == "attention" else "sum of ") if how else ""
    which = f"{over}{count} heads" if head is None else f"head {head + 1} of {count}"
    return f"layer {layer + 1} of {layers} · {which}"


def height(found: Grid) -> int:
    """Pixels for as many rows as there are."""
    return min(720, max(150, 17 * len(found.rows))) + 160
