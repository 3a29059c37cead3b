"""What repeated explanations have in common: each position's mean score and its spread."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from backend.stability import OFTEN, Stability
from components.figures.frame import frame
from components.figures.graph_parts import percent
from components.figures.palette import colour, escape, shorten
from components.figures.palette import theme as theme_of

MOST = 15
"""Positions shown, those with the highest means."""
ROW = 24
PALE = 0.35


def spread(
    names: Sequence[str], measured: Stability, theme: str = "light", what: str = "position"
) -> go.Figure:
    """A bar a position, the highest mean first, with one standard deviation to either side.

    Args:
        names: [N] of the positions. what: a position, in a word.
    """
    look = theme_of(theme)
    there = np.flatnonzero(np.isfinite(measured.mean))
    order = there[np.argsort(-measured.mean[there], kind="stable")][:MOST]
    means = measured.mean[order]
    limit = float(np.abs(means).max(initial=0.0)) or 1.0
    stable = measured.stable[order]
    deviations = np.nan_to_num(measured.deviation[order])
    plot = go.Figure(
        go.Bar(
            x=means,
            y=list(range(len(order))),
            orientation="h",
            marker={
                "color": [colour(mean, limit, look) for mean in means.tolist()],
                "opacity": [1.0 if one else PALE for one in stable.tolist()],
                "line": {"color": look.muted, "width": [1.5 if s else 0 for s in stable.tolist()]},
            },
            error_x={"type": "data", "array": deviations, "color": look.muted, "thickness": 1.2},
            hovertext=[
                f"<b>{escape(names[p])}</b><br>mean {measured.mean[p]:.4g}, "
                f"deviation {measured.deviation[p]:.3g}<br>among the highest in "
                f"{measured.often[p]:.0%} of {measured.runs} runs"
                for p in order.tolist()
            ],
            hoverinfo="text",
        )
    )
    plot.update_xaxes(title="mean score over the runs")
    plot.update_yaxes(
        tickvals=list(range(len(order))),
        ticktext=[escape(shorten(names[p], 18)) for p in order.tolist()],
        range=[len(order) - 0.4, -0.6],
        showgrid=False,
    )
    left = len(there) - len(order)
    notes = [f"outlined: among the highest in at least {percent(OFTEN)} of the runs"]
    notes += [f"{left} {what}{'s' if left > 1 else ''} with lower means not shown"] if left else []
    return frame(plot, look, "Mean and spread", notes, ROW * max(len(order), 1) + 70)
