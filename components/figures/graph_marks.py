"""Marks that graphs and molecules share: lines by level, halos, what is clicked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from backend.graphs.naming import edge_names, node_names
from components.figures.graph_ink import MANY, Ink
from components.figures.graph_look import Sheet, hover
from components.figures.graph_shapes import joined

FAINT = 0.25
"""Opacity of what is not in the key part."""
TRUTH = "known reason"
STILL: dict[str, Any] = {
    "meta": "targets",
    "selected": {"marker": {"opacity": 0}},
    "unselected": {"marker": {"opacity": 0}},
}
"""A picked point changes nothing by itself: the page draws anew."""


def line(
    figure: go.Figure, lines: Sequence[np.ndarray], colour: str, width: float, **more: Any
) -> None:
    """Several lines of one look as one trace."""
    if not lines:
        return
    x, y = joined(list(lines))
    figure.add_scatter(
        x=x,
        y=y,
        mode="lines",
        line={"color": colour, "width": width, **more.pop("line", {})},
        hoverinfo="skip",
        **{"showlegend": False, **more},
    )


def scored(figure: go.Figure, on: Sheet) -> None:
    """The edges by score; what is pale lies below a grey line that shows every edge."""
    scores, lines = on.found.arrays["scores"][on.picked.edges], on.ways.lines
    many = len(lines) > MANY
    levels(figure, on, lines, scores, pale=True)
    line(figure, lines, on.theme.nan_hatch, 0.6 if many else 1.0, opacity=0.6 if many else 1.0)
    levels(figure, on, lines, scores, pale=False)


def halo(figure: go.Figure, on: Sheet, lines: Sequence[np.ndarray], width: float) -> None:
    """A golden track along the edges of the known reason, and one in ink along the marked edge."""
    truth = on.found.arrays.get("truth")
    if truth is not None:
        known = [lines[j] for j in np.flatnonzero(truth[on.picked.edges]).tolist()]
        more = {"name": TRUTH, "showlegend": bool(known)}
        line(figure, known, on.theme.gold, width + 5.5, **more)
        line(figure, known, on.theme.paper, width + 2.5)
    here = np.flatnonzero(on.picked.edges == on.marked).tolist() if on.marked is not None else []
    for j in here:
        line(figure, [lines[j]], on.theme.accent, width + 6.5, name="picked", showlegend=True)
        line(figure, [lines[j]], on.theme.paper, width + 2.5)


def levels(
    figure: go.Figure,
    on: Sheet,
    lines: Sequence[np.ndarray],
    scores: np.ndarray,
    widths: tuple[float, float] | None = None,
    pale: bool | None = None,
) -> None:
    """Lines in the colour and width of their scores, the strongest on top.

    Args:
        widths: of the weakest and the strongest; None is as the ink has it.
        pale: only colours that hardly show on the paper, or only others.
    """
    ink = on.ink
    found = ink.levels(scores)
    for level in _ascending(found):
        if pale is not None and ink.pale(level) != pale:
            continue
        share = ink.width(level) if widths is None else _between(widths, ink, level)
        for faint in (True, False):
            here = np.flatnonzero((found == level) & (on.faint == faint)).tolist()
            opacity = FAINT if faint else 1.0
            line(figure, [lines[j] for j in here], ink.colour(level), share, opacity=opacity)


def areas(
    figure: go.Figure, shapes: Sequence[np.ndarray], colours: Sequence[str], opacity: float = 1.0
) -> None:
    """Filled outlines, those of one colour as one trace."""
    for colour in dict.fromkeys(colours):
        same = [s for s, c in zip(shapes, colours, strict=True) if c == colour]
        x, y = joined([np.vstack([shape, shape[:1]]) for shape in same])
        figure.add_scatter(
            x=x,
            y=y,
            mode="lines",
            fill="toself",
            fillcolor=colour,
            line={"width": 0, "color": colour},
            opacity=opacity,
            hoverinfo="skip",
            showlegend=False,
        )


def clicks(figure: go.Figure, on: Sheet, size: float) -> None:
    """Invisible marks at each edge's middle and each node: hover and click.

    `customdata` of a point is ["edge", number within the part] or ["node", number].

    Args:
        size: pixels of a node.
    """
    arrays, values = on.found.arrays, on.found.values
    names, nodes = edge_names(on.found), node_names(on.found)
    edges = on.picked.edges.tolist()
    scores = arrays["scores"]
    figure.add_scatter(
        x=on.ways.middles[:, 0].astype(np.float32),
        y=on.ways.middles[:, 1].astype(np.float32),
        mode="markers",
        marker={
            "size": 16,
            "opacity": 0,
            # The colour bar is that of this trace.
            "color": scores[on.picked.edges],
            "coloraxis": "coloraxis",
        },
        customdata=[["edge", i] for i in edges],
        hovertext=[hover(names[i], [("score", float(scores[i]))], _edge(on, i)) for i in edges],
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
        **STILL,
    )
    shown = on.picked.nodes.tolist()
    figure.add_scatter(
        x=on.at[on.picked.nodes, 0],
        y=on.at[on.picked.nodes, 1],
        mode="markers",
        marker={"size": max(size, 14), "opacity": 0},
        customdata=[["node", i] for i in shown],
        hovertext=[
            hover(
                nodes[i],
                [("score", float(arrays["node_scores"][i]))],
                ["the explained node"] if i == values["target"] else [],
            )
            for i in shown
        ],
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
        **STILL,
    )


def _edge(on: Sheet, i: int) -> list[str]:
    arrays = on.found.arrays
    said = []
    if "key" in arrays:
        inside = np.flatnonzero(arrays["key"][:, i])
        said.append(f"key part from scale {inside[0] + 1} on" if len(inside) else "in no key part")
    if "truth" in arrays and arrays["truth"][i]:
        said.append("of the known reason")
    return said


def _ascending(levels: np.ndarray) -> Iterable[int]:
    return sorted({int(level) for level in levels} - {0}, key=lambda level: (abs(level), level))


def _between(widths: tuple[float, float], ink: Ink, level: int) -> float:
    part = float((ink.width(level) - ink.width(0)) / (ink.wide - ink.width(0)))
    return round(widths[0] + (widths[1] - widths[0]) * part, 2)
