"""One drawing of a part: which of it, where, in which colours, and what is marked."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import plotly.graph_objects as go

from backend.graphs.explanation import GraphExplanation
from backend.graphs.naming import class_name
from components.figures.frame import frame
from components.figures.graph_ink import BAR, Ink, largest, number
from components.figures.graph_parts import Drawn, Shown, drawn
from components.figures.graph_shapes import Paths, paths
from components.figures.labels import shorten
from components.figures.palette import Theme, escape
from components.figures.palette import theme as theme_of

TALL, FLAT = 380.0, 170.0
"""Pixels of the highest and the lowest drawing."""
PAD = 0.16
"""Room around the outermost nodes, in units of the positions."""
NAME_EM = 14.0
LOOP = 13.0
"""Pixels of the radius of a self-loop."""
LEGEND = {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"}


@dataclasses.dataclass(frozen=True, eq=False)
class Sheet:
    """What the marks of a drawing are made from.

    Attributes:
        picked: what is drawn of the part.
        ways: where its edges run, in the order of `picked.edges`.
        x, y: ranges of the axes. pixels: of one unit on a page of usual width.
        emphasised: whether the key part stands out from what is around it.
        marked: the edge that a person picked, or None.
    """

    found: GraphExplanation
    theme: Theme
    ink: Ink
    picked: Drawn
    ways: Paths
    x: tuple[float, float]
    y: tuple[float, float]
    pixels: float
    emphasised: bool
    marked: int | None

    @property
    def at(self) -> np.ndarray:
        """[n, 2] where all nodes of the part are."""
        return self.found.arrays["positions"]

    @property
    def touched(self) -> np.ndarray:
        """[drawn nodes] bool, those that belong to what is shown; in the whole graph, all do."""
        nodes = self.picked.nodes
        if self.picked.of == len(self.picked.inside) and not self.emphasised:
            return np.ones(len(nodes), dtype=bool)
        edges = self.found.arrays["edges"][self.picked.edges[~self.faint]]
        return np.isin(nodes, edges) | np.isin(nodes, [self.found.values["target"]])

    @property
    def faint(self) -> np.ndarray:
        """[drawn edges] bool, those outside the key part where that stands out."""
        outside = ~self.picked.inside[self.picked.edges]
        return outside if self.emphasised else np.zeros_like(outside)


def sheet(
    found: GraphExplanation,
    theme: str,
    *,
    limit: float | None,
    shown: Shown,
    scale: int | None,
    share: float | None,
    marked: int | None,
    unit_pixels: float | None = None,
) -> Sheet:
    """Decide on what is drawn and where.

    Args:
        unit_pixels: pixels of one unit of the positions at most; None fills the drawing.
    """
    look = theme_of(theme)
    picked = drawn(found, shown, scale, share=share)
    at = found.arrays["positions"]
    edges = found.arrays["edges"][picked.edges]
    pixels = _ranges(at[picked.nodes], unit_pixels)[2]
    ways = paths(at, edges, LOOP / pixels)
    # Loops and arcs reach beyond the nodes.
    reached = np.concatenate([at[picked.nodes], *ways.lines])
    x, y, pixels = _ranges(reached, unit_pixels)
    return Sheet(
        found=found,
        theme=look,
        ink=Ink.of(found, look, limit, len(edges)),
        picked=picked,
        ways=ways,
        x=x,
        y=y,
        pixels=pixels,
        emphasised=shown == "all" and scale is not None and "key" in found.arrays,
        marked=marked,
    )


def framed(figure: go.Figure, on: Sheet, title: str) -> go.Figure:
    """The figure with its axes, colour bar, title and notes."""
    hidden: dict[str, Any] = {"visible": False, "showgrid": False}
    figure.update_xaxes(**hidden, range=list(on.x), constrain="domain")
    figure.update_yaxes(**hidden, range=list(on.y), scaleanchor="x", scaleratio=1)
    figure.update_layout(
        coloraxis=on.ink.axis(on.found.values["unit"]),
        dragmode=False,
        clickmode="event+select",
        legend=LEGEND,
    )
    named = any(trace.showlegend for trace in figure.data)
    height = (on.y[1] - on.y[0]) * on.pixels
    done = frame(figure, on.theme, title, notes(on), round(height) + BAR + 24 * named + 24)
    return done.update_layout(margin_b=BAR + 12 + 24 * named)


def notes(on: Sheet) -> list[str]:
    """What is explained, what the GNN says, and what is left out."""
    said = [asked(on.found), on.picked.note]
    top = largest(on.found)
    if top and abs(on.ink.limit - top) > 1e-6 * top:
        said.append(f"Largest score {number(top)}")
    if not len(on.found.arrays["edges"]):
        said.append("There is no edge to score.")
    elif not on.picked.of:
        said.append("No edge is left over.")
    return [sentence for sentence in said if sentence]


def asked(found: GraphExplanation) -> str:
    """The question, and whether the GNN is right."""
    values = found.values
    where = shorten(values["graph_name"], NAME_EM) if values["graph_name"] else ""
    where = where or f"Graph {values['graph']}"
    if values["task"] == "node":
        place = values["target"]
        name = values["node_names"][place] if values["node_names"] else ""
        where = f"Node {shorten(name, NAME_EM) if name else values['node']}"
    said = f"{where}: why {class_name(values, values['label'])}? p = {values['probability']:.2g}"
    predicted, true = values["predicted"], values["true"]
    right = predicted == true
    if predicted != values["label"]:
        said += f"; predicted {class_name(values, predicted)}"
    if true is None:
        return said
    return f"{said}, which is right" if right else f"{said}, truly {class_name(values, true)}"


def hover(name: str, scores: list[tuple[str, float]], more: list[str]) -> str:
    """What the pointer shows of an edge or a node, as markup."""
    lines = [f"<b>{escape(name)}</b>"]
    lines += [f"{escape(what)} {number(value)}" for what, value in scores]
    return "<br>".join([*lines, *map(escape, more)])


def _ranges(
    at: np.ndarray, most: float | None
) -> tuple[tuple[float, float], tuple[float, float], float]:
    """Ranges of x and y around the nodes, and pixels of a unit."""
    if not len(at):
        return (-1.0, 1.0), (-0.5, 0.5), FLAT
    low, high = at.min(axis=0).astype(float), at.max(axis=0).astype(float)
    # One node, or nodes that lie in one place, need room too.
    centre, span = (low + high) / 2, high - low + 2 * PAD * max(*(high - low), 0.5)
    # On a telephone the width is what is short, beside a panel it is the height.
    pixels = TALL / max(span)
    if most is not None and pixels > most:
        span, pixels = span * (pixels / most), most
    if span[1] * pixels < FLAT:
        span[1] = FLAT / pixels
    (a, c), (b, d) = centre - span / 2, centre + span / 2
    return (float(a), float(b)), (float(c), float(d)), float(pixels)
