"""TCAV's scores: a bar a concept, its interval, and the score of random directions."""

from __future__ import annotations

import plotly.graph_objects as go

from backend.images.explanation import ImageExplanation
from components.figures.frame import frame
from components.figures.palette import escape, shorten
from components.figures.palette import theme as theme_of

CERTAIN = 0.05
"""p below which a concept's score is drawn as one."""


def figure(found: ImageExplanation, theme: str = "light", title: str = "") -> go.Figure:
    """Concepts from the highest score down; those no better than chance are grey."""
    look = theme_of(theme)
    rows = found.values["rows"]
    places = list(range(len(rows)))
    drawn = go.Figure(
        go.Bar(
            x=[row["score"] for row in rows],
            y=places,
            orientation="h",
            width=0.7,
            marker={"color": [look.positive[-2] if r["p"] < CERTAIN else look.muted for r in rows]},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [row["high"] - row["score"] for row in rows],
                "arrayminus": [row["score"] - row["low"] for row in rows],
                "color": look.ink,
                "thickness": 1.4,
                "width": 3,
            },
            hovertext=[
                f"{escape(r['concept'])}: {r['score']:.2f} [{r['low']:.2f}, {r['high']:.2f}], "
                f"p = {r['p']:.2g}, {r['pictures']} pictures"
                for r in rows
            ],
            hovertemplate="%{hovertext}<extra></extra>",
            showlegend=False,
        )
    )
    drawn.add_scatter(
        x=[row["chance"] for row in rows],
        y=places,
        mode="markers",
        marker={"symbol": "line-ns-open", "size": 14, "color": look.ink},
        hovertext=[f"random directions: {row['chance']:.2f}" for row in rows],
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
    )
    drawn.update_yaxes(
        tickvals=places,
        ticktext=[escape(shorten(row["concept"], 18)) for row in rows],
        autorange="reversed",
        showgrid=False,
    )
    drawn.update_xaxes(title="TCAV score", range=[0, 1.02])
    names = found.values["class_names"]
    notes = [
        f"{names[str(found.values['label'])]}, in {found.values['class_pictures']} pictures. "
        "Strokes: random directions. Grey: no different from them.",
        *found.notes,
    ]
    return frame(drawn, look, title, notes, 30 * max(len(rows), 3) + 120)
