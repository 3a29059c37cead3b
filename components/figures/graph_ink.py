"""The edges of a drawn graph: lines by score, bonds, arrow heads, and the marks on them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import plotly.graph_objects as go

from backend.graphs.explanation import GraphExplanation
from components.figures.graph_parts import Drawn
from components.figures.graph_shapes import Paths, head, joined
from components.figures.molecule import bond_lines
from components.figures.palette import Scale, Theme, on_scale

LEVELS = 16
"""Colours, and widths, edges are drawn in: one trace each."""
THIN, THICK = 1.2, 7.0
"""Pixels."""


@dataclasses.dataclass(frozen=True, eq=False)
class Look:
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


def edges(plot: go.Figure, look: Look, *, under: bool = False) -> None:
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


def bonds(plot: go.Figure, look: Look) -> None:
    """A molecule's bonds, over what shows their scores."""
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


def ghost(plot: go.Figure, look: Look) -> None:
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


def heads(plot: go.Figure, look: Look) -> None:
    """The arrow heads of a directed graph."""
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


def truth(plot: go.Figure, look: Look) -> None:
    """A diamond on each edge of the known reason."""
    known = look.found.arrays.get("truth")
    if known is not None:
        line = {"color": look.theme.gold, "width": 1.8}
        marker = {"symbol": "diamond", "size": 8, "color": look.theme.paper, "line": line}
        _on_middles(plot, look, np.flatnonzero(known[look.part.edges]), marker)


def marked(plot: go.Figure, look: Look, edge: int) -> None:
    """A circle around the edge that is pointed out, where it is drawn."""
    places = np.flatnonzero(look.part.edges == edge)
    if len(places):
        line = {"color": look.theme.ink, "width": 2.5}
        marker = {"symbol": "circle-open", "size": 20, "color": look.theme.ink, "line": line}
        _on_middles(plot, look, places, marker)


def _on_middles(plot: go.Figure, look: Look, places: np.ndarray, marker: dict[str, Any]) -> None:
    at = look.ways.middles[places]
    plot.add_scatter(x=at[:, 0], y=at[:, 1], mode="markers", marker=marker, hoverinfo="skip")
