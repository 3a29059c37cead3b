"""The nested parts of a method with scales: where they lie, what each keeps, what is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from backend.graphs.explanation import GraphExplanation
from components.figures.frame import frame
from components.figures.graph_shapes import joined
from components.figures.palette import escape, ink_on
from components.figures.palette import theme as theme_of

HEIGHT = 260


def scales(found: GraphExplanation, theme: str = "light") -> go.Figure:
    """One small drawing a scale: the key part, what joined at this scale, and the rest."""
    look = theme_of(theme)
    key = found.arrays["key"].astype(bool)
    names = [_name(scale) for scale in found.values["scales"]]
    plot = make_subplots(rows=1, cols=len(names), subplot_titles=names, horizontal_spacing=0.02)
    plot.update_annotations(font={"size": 12.5, "color": look.muted})
    at = found.arrays["positions"].astype(np.float64)
    before = np.zeros(key.shape[1], dtype=bool)
    for column, inside in enumerate(key, start=1):
        groups = (
            (~inside, look.grid, 1.0),
            (inside & before, look.positive[-1], 3.5),
            (inside & ~before, look.positive[-2], 3.5),
        )
        for edges, colour, width in groups:
            x, y = joined([at[pair] for pair in found.arrays["edges"][edges]])
            plot.add_scatter(
                x=x, y=y, mode="lines", line={"color": colour, "width": width},
                hoverinfo="skip", row=1, col=column,
            )  # fmt: skip
        plot.add_scatter(
            x=at[:, 0],
            y=at[:, 1],
            mode="markers",
            marker={"size": 4, "color": look.muted},
            hoverinfo="skip",
            row=1,
            col=column,
        )
        before = inside
    plot.update_xaxes(visible=False, range=[-1.1, 1.1])
    plot.update_yaxes(visible=False, range=[-1.1, 1.1])
    plot.update_layout(showlegend=False)
    notes = ["Dark: the key part of the scale before. Light: what joins. Grey: the rest."]
    return frame(plot, look, "Key parts, each within the next", notes, HEIGHT, panels=True)


def parts(found: GraphExplanation, theme: str = "light") -> go.Figure:
    """A treemap: each part holds the one before it, its size the share of the edges."""
    look = theme_of(theme)
    rows = found.values["hierarchy"]
    values = found.values["scales"]
    labels, parents, sizes, texts, colours = ["Whole graph"], [""], [0], [""], [look.neutral]
    total = sum(len(row["joins"]) for row in rows)
    sizes[0] = total
    outer = "Whole graph"
    for scale in range(len(values) - 1, -1, -1):
        name = f"Scale {scale + 1}"
        labels.append(name)
        parents.append(outer)
        sizes.append(values[scale]["edges"])
        texts.append(_kept(values[scale]))
        colours.append(look.positive[min(len(values) - 1 - scale + 1, len(look.positive) - 1)])
        outer = name
    plot = go.Figure(
        go.Treemap(
            labels=[escape(label) for label in labels],
            parents=[escape(parent) for parent in parents],
            values=sizes,
            branchvalues="total",
            text=[escape(text) for text in texts],
            textinfo="label+text",
            marker={"colors": colours, "line": {"color": look.paper, "width": 2}},
            textfont={"color": [ink_on(colour) for colour in colours]},
            hovertemplate="%{label}: %{value} edges<br>%{text}<extra></extra>",
            tiling={"packing": "dice", "pad": 4},
            sort=False,
        )
    )
    return frame(plot, look, "What holds what", ["Area: share of the edges."], HEIGHT)


def carried(found: GraphExplanation, theme: str = "light") -> go.Figure:
    """Two bars a scale: the share of the decision kept by the part, and lost without it."""
    look = theme_of(theme)
    values = found.values["scales"]
    names = [_name(scale) for scale in values]
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
        )
    plot.update_yaxes(range=[0, 1.02], tickformat=".0%", title="share of the decision")
    plot.update_layout(
        barmode="group", showlegend=True, legend={"orientation": "h", "x": 0, "y": -0.15}
    )
    notes = _undefined(values)
    return frame(plot, look, "What each part carries", notes, HEIGHT)


def _undefined(values: list[dict[str, Any]]) -> list[str]:
    if all(scale["share_kept"] is None for scale in values):
        return [
            "All edges together change the probability by less than 1 %: there is no decision to "
            "share out."
        ]
    return []


def _name(scale: dict[str, Any]) -> str:
    return f"{scale['budget']:.0%} ({scale['edges']} edges)"


def _kept(scale: dict[str, Any]) -> str:
    said = f"{scale['edges']} edges"
    if scale["share_kept"] is not None:
        said += f", {scale['share_kept']:.0%} of the decision kept"
    return said
