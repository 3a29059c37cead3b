"""The nested parts of a method with scales: where they lie, what each keeps, what is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from backend.graphs.explanation import GraphExplanation
from components.figures.frame import frame
from components.figures.graph_parts import Drawn, drawn, percent
from components.figures.graph_shapes import joined, paths
from components.figures.palette import Theme, ink_on
from components.figures.palette import theme as theme_of

HEIGHT = 260
PANEL = 220
"""Pixels of one small drawing."""
COLUMNS = 3
ROW = 46
BELOW = {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"}


def scales(found: GraphExplanation, theme: str = "light") -> go.Figure:
    """One small drawing a scale: the key part, what joined at this scale, and the rest."""
    look = theme_of(theme)
    key = found.arrays["key"].astype(bool)
    part = drawn(found)
    rows = -(-len(key) // COLUMNS)
    plot = make_subplots(
        rows=rows,
        cols=min(len(key), COLUMNS),
        subplot_titles=[name(scale) for scale in found.values["scales"]],
        horizontal_spacing=0.02,
        vertical_spacing=0.3 / (2 * rows),
    )
    plot.update_annotations(font={"size": 12.5, "color": look.muted})
    before = np.zeros(key.shape[1], dtype=bool)
    for k, inside in enumerate(key):
        row, column = divmod(k, COLUMNS)
        _small(plot, found, part, look, inside, before, row=row + 1, col=column + 1)
        before = inside
    _equal(plot, found, part)
    plot.update_layout(showlegend=False, dragmode=False)
    notes = ["Dark: the key part of the scale before. Light: what joins. Grey: the rest."]
    if part.note:
        notes.append(part.note)
    return frame(plot, look, "Key parts, each within the next", notes, PANEL * rows, panels=True)


def parts(found: GraphExplanation, theme: str = "light") -> go.Figure:
    """One bar a scale, as long as the graph has edges: what was in, what joins, and the rest."""
    look = theme_of(theme)
    values = found.values["scales"]
    total = found.arrays["key"].shape[1]
    held = [scale["edges"] - scale["joined"] for scale in values]
    pieces = (
        ("in before", held, look.positive[-1]),
        ("joins", [scale["joined"] for scale in values], look.positive[-2]),
        ("the rest", [total - scale["edges"] for scale in values], look.neutral),
    )
    places = list(range(len(values)))
    plot = go.Figure()
    for title, counts, colour in pieces:
        plot.add_bar(
            x=counts,
            y=places,
            name=title,
            orientation="h",
            marker={"color": colour, "line": {"width": 0}},
            text=[f"{count:,}" if count >= 0.06 * total else "" for count in counts],
            textposition="inside",
            textangle=0,
            insidetextanchor="middle",
            textfont={"color": ink_on(colour), "size": 12},
            customdata=[[kept(scale)] for scale in values],
            hovertemplate=f"{title}: %{{x:,}} edges<br>%{{customdata[0]}}<extra></extra>",
            showlegend=True,
        )
    plot.update_xaxes(title="edges", range=[0, max(total, 1)], nticks=6)
    plot.update_yaxes(
        tickvals=places,
        ticktext=[f"{percent(s['budget'])}<br><b>{_short(s)}</b>" for s in values],
        range=[len(values) - 0.45, -0.55],
        showgrid=False,
        ticks="",
    )
    notes = ["Bold: the share of the decision that the part keeps alone."]
    done = frame(plot, look, "What holds what", notes, ROW * len(values) + 110)
    return done.update_layout(
        barmode="stack", bargap=0.25, legend={**BELOW, "traceorder": "normal"}, margin_b=84
    )


def carried(found: GraphExplanation, theme: str = "light") -> go.Figure:
    """Two bars a scale: the share of the decision kept by the part, and lost without it."""
    look = theme_of(theme)
    values = found.values["scales"]
    names = [name(scale).replace(" (", "<br>(") for scale in values]
    plot = go.Figure()
    for field, title, colour in (
        ("share_kept", "kept by the part alone", look.positive[-2]),
        ("share_lost", "lost without it", look.negative[-2]),
    ):
        plot.add_bar(
            x=names,
            y=[scale[field] for scale in values],
            name=title,
            marker={"color": colour},
            hovertemplate=f"%{{x}}<br>{title}: %{{y:.0%}}<extra></extra>",
            showlegend=True,
        )
    plot.update_yaxes(range=[0, 1.02], tickformat=".0%", title="share of the decision")
    done = frame(plot, look, "What each part carries", _undefined(values), HEIGHT)
    return done.update_layout(barmode="group", legend=BELOW, margin_b=72)


def name(scale: dict[str, Any]) -> str:
    """A scale by its budget and the size of its key part."""
    count = scale["edges"]
    return f"{percent(scale['budget'])} ({count:,} {'edge' if count == 1 else 'edges'})"


def kept(scale: dict[str, Any]) -> str:
    """What a part keeps of the decision, in words."""
    if scale["share_kept"] is None:
        return "there is no decision to share out"
    return f"the part alone keeps {percent(scale['share_kept'])} of the decision"


def _short(scale: dict[str, Any]) -> str:
    return "–" if scale["share_kept"] is None else f"keeps {percent(scale['share_kept'])}"


def _undefined(values: list[dict[str, Any]]) -> list[str]:
    if all(scale["share_kept"] is None for scale in values):
        return [
            "All edges together change the probability by less than 1 %: there is no decision to "
            "share out."
        ]
    return []


def _small(
    plot: go.Figure,
    found: GraphExplanation,
    part: Drawn,
    look: Theme,
    inside: np.ndarray,
    before: np.ndarray,
    **where: int,
) -> None:
    """One panel: grey below, what was in before and what joins above."""
    at, target = found.arrays["positions"].astype(np.float64), found.values["target"]
    ways = paths(at, found.arrays["edges"][part.edges], 0.07)
    inside, before = inside[part.edges], before[part.edges]
    groups = (
        (~inside, look.nan_hatch, 0.8),
        (inside & before, look.positive[-1], 3.5),
        (inside & ~before, look.positive[-2], 3.5),
    )
    for edges, colour, width in groups:
        x, y = joined([ways.lines[j] for j in np.flatnonzero(edges)])
        plot.add_scatter(
            x=x,
            y=y,
            mode="lines",
            line={"color": colour, "width": width},
            hoverinfo="skip",
            **where,
        )
    plot.add_scatter(
        x=at[part.nodes, 0],
        y=at[part.nodes, 1],
        mode="markers",
        marker={
            "size": [9.0 if i == target else 4.0 for i in part.nodes],
            "color": look.muted,
            "opacity": 1,
            "line": {"width": 0},
        },
        hoverinfo="skip",
        **where,
    )


def _equal(plot: go.Figure, found: GraphExplanation, part: Drawn) -> None:
    """The same place and the same unit in both directions, in every panel."""
    at = found.arrays["positions"][part.nodes].astype(np.float64)
    middle = (at.max(axis=0) + at.min(axis=0)) / 2 if len(at) else np.zeros(2)
    half = max(float(np.ptp(at, axis=0).max()) if len(at) else 0.0, 0.5) / 2 + 0.13
    for x, y in zip(plot.select_xaxes(), plot.select_yaxes(), strict=True):
        x.update(visible=False, range=[middle[0] - half, middle[0] + half], constrain="domain")
        y.update(
            visible=False,
            range=[middle[1] - half, middle[1] + half],
            constrain="domain",
            constraintoward="top",
            scaleanchor=y.anchor,
        )
