"""The causal graph between two moments: sources on the left, what they move on the right."""

from __future__ import annotations

import dataclasses
from typing import Any

import networkx as nx
import numpy as np
import plotly.graph_objects as go

from backend.policies.explanation import PolicyExplanation
from backend.policies.structure import SURE
from components.figures.frame import frame
from components.figures.palette import Theme, escape, shorten
from components.figures.palette import theme as theme_of

NAME_EM = 9.0
ROW = 52
WIDEST, THINNEST = 7.0, 1.2


@dataclasses.dataclass(frozen=True)
class Edge:
    """One edge: numbers of its source and target, and what is known of it."""

    source: int
    target: int
    effect: float
    low: float
    high: float
    support: float
    strength: float


def edges(found: PolicyExplanation, local: bool = False) -> list[Edge]:
    """The edges of a graph or of an explanation on one, the strongest first.

    Args:
        local: those at the explained moment alone, with their effects there.
    """
    arrays = found.arrays
    present = arrays["local/present" if local else "graph/present"].astype(bool)
    prefix = "local/" if local else "graph/"
    effect = arrays["local/effect" if local else "graph/effects"]
    made = [
        Edge(
            int(i),
            int(j),
            float(effect[i, j]),
            float(arrays[f"{prefix}low"][i, j]),
            float(arrays[f"{prefix}high"][i, j]),
            float(arrays["graph/support"][i, j]),
            float(arrays["graph/strength"][i, j]),
        )
        for i, j in np.argwhere(present)
    ]
    return sorted(made, key=lambda edge: -edge.strength)


def name(found: PolicyExplanation, edge: Edge) -> str:
    """An edge in words."""
    sources, targets = found.values["source_names"], found.values["target_names"]
    return f"{sources[edge.source]} → next {targets[edge.target]}"


def strength_name(found: PolicyExplanation) -> str:
    """What the strength of an edge is, by the learner."""
    return "log error ratio" if found.values["learner"] in ("loco", "fcit") else "strength"


def graph(
    found: PolicyExplanation,
    theme: str = "light",
    title: str = "",
    local: bool = False,
    chosen: tuple[int, int] | None = None,
) -> go.Figure:
    """The graph; width is strength, orange raises and blue lowers, dashed is unsure.

    The middle of every edge can be clicked: its `customdata` is (source, target).

    Args:
        chosen: an edge that is drawn in full, the others faintly.
    """
    look, drawn = theme_of(theme), edges(found, local)
    places = _places(found)
    figure = go.Figure()
    most = max((edge.strength for edge in drawn), default=1.0) or 1.0
    for edge in drawn:
        _line(figure, edge, places, most, look, chosen)
    _middles(figure, found, drawn, places, look)
    _nodes(figure, found, places, look)
    rows = max(len(found.values["source_names"]), len(found.values["target_names"]))
    figure.update_xaxes(visible=False, range=[-0.62, 1.62], fixedrange=True)
    figure.update_yaxes(visible=False, range=[-(rows - 1) - 0.6, 0.7], fixedrange=True)
    notes = ["now, on the left, and a step later; a thick edge is a strong one"]
    if local:
        notes = ["effects at this very moment; a thick edge is a strong one"]
    if any(edge.support < SURE for edge in drawn):
        notes.append("dashed: in fewer than nine in ten bootstraps")
    return frame(figure, look, title, notes, 40 + ROW * rows)


def _places(found: PolicyExplanation) -> dict[tuple[str, int], tuple[float, float]]:
    """Where the nodes stand: in two columns, in the order of the state."""
    both = nx.DiGraph()
    for layer, (side, key) in enumerate((("source", "source_names"), ("target", "target_names"))):
        for number in range(len(found.values[key])):
            both.add_node((side, number), layer=layer)
    # The layout says how far apart the layers are; within one the rows keep the state's order.
    laid = nx.multipartite_layout(both, subset_key="layer")
    left = min(float(x) for x, _ in laid.values())
    wide = max(float(x) for x, _ in laid.values()) - left or 1.0
    return {node: ((float(laid[node][0]) - left) / wide, -float(node[1])) for node in both}


def _line(
    figure: go.Figure,
    edge: Edge,
    places: dict[tuple[str, int], tuple[float, float]],
    most: float,
    look: Theme,
    chosen: tuple[int, int] | None,
) -> None:
    (x0, y0), (x1, y1) = places["source", edge.source], places["target", edge.target]
    t = np.linspace(0, 1, 24)
    smooth = t * t * (3 - 2 * t)
    faint = chosen is not None and chosen != (edge.source, edge.target)
    colour = look.positive[-2] if edge.effect > 0 else look.negative[-2]
    if edge.effect == 0:
        colour = look.muted
    figure.add_scatter(
        x=x0 + (x1 - x0) * t,
        y=y0 + (y1 - y0) * smooth,
        mode="lines",
        line={
            "color": colour,
            "width": THINNEST + (WIDEST - THINNEST) * np.sqrt(edge.strength / most),
            "dash": "solid" if edge.support >= SURE else "dash",
        },
        opacity=0.4 if faint else 0.8,
        hoverinfo="skip",
        showlegend=False,
    )


def _middles(
    figure: go.Figure,
    found: PolicyExplanation,
    drawn: list[Edge],
    places: dict[tuple[str, int], tuple[float, float]],
    look: Theme,
) -> None:
    """A point on each edge that the pointer finds; edges that cross are told apart by place."""
    share = [0.3 + 0.4 * (edge.source % 3) / 2 for edge in drawn]
    smooth = [t * t * (3 - 2 * t) for t in share]
    ends = [(places["source", e.source], places["target", e.target]) for e in drawn]
    figure.add_scatter(
        x=[a[0] + (b[0] - a[0]) * t for (a, b), t in zip(ends, share, strict=True)],
        y=[a[1] + (b[1] - a[1]) * t for (a, b), t in zip(ends, smooth, strict=True)],
        mode="markers",
        marker={"size": 11, "color": look.paper, "line": {"color": look.muted, "width": 1.5}},
        customdata=[[edge.source, edge.target] for edge in drawn],
        hovertext=[_hover(found, edge) for edge in drawn],
        hoverinfo="text",
        showlegend=False,
    )


def _nodes(
    figure: go.Figure,
    found: PolicyExplanation,
    places: dict[tuple[str, int], tuple[float, float]],
    look: Theme,
) -> None:
    columns: tuple[tuple[str, str, str], ...] = (
        ("source", "source_names", "middle left"),
        ("target", "target_names", "middle right"),
    )
    for side, key, where in columns:
        names = found.values[key]
        spots = [places[side, number] for number in range(len(names))]
        marker: dict[str, Any] = {"size": 13, "color": look.ink}
        if side == "source":
            marker["symbol"] = ["circle"] * (len(names) - 1) + ["diamond"]
        else:
            marker["symbol"] = ["circle"] * (len(names) - 1) + ["star"]
        figure.add_scatter(
            x=[x for x, _ in spots],
            y=[y for _, y in spots],
            mode="markers+text",
            marker=marker,
            text=[escape(shorten(each, NAME_EM)) for each in names],
            textposition=where,
            textfont={"size": 12, "color": look.ink},
            hovertext=[escape(each) for each in names],
            hoverinfo="text",
            cliponaxis=False,
            showlegend=False,
        )


def _hover(found: PolicyExplanation, edge: Edge) -> str:
    return "<br>".join(
        [
            f"<b>{escape(name(found, edge))}</b>",
            f"effect: {edge.effect:.3g} [{edge.low:.3g}, {edge.high:.3g}]",
            f"{strength_name(found)}: {edge.strength:.3g}",
            f"in {edge.support:.0%} of the bootstraps",
        ]
    )
