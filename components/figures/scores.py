"""How faithful the methods are, beside random rankings; with curves and agreement."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from backend.control import won_by_control
from backend.metric import Metric
from components.figures.curves import RANDOM, curves
from components.figures.frame import color_axis, frame, numbered
from components.figures.matrix import agreement
from components.figures.palette import Theme, diverging, escape, ink_on, on_scale, shorten
from components.figures.palette import theme as theme_of

__all__ = ["RANDOM", "ScoreRow", "agreement", "curves", "distance", "scoreboard", "won"]

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
    control: bool = False
    """Whether it knows nothing, as random rankings."""


def won(rows: Sequence[ScoreRow], metrics: Sequence[Metric]) -> dict[str, str]:
    """Metric id -> the control whose row is at least as good as that of every method."""
    values = {row.name: row.metrics for row in rows}
    return won_by_control(values, {row.name for row in rows if row.control}, metrics)


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
    metrics: Sequence[Metric],
    theme: str = "light",
    title: str = "Faithfulness",
) -> go.Figure:
    """A table of metrics and methods, coloured by how far each value is from random rankings.

    The band in which random rankings lie is a column of its own. A metric nobody has is left out;
    a value that is not defined is grey with a dash, and a metric that a control wins is grey.

    Args:
        metrics: what the rows are scored by, in the order of the table.
    """
    look = theme_of(theme)
    shown = [m for m in metrics if any(row.metrics.get(m.id) is not None for row in rows)]
    random = next((row for row in rows if row.name == RANDOM), None)
    nothing = won(rows, shown)
    z = np.array(
        [
            [math.nan if metric.id in nothing else _distance(row, random, metric) for row in rows]
            for metric in shown
        ]
    )
    figure = go.Figure()
    _cells(figure, rows, shown, z.reshape(len(shown), len(rows)), look, nothing)
    names = [escape(shorten(row.name, 17)) for row in rows]
    if random is not None:
        names.append("95 % band")
        _band(figure, random, shown, len(rows), look)
    arrows = [f"{escape(m.title)} {'↑' if m.higher_is_better else '↓'}" for m in shown]
    numbered(figure, names, arrows)
    unit = "half-widths from random"
    bar = color_axis(look, diverging(look), (-FARTHEST, FARTHEST), unit)
    notes = [
        "Orange is better than random, blue worse, grey not defined.",
        "↑ higher is better, ↓ lower is better",
    ]
    if nothing:
        notes[0] = "Orange is better than random, blue worse."
        notes[1:1] = ["Grey: not defined, or a control does as well as the best method."]
    if not shown:
        notes = ["No metric is defined here."]
    elif random is None:
        notes = ["Random is not scored yet: nothing to compare with."]
    figure.update_layout(coloraxis=bar)
    done = frame(figure, look, title, notes, 32 * len(shown) + 130)
    return done.update_layout(plot_bgcolor=look.neutral)


def _cells(
    figure: go.Figure,
    rows: Sequence[ScoreRow],
    metrics: Sequence[Metric],
    z: np.ndarray,
    theme: Theme,
    nothing: Collection[str],
) -> None:
    """The coloured cells and their numbers; z [metrics, rows]. Those of `nothing` are muted."""
    figure.add_heatmap(
        z=z.astype(np.float32),
        x=list(range(len(rows))),
        y=list(range(len(metrics))),
        coloraxis="coloraxis",
        hoverinfo="skip",
        xgap=2,
        ygap=2,
    )
    scale = diverging(theme)
    shades = [
        theme.neutral if math.isnan(v) else on_scale(0.5 + v / (2 * FARTHEST), scale)
        for v in z.ravel().tolist()
    ]
    values = [(row, m, row.metrics.get(m.id)) for m in metrics for row in rows]
    figure.add_scatter(
        x=[i for _ in metrics for i in range(len(rows))],
        y=[j for j in range(len(metrics)) for _ in rows],
        mode="text",
        text=[_number(value) for _, _, value in values],
        textfont={
            "color": [
                _faint(theme) if m.id in nothing else ink_on(shade)
                for shade, (_, m, _) in zip(shades, values, strict=True)
            ],
            "size": 12,
        },
        hovertext=[
            f"<b>{escape(row.name)}</b><br>{escape(m.title)}: {_number(value, 4)}"
            for row, m, value in values
        ],
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
    )


def _faint(theme: Theme) -> str:
    """The muted colour, a little nearer to the ink: 4.5 against the neutral ground."""
    return on_scale(0.25, [(0.0, theme.muted), (1.0, theme.ink)])


def _distance(row: ScoreRow, random: ScoreRow | None, metric: Metric) -> float:
    value = row.metrics.get(metric.id)
    if value is None or random is None or metric.id not in random.spread:
        return math.nan
    centre = random.metrics.get(metric.id)
    if centre is None:
        return math.nan
    band = random.spread[metric.id]
    return distance(value, centre, band, higher_is_better=metric.higher_is_better)


def _band(
    figure: go.Figure, random: ScoreRow, metrics: Sequence[Metric], column: int, theme: Theme
) -> None:
    known = [(j, random.spread[m.id]) for j, m in enumerate(metrics) if m.id in random.spread]
    figure.add_scatter(
        x=[column] * len(known),
        y=[j for j, _ in known],
        mode="text",
        text=[f"{_number(low)}<br>{_number(high)}" for _, (low, high) in known],
        textfont={"color": theme.muted, "size": 10.5},
        hoverinfo="skip",
        showlegend=False,
    )
    figure.add_shape(
        type="rect",
        x0=column - 0.5,
        x1=column + 0.5,
        y0=-0.5,
        y1=len(metrics) - 0.5,
        fillcolor=theme.paper,
        line_width=0,
        layer="below",
    )


def _number(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:.{digits}f}".replace("-", "−")
