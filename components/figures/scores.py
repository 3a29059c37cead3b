"""How faithful the methods are, beside random rankings; with curves and agreement."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from backend.tokens.metrics import METRICS
from components.figures.curves import RANDOM, curves
from components.figures.frame import color_axis, frame
from components.figures.matrix import agreement
from components.figures.palette import diverging, escape, ink_on, on_scale
from components.figures.palette import theme as theme_of

__all__ = ["RANDOM", "ScoreRow", "agreement", "curves", "distance", "scoreboard"]

FARTHEST = 3.0
"""Half-widths of the random band at which the colour is strongest."""


@dataclasses.dataclass(frozen=True)
class ScoreRow:
    """One method on the scoreboard; the row of random rankings has a spread."""

    name: str
    metrics: Mapping[str, float | None]
    spread: Mapping[str, Sequence[float]] = dataclasses.field(default_factory=dict)
    """Metric -> (low, high) over the draws."""
    seconds: float | None = None
    forward_passes: int | None = None


def distance(
    value: float, centre: float, band: Sequence[float], *, higher_is_better: bool
) -> float:
    """How much better than random, in half-widths of the random band; ±1 is about its edge.

    A band of no width puts every other value at the farthest.
    """
    way = (value - centre) * (1 if higher_is_better else -1)
    half = (band[1] - band[0]) / 2
    if half <= 0:
        return math.copysign(FARTHEST, way) if way else 0.0
    return max(-FARTHEST, min(FARTHEST, way / half))


def scoreboard(
    rows: Sequence[ScoreRow],
    theme: str = "light",
    directions: Mapping[str, bool] | None = None,
) -> go.Figure:
    """A table of methods and metrics, coloured by how far each is from random rankings.

    The band in which random rankings lie is a row of its own. A metric nobody has is left out; a
    value that is not defined is grey with a dash.

    Args:
        directions: metric -> whether higher is better; None takes the metrics of the family.
    """
    look = theme_of(theme)
    titles = {metric.id: metric.title for metric in METRICS}
    ways = directions or {metric.id: metric.higher_is_better for metric in METRICS}
    metrics = [m for m in ways if any(row.metrics.get(m) is not None for row in rows)]
    random = next((row for row in rows if row.name == RANDOM), None)
    z = [[_distance(row, random, m, ways[m]) for m in metrics] for row in rows]
    names = [escape(row.name) for row in rows]
    scale = diverging(look)
    figure = go.Figure(
        go.Heatmap(
            z=np.array(z, dtype=np.float32).reshape(len(rows), len(metrics)),
            x=list(range(len(metrics))),
            y=list(range(len(rows))),
            coloraxis="coloraxis",
            hoverinfo="skip",
            xgap=2,
            ygap=2,
        )
    )
    places = [(i, j) for i in range(len(rows)) for j in range(len(metrics))]
    shades = [
        look.neutral if math.isnan(v := z[i][j]) else on_scale(0.5 + v / (2 * FARTHEST), scale)
        for i, j in places
    ]
    figure.add_scatter(
        x=[j for _, j in places],
        y=[i for i, _ in places],
        mode="text",
        text=[_number(rows[i].metrics.get(metrics[j])) for i, j in places],
        textfont={"color": [ink_on(shade) for shade in shades], "size": 12},
        hovertext=[
            f"<b>{names[i]}</b><br>{escape(titles.get(metrics[j], metrics[j]))}: "
            f"{_number(rows[i].metrics.get(metrics[j]), 4)}"
            for i, j in places
        ],
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
    )
    if random is not None:
        names.append("its 95 % band")
        _band(figure, random, metrics, len(rows), look.muted)
    arrows = [f"{escape(titles.get(m, m))} {'↑' if ways[m] else '↓'}" for m in metrics]
    grid = {"showgrid": False, "ticks": ""}
    figure.update_xaxes(
        tickvals=list(range(len(metrics))),
        ticktext=arrows,
        tickangle=-40,
        range=[-0.5, max(len(metrics), 1) - 0.5],
        side="top",
        **grid,
    )
    figure.update_yaxes(
        tickvals=list(range(len(names))), ticktext=names, range=[len(names) - 0.5, -0.5], **grid
    )
    unit = "distance from random, in half-widths of its band"
    place = {"orientation": "h", "y": -0.02, "yanchor": "top", "x": 0.5, "len": 0.9}
    bar = color_axis(look, scale, (-FARTHEST, FARTHEST), unit, **place)
    bar["colorbar"]["title"]["side"] = "top"
    figure.update_layout(coloraxis=bar)
    notes = ["orange: better than random rankings; blue: worse; ↑ higher is better, ↓ lower"]
    if not metrics:
        notes = ["No metric is defined here."]
    elif random is None:
        notes = ["Random rankings are not scored yet: nothing to compare with."]
    return frame(figure, look, "Faithfulness", notes, 28 * len(names) + 190)


def _distance(row: ScoreRow, random: ScoreRow | None, metric: str, higher: bool) -> float:
    value = row.metrics.get(metric)
    if value is None or random is None or metric not in random.spread:
        return math.nan
    centre = random.metrics.get(metric)
    if centre is None:
        return math.nan
    return distance(value, centre, random.spread[metric], higher_is_better=higher)


def _band(
    figure: go.Figure, random: ScoreRow, metrics: Sequence[str], row: int, colour: str
) -> None:
    known = [(j, random.spread[m]) for j, m in enumerate(metrics) if m in random.spread]
    figure.add_scatter(
        x=[j for j, _ in known],
        y=[row] * len(known),
        mode="text",
        text=[f"{_number(low)}<br>{_number(high)}" for _, (low, high) in known],
        textfont={"color": colour, "size": 10},
        hoverinfo="skip",
        showlegend=False,
    )


def _number(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:.{digits}f}".replace("-", "−")
