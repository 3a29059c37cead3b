"""A graph as nodes and lines, each edge's score its colour and width; molecules as chemists draw.

Positions come with the explanation, so all methods' drawings lie on each other.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import plotly.graph_objects as go

from backend.graphs.explanation import GraphExplanation
from backend.graphs.naming import class_name, edge_names, node_names
from components.figures import labels
from components.figures.frame import color_axis, frame
from components.figures.graph_parts import Drawn, Shown, drawn
from components.figures.graph_shapes import Paths, head, joined, paths
from components.figures.molecule import ATOMS, bond_lines
from components.figures.palette import Scale, Theme, diverging, escape, on_scale, positive
from components.figures.palette import theme as theme_of

HEIGHT = 380
LEVELS = 16
"""Colours, and widths, edges are drawn in: one trace each."""
THIN, THICK = 1.2, 7.0
"""Pixels."""
NAMED = 40
"""Nodes up to which names are written; beyond, the pointer shows them."""
NAME_EM = 6.0
ROOM = 0.14
"""Around the drawing, in its units: its longer side is 2."""


@dataclasses.dataclass(frozen=True, eq=False)
class _Look:
    """What a drawing is made from."""

    found: GraphExplanation
    theme: Theme
    part: Drawn
    ways: Paths
    limit: float
    scale: Scale
    signed: bool

    def place(self, score: float) -> float:
        """From 0 to 1, on the scale."""
        if not self.limit > 0:
            return 0.5 if self.signed else 0.0
        share = float(np.clip(score / self.limit, -1, 1))
        return 0.5 + 0.5 * share if self.signed else max(share, 0.0)


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
    given = _Look(
        found, look, part, ways, end, diverging(look) if signed else positive(look), signed
    )
    plot = go.Figure()
    if shown != "all":
        _ghost(plot, given)
    if found.values["molecule"] and "bonds" in found.arrays:
        _edges(plot, given, under=True)
        _bonds(plot, given)
    else:
        _edges(plot, given)
    if found.values["directed"]:
        _heads(plot, given)
    _truth(plot, given)
    if marked is not None:
        _marked(plot, given, marked)
    _nodes(plot, given)
    _targets(plot, given)
    _bar(plot, given)
    _axes(plot, given)
    return frame(plot, look, title, _notes(given), HEIGHT)


def _edges(plot: go.Figure, look: _Look, *, under: bool = False) -> None:
    """Lines binned by colour and width; wide and pale behind bonds (`under`)."""
    scores = look.found.arrays["scores"][look.part.edges].astype(np.float64)
    places = np.array([look.place(s) for s in np.nan_to_num(scores)])
    strength = np.abs(places - 0.5) * 2 if look.signed else places
    bins = np.minimum((places * LEVELS).astype(int), LEVELS - 1)
    for level in sorted(set(bins.tolist()), key=lambda b: np.abs(strength[bins == b]).mean()):
        inside = np.flatnonzero(bins == level)
        x, y = joined([look.ways.lines[i] for i in inside])
        at, force = float(places[inside].mean()), float(strength[inside].mean())
        colour = on_scale(at, look.scale)
        if not under and force < 0.12:
            colour = look.theme.nan_hatch  # The scale's middle would vanish in the paper.
        width = THIN + (THICK - THIN) * force
        plot.add_scatter(
            x=x,
            y=y,
            mode="lines",
            line={"color": colour, "width": width + 9 * force if under else width},
            hoverinfo="skip",
        )


def _bonds(plot: go.Figure, look: _Look) -> None:
    for kind, lines in bond_lines(look.found, look.part.edges).items():
        x, y = joined(lines)
        plot.add_scatter(
            x=x,
            y=y,
            mode="lines",
            line={
                "color": look.theme.ink,
                "width": 1.5,
                "dash": "dot" if kind == "aromatic" else "solid",
            },
            hoverinfo="skip",
        )


def _ghost(plot: go.Figure, look: _Look) -> None:
    """The edges that are not shown, so that the eye keeps its place."""
    found = look.found
    every = np.arange(len(found.arrays["edges"]))
    inside = set(look.part.nodes.tolist())
    left = [
        i for i in np.setdiff1d(every, look.part.edges)
        if set(found.arrays["edges"][i].tolist()) <= inside
    ]  # fmt: skip
    lines = [found.arrays["positions"][found.arrays["edges"][i]] for i in left]
    x, y = joined(lines)
    line = {"color": look.theme.grid, "width": 1, "dash": "dot"}
    plot.add_scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip")


def _heads(plot: go.Figure, look: _Look) -> None:
    size = 0.5 / max(np.sqrt(len(look.part.nodes)), 6.0)
    outlines = [head(line, size * 0.8, size) for line in look.ways.lines]
    x, y = joined([np.concatenate([one, one[:1]]) for one in outlines])
    plot.add_scatter(
        x=x,
        y=y,
        mode="lines",
        fill="toself",
        fillcolor=look.theme.muted,
        line={"color": look.theme.muted, "width": 0.5},
        hoverinfo="skip",
    )


def _truth(plot: go.Figure, look: _Look) -> None:
    truth = look.found.arrays.get("truth")
    if truth is None:
        return
    inside = np.flatnonzero(truth[look.part.edges])
    at = look.ways.middles[inside]
    plot.add_scatter(
        x=at[:, 0],
        y=at[:, 1],
        mode="markers",
        marker={
            "symbol": "diamond",
            "size": 8,
            "color": look.theme.paper,
            "line": {"color": look.theme.gold, "width": 1.8},
        },
        hoverinfo="skip",
    )


def _marked(plot: go.Figure, look: _Look, edge: int) -> None:
    places = np.flatnonzero(look.part.edges == edge)
    if not len(places):
        return
    at = look.ways.middles[places]
    plot.add_scatter(
        x=at[:, 0],
        y=at[:, 1],
        mode="markers",
        marker={
            "symbol": "circle-open",
            "size": 20,
            "color": look.theme.ink,
            "line": {"color": look.theme.ink, "width": 2.5},
        },
        hoverinfo="skip",
    )


def _nodes(plot: go.Figure, look: _Look) -> None:
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


def _targets(plot: go.Figure, look: _Look) -> None:
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


def _bar(plot: go.Figure, look: _Look) -> None:
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


def _axes(plot: go.Figure, look: _Look) -> None:
    at = look.found.arrays["positions"][look.part.nodes].astype(np.float64)
    low, high = (at.min(axis=0), at.max(axis=0)) if len(at) else (np.zeros(2), np.zeros(2))
    hidden: dict[str, Any] = {"visible": False, "fixedrange": False}
    plot.update_xaxes(**hidden, range=[low[0] - ROOM, high[0] + ROOM])
    plot.update_yaxes(
        **hidden, range=[low[1] - ROOM, high[1] + ROOM], scaleanchor="x", constrain="domain"
    )
    plot.update_layout(showlegend=False, hovermode="closest", dragmode="pan")


def _notes(look: _Look) -> list[str]:
    values, scores = look.found.values, look.found.arrays["scores"]
    name = class_name(values, values["label"])
    largest = float(np.nanmax(np.abs(scores), initial=0.0))
    notes = [f"{name}: probability {values['probability']:.3f}. Largest score {largest:.3g}."]
    if look.part.note:
        notes.append(f"{look.part.note[0].upper()}{look.part.note[1:]}.")
    if "truth" in look.found.arrays:
        notes.append("◇ marks edges of the known reason.")
    return notes
