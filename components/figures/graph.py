"""A graph as nodes and lines, each edge's score its colour and width; molecules as chemists draw.

Positions come with the explanation, so all methods' drawings lie on each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from backend.graphs.explanation import GraphExplanation
from backend.graphs.naming import class_name, edge_names, node_names
from components.figures import graph_ink, labels
from components.figures.frame import color_axis, frame
from components.figures.graph_ink import Look
from components.figures.graph_parts import Shown, drawn
from components.figures.graph_shapes import paths
from components.figures.molecule import ATOMS
from components.figures.palette import diverging, escape, positive
from components.figures.palette import theme as theme_of

HEIGHT = 380
NAMED = 40
"""Nodes up to which names are written; beyond, the pointer shows them."""
NAME_EM = 6.0
ROOM = 0.14
"""Around the drawing, in its units: its longer side is 2."""


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
    """The explained part of a graph with its scores.

    Args:
        found: of kind "edges".
        limit: the score the strongest colour stands for; None is the largest here.
        shown: all edges, the key part, or the rest; the others stay as thin dotted lines.
        scale: which key part, of a method with scales; share: of any other, how many of its
            highest scores.
        marked: an edge that is pointed out, by its number in the part.

    Points carry `["edge", number]` or `["node", number]` as customdata.
    """
    look = theme_of(theme)
    part = drawn(found, shown, scale, share=share)
    edges = found.arrays["edges"][part.edges]
    loop = 0.6 / max(np.sqrt(len(part.nodes)), 3.0)
    ways = paths(found.arrays["positions"], edges, bool(found.values["directed"]), loop)
    scores = found.arrays["scores"].astype(np.float64)
    signed = bool(found.values["signed"])
    end = float(np.nanmax(np.abs(scores), initial=0.0)) if limit is None else limit
    given = Look(
        found, look, part, ways, end, diverging(look) if signed else positive(look), signed
    )
    plot = go.Figure()
    if shown != "all":
        graph_ink.ghost(plot, given)
    if found.values["molecule"] and "bonds" in found.arrays:
        graph_ink.edges(plot, given, under=True)
        graph_ink.bonds(plot, given)
    else:
        graph_ink.edges(plot, given)
    if found.values["directed"]:
        graph_ink.heads(plot, given)
    graph_ink.truth(plot, given)
    if marked is not None:
        graph_ink.marked(plot, given, marked)
    _nodes(plot, given)
    _targets(plot, given)
    _bar(plot, given)
    _axes(plot, given)
    return frame(plot, look, title, _notes(given), HEIGHT)


def _nodes(plot: go.Figure, look: Look) -> None:
    found, nodes = look.found, look.part.nodes
    at = found.arrays["positions"][nodes]
    names = node_names(found)
    molecule = bool(found.values["molecule"])
    symbols = found.values["node_names"]
    few = len(nodes) <= NAMED
    text = [""] * len(nodes)
    if molecule and symbols:
        text = [escape(symbols[i]) if symbols[i] != "C" else "" for i in nodes]
    elif few:
        text = [escape(labels.shorten(names[i], NAME_EM)) for i in nodes]
    size = 9 if molecule else float(np.clip(130 / np.sqrt(max(len(nodes), 1)), 5, 20))
    target = found.values["target"]
    outline = [3.0 if i == target else 1.0 for i in nodes]
    plot.add_scatter(
        x=at[:, 0],
        y=at[:, 1],
        mode="markers+text",
        marker={
            "size": [
                (16 if text[k] else 3) if molecule else (size * 1.3 if i == target else size)
                for k, i in enumerate(nodes)
            ],
            "color": look.theme.paper,
            "line": {
                "color": [
                    look.theme.paper if molecule and i != target
                    else look.theme.ink if i == target
                    else look.theme.muted
                    for i in nodes
                ],
                "width": outline,
            },
        },
        text=text,
        textposition="middle center",
        textfont={
            "size": 13 if molecule else (10 if size > 14 else 8),
            "color": [
                ATOMS[look.theme.name].get(symbols[i], look.theme.ink) if molecule and symbols
                else look.theme.ink
                for i in nodes
            ],
        },
        hoverinfo="skip",
    )  # fmt: skip


def _targets(plot: go.Figure, look: Look) -> None:
    """What the pointer and a click find: the middle of each edge, and each node."""
    found = look.found
    names, nodes = edge_names(found), node_names(found)
    scores = found.arrays["scores"]
    unit = str(found.values["unit"])
    keep = [
        f"{escape(names[i])}<br>{scores[i]:.4g} {escape(unit)}" + _reason(found, int(i))
        for i in look.part.edges
    ]
    clear = {"size": 16, "color": "rgba(0,0,0,0)", "opacity": 0.01}
    plot.add_scatter(
        x=look.ways.middles[:, 0],
        y=look.ways.middles[:, 1],
        mode="markers",
        marker=clear,
        customdata=[["edge", int(i)] for i in look.part.edges],
        hovertext=keep,
        hoverinfo="text",
        meta="targets",
    )
    at = found.arrays["positions"][look.part.nodes]
    plot.add_scatter(
        x=at[:, 0],
        y=at[:, 1],
        mode="markers",
        marker=clear,
        customdata=[["node", int(i)] for i in look.part.nodes],
        hovertext=[
            f"{escape(nodes[i])}<br>{found.arrays['node_scores'][i]:.4g} {escape(unit)}"
            for i in look.part.nodes
        ],
        hoverinfo="text",
        meta="targets",
    )


def _reason(found: GraphExplanation, edge: int) -> str:
    truth = found.arrays.get("truth")
    return "<br>of the known reason" if truth is not None and truth[edge] else ""


def _bar(plot: go.Figure, look: Look) -> None:
    """The colour bar, on a trace that shows nothing."""
    end = look.limit if look.limit > 0 else 1.0
    ends = (-end if look.signed else 0.0, end)
    plot.add_scatter(
        x=[0.0],
        y=[0.0],
        mode="markers",
        marker={"color": [0.0], "coloraxis": "coloraxis", "size": 1, "opacity": 0},
        hoverinfo="skip",
    )
    plot.update_layout(
        coloraxis=color_axis(look.theme, look.scale, ends, str(look.found.values["unit"]), len=0.8)
    )


def _axes(plot: go.Figure, look: Look) -> None:
    at = look.found.arrays["positions"][look.part.nodes].astype(np.float64)
    low, high = (at.min(axis=0), at.max(axis=0)) if len(at) else (np.zeros(2), np.zeros(2))
    hidden: dict[str, Any] = {"visible": False, "fixedrange": False}
    plot.update_xaxes(**hidden, range=[low[0] - ROOM, high[0] + ROOM])
    plot.update_yaxes(
        **hidden, range=[low[1] - ROOM, high[1] + ROOM], scaleanchor="x", constrain="domain"
    )
    plot.update_layout(showlegend=False, hovermode="closest", dragmode="pan")


def _notes(look: Look) -> list[str]:
    values, scores = look.found.values, look.found.arrays["scores"]
    name = class_name(values, values["label"])
    largest = float(np.nanmax(np.abs(scores), initial=0.0))
    notes = [f"{name}: probability {values['probability']:.3f}. Largest score {largest:.3g}."]
    if look.part.note:
        notes.append(f"{look.part.note[0].upper()}{look.part.note[1:]}.")
    if "truth" in look.found.arrays:
        notes.append("◇ marks edges of the known reason.")
    return notes
