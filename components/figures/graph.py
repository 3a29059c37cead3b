"""A graph with its edges in the colours of their scores; molecules are handed on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from backend.graphs.explanation import GraphExplanation
from backend.graphs.naming import node_names
from components.figures import graph_marks as marks
from components.figures import molecule
from components.figures.graph_ink import MANY
from components.figures.graph_ink import largest as _largest
from components.figures.graph_look import Sheet, framed, sheet
from components.figures.graph_parts import Shown
from components.figures.graph_shapes import free_side, head
from components.figures.labels import shorten, width
from components.figures.palette import escape, ink_on

LABELLED = 40
"""Nodes up to which each has its name beside it."""
INSIDE_EM = 1.9
"""Names up to this wide stand inside their node."""
NAME_EM = 7.0
SIZES = ((40, 19.0), (120, 10.0), (300, 7.0))
"""(nodes at most, pixels of a node)."""
SMALLEST = 5.0
DOT = 3.5


def figure(
    found: GraphExplanation,
    theme: str = "light",
    title: str = "",
    *,
    limit: float | None = None,
    shown: Shown = "all",
    scale: int | None = None,
    share: float | None = None,
    marked: int | None = None,
) -> go.Figure:
    """The part that is explained, its edges and nodes coloured by score.

    An edge or node can be clicked: its point has ["edge" or "node", number within the part] as
    `customdata`. A large part is drawn up to a budget of edges, see `graph_parts`.

    Args:
        limit: end of the scale; None is the largest score. `largest` gives one for several.
        shown: the whole part, the key part alone, or what is left without it.
        scale: which key part of an explainer with scales; with the whole part shown, it stands out.
        share: how many of the highest scores are the key part where there are no scales.
        marked: number of the edge that was picked.
    """
    drawing = molecule.figure if "bonds" in found.arrays and found.values["molecule"] else _graph
    return drawing(
        found, theme, title, limit=limit, shown=shown, scale=scale, share=share, marked=marked
    )


def largest(found: Sequence[GraphExplanation]) -> float:
    """The size of the largest score of several explanations, for one scale; 1 where all are 0."""
    return max(map(_largest, found), default=0.0) or 1.0


def _graph(
    found: GraphExplanation,
    theme: str,
    title: str,
    *,
    limit: float | None,
    shown: Shown,
    scale: int | None,
    share: float | None,
    marked: int | None,
) -> go.Figure:
    on = sheet(found, theme, limit=limit, shown=shown, scale=scale, share=share, marked=marked)
    drawn = go.Figure()
    draw(drawn, on, labelled=len(on.picked.nodes) <= LABELLED)
    return framed(drawn, on, title)


def draw(drawn: go.Figure, on: Sheet, *, labelled: bool, most: float = SIZES[0][1]) -> None:
    """All marks of a graph.

    Args:
        labelled: whether nodes have their names.
        most: pixels of a node at most.
    """
    size = min(most, node_pixels(len(on.picked.nodes)))
    marks.halo(drawn, on, on.ways.lines, on.ink.wide)
    marks.scored(drawn, on)
    if on.found.values["directed"]:
        _heads(drawn, on, size)
    _nodes(drawn, on, size, labelled)
    marks.clicks(drawn, on, size)


def node_pixels(nodes: int) -> float:
    """Diameter of a node among so many."""
    return next((pixels for most, pixels in SIZES if nodes <= most), SMALLEST)


def _heads(drawn: go.Figure, on: Sheet, size: float) -> None:
    edges = on.found.arrays["edges"][on.picked.edges]
    levels = on.ink.levels(on.found.arrays["scores"][on.picked.edges])
    for faint in (True, False):
        here = np.flatnonzero((edges[:, 0] != edges[:, 1]) & (on.faint == faint))
        here = here[np.argsort(np.abs(levels[here]), kind="stable")]
        shapes = [
            head(
                on.ways.lines[j],
                (size / 2 + 1) / on.pixels,
                (8 + on.ink.width(int(levels[j]))) / on.pixels,
            )
            for j in here
        ]
        bare = on.theme.nan_hatch
        pale = [not levels[j] or on.ink.pale(int(levels[j])) for j in here]
        colours = [
            bare if p else on.ink.colour(int(levels[j])) for j, p in zip(here, pale, strict=True)
        ]
        marks.areas(drawn, shapes, colours, marks.FAINT if faint else 1.0)


def _nodes(drawn: go.Figure, on: Sheet, size: float, labelled: bool) -> None:
    """Nodes in the colours of their scores, a ring around the target, and names."""
    nodes, theme = on.picked.nodes, on.theme
    touched = on.touched
    levels = on.ink.levels(on.found.arrays["node_scores"][nodes])
    many = len(on.picked.edges) > MANY
    # Among many, nodes that carry little are dots, so that they hide no edge.
    dots = many & (np.abs(levels) < 0.2 * max(np.abs(levels).max(initial=0), 1))
    fills = [
        theme.nan_hatch if dot else on.ink.colour(int(level)) if level and inside else theme.paper
        for level, inside, dot in zip(levels, touched, dots, strict=True)
    ]
    at = on.at[nodes]
    drawn.add_scatter(
        x=at[:, 0],
        y=at[:, 1],
        mode="markers",
        marker={
            "size": np.where(dots, DOT, np.where(touched, size, 0.62 * size)),
            "color": fills,
            "opacity": 1,  # Marks of several sizes are else translucent.
            "line": {
                "width": np.where(dots, 0.0, 1.2 if size > SMALLEST else 0.8),
                "color": [theme.muted if inside else theme.nan_hatch for inside in touched],
            },
        },
        hoverinfo="skip",
        showlegend=False,
    )
    _target(drawn, on, size)
    if labelled:
        _names(drawn, on, size, fills)


def _target(drawn: go.Figure, on: Sheet, size: float) -> None:
    target = on.found.values["target"]
    if target is None:
        return
    drawn.add_scatter(
        x=on.at[[target], 0],
        y=on.at[[target], 1],
        mode="markers",
        name="explained node",
        marker={
            "size": size + 9,
            "symbol": "circle-open",
            "color": on.theme.accent,
            "line": {"width": 2.5, "color": on.theme.accent},
        },
        hoverinfo="skip",
        showlegend=True,
    )


def _names(drawn: go.Figure, on: Sheet, size: float, fills: list[str]) -> None:
    """Short names inside their nodes, longer ones where fewest edges are."""
    every, nodes = node_names(on.found), on.picked.nodes
    edges = on.found.arrays["edges"][on.picked.edges]
    names = [every[i] for i in nodes]
    small = [width(name) <= INSIDE_EM for name in names]
    here = np.flatnonzero(on.touched | np.isin(nodes, [on.found.values["target"]]))
    drawn.add_scatter(
        x=on.at[nodes[here], 0],
        y=on.at[nodes[here], 1],
        mode="markers+text",
        marker={"size": size, "opacity": 0},
        text=[escape(shorten(names[j], NAME_EM)) for j in here],
        textposition=[
            "middle center" if small[j] else _position(free_side(on.at, edges, int(nodes[j])))
            for j in here
        ],
        textfont={
            "size": 10.5,
            "color": [ink_on(fills[j]) if small[j] else on.theme.ink for j in here],
        },
        cliponaxis=False,
        hoverinfo="skip",
        showlegend=False,
    )


def _position(way: np.ndarray) -> str:
    across = "right" if way[0] > 0.4 else "left" if way[0] < -0.4 else "center"
    up = "top" if way[1] > 0.4 else "bottom" if way[1] < -0.4 else "middle"
    return f"{up} {across}"
