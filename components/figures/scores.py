"""How faithful and how alike the methods are: scoreboard, removal curves, agreement."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from backend.tokens.explanation import TokenExplanation
from backend.tokens.metrics import METRICS
from components.figures import labels
from components.figures.frame import color_axis, frame
from components.figures.palette import (
    Theme,
    colour,
    diverging,
    escape,
    ink_on,
    on_scale,
    sequential,
    shorten,
)
from components.figures.palette import theme as theme_of

RANDOM = "random"
LINES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A6FF0")
LINES_DARK = ("#56B4E9", "#F0883E", "#2FC796", "#E29CC5", "#F0C05A", "#8AC6EE", "#A9A2FF")
DASHES = ("solid", "dash", "dot", "dashdot")


@dataclasses.dataclass(frozen=True)
class ScoreRow:
    """One method on the scoreboard; the row of random rankings has a spread."""

    name: str
    metrics: Mapping[str, float | None]
    spread: Mapping[str, Sequence[float]] = dataclasses.field(default_factory=dict)
    """Metric -> (low, high) over the draws."""
    seconds: float | None = None
    forward_passes: int | None = None


@dataclasses.dataclass(frozen=True)
class _Standing:
    """How a value stands to the random rankings: its mark and colour."""

    name: str
    symbol: str
    better: bool | None

    def color(self, theme: Theme) -> str:
        if self.better is None:
            return theme.muted
        return colour(1.0 if self.better else -1.0, 1.0, theme)


BETTER = _Standing("better than random", "circle", True)
WITHIN = _Standing("like random", "circle-open", None)
WORSE = _Standing("worse than random", "diamond", False)


def scoreboard(
    rows: Sequence[ScoreRow],
    theme: str = "light",
    directions: Mapping[str, bool] | None = None,
    columns: int = 3,
) -> go.Figure:
    """A dot a method and metric, on the band in which random rankings lie.

    Args:
        directions: metric -> whether higher is better; None takes the metrics of the family.
        columns: panels a row.
    """
    look = theme_of(theme)
    titles = {metric.id: metric.title for metric in METRICS}
    ways = directions or {metric.id: metric.higher_is_better for metric in METRICS}
    metrics = [m for m in ways if any(row.metrics.get(m) is not None for row in rows)]
    if not metrics:
        return frame(go.Figure(), look, "Faithfulness", ["No metric is defined here."], 60)
    columns = min(columns, len(metrics))
    lines = math.ceil(len(metrics) / columns)
    figure = make_subplots(
        rows=lines,
        cols=columns,
        shared_yaxes=True,
        horizontal_spacing=0.04,
        vertical_spacing=min(0.9 / lines, 64 / (lines * (len(rows) * 22 + 64))),
        subplot_titles=[_panel_title(titles.get(m, m), ways[m], look) for m in metrics],
    )
    for index, metric in enumerate(metrics):
        place = {"row": index // columns + 1, "col": index % columns + 1}
        _panel(figure, rows, metric, ways[metric], look, place)
    names = [escape(row.name) for row in rows]
    figure.update_yaxes(
        categoryorder="array",
        categoryarray=names[::-1],
        range=[-0.6, len(names) - 0.4],
        gridcolor=look.grid,
    )
    figure.update_xaxes(showgrid=False, nticks=5, tickfont={"size": 11})
    figure.update_annotations(font={"size": 12.5}, xanchor="center")
    figure.update_layout(showlegend=False)
    notes = ["● better than random   ○ like random   ◆ worse   shaded: random rankings, 95 %"]
    return frame(figure, look, "Faithfulness", notes, lines * (len(rows) * 22 + 64) + 20)


def curves(
    scores: Mapping[str, TokenExplanation], operator: str, theme: str = "light"
) -> go.Figure:
    """The answer's probability while tokens go, the most important first and last.

    Args:
        scores: results of the faithfulness step by method; the random one is named `random`.
        operator: how a token is taken away.
    """
    look = theme_of(theme)
    orders = {"morf": "most important first", "lerf": "least important first"}
    figure = make_subplots(
        rows=1,
        cols=2,
        shared_yaxes=True,
        horizontal_spacing=0.04,
        subplot_titles=[*orders.values()],
    )
    figure.update_annotations(font={"size": 12.5, "color": look.muted})
    palette = LINES if look.name == "light" else LINES_DARK
    named = [name for name in scores if name != RANDOM]
    for column, order in enumerate(orders, start=1):
        place: dict[str, Any] = {"row": 1, "col": column}
        if RANDOM in scores:
            _random_curve(figure, scores[RANDOM], operator, order, look, place)
        for i, name in enumerate(named):
            found = scores[name].arrays
            y = found.get(f"curve/{operator}/{order}")
            if y is None:
                continue
            figure.add_scatter(
                x=_fractions(found, y),
                y=y.astype(np.float32),
                mode="lines",
                name=escape(name),
                legendgroup=name,
                showlegend=column == 1,
                line={
                    "color": palette[i % len(palette)],
                    "dash": DASHES[i // len(palette) % len(DASHES)],
                    "width": 2,
                },
                hovertemplate="%{y:.3g} with %{x:.0%} gone",
                **place,
            )
    figure.update_xaxes(title="share of the tokens taken away", tickformat=".0%", range=[0, 1])
    figure.update_yaxes(rangemode="tozero")
    figure.update_yaxes(title="probability of the answer, per token", row=1, col=1)
    figure.update_layout(legend={"orientation": "h", "y": -0.22, "x": 0, "yanchor": "top"})
    title = f"Removal curves · {operator.replace('_', ' ')}"
    legend = 22 * math.ceil(sum(labels.width(n) * 12 + 60 for n in scores) / 700)
    return frame(figure, look, title, [], 340 + legend)


def agreement(
    names: Sequence[str], matrix: np.ndarray, theme: str = "light", title: str = "Agreement"
) -> go.Figure:
    """A matrix of pairwise agreement with its numbers; NaN is grey with a dash.

    A cell can be clicked: its point has the two names as `customdata`.

    Args:
        matrix: [M, M], -1 to 1, or 0 to 1 where none of it is negative and it is no correlation.
    """
    look = theme_of(theme)
    values = np.asarray(matrix, dtype=np.float64)
    signed = "correlation" in title.lower() or bool((values[np.isfinite(values)] < 0).any())
    scale = diverging(look) if signed else sequential(look)
    low = -1.0 if signed else 0.0
    shown = [escape(shorten(name, 16)) for name in names]
    places = list(range(len(names)))
    figure = go.Figure(
        go.Heatmap(
            z=values.astype(np.float32),
            x=places,
            y=places,
            coloraxis="coloraxis",
            hoverinfo="skip",
            xgap=2,
            ygap=2,
        )
    )
    cells = [(i, j, values[i, j]) for i in places for j in places]
    inks = [
        ink_on(look.neutral if math.isnan(v) else on_scale((v - low) / (1 - low), scale))
        for _, _, v in cells
    ]
    figure.add_scatter(
        x=[j for _, j, _ in cells],
        y=[i for i, _, _ in cells],
        mode="markers+text",
        marker={"size": 30, "opacity": 0, "symbol": "square"},
        text=["–" if math.isnan(v) else f"{v:.2f}".replace("-", "−") for _, _, v in cells],
        textfont={"color": inks, "size": 13},
        customdata=[[names[i], names[j]] for i, j, _ in cells],
        hovertext=[
            f"{escape(names[i])} and {escape(names[j])}: "
            + ("not defined" if math.isnan(v) else f"{v:.3f}")
            for i, j, v in cells
        ],
        hovertemplate="%{hovertext}<extra></extra>",
        unselected={"textfont": {"color": look.ink}, "marker": {"opacity": 0}},
        selected={"marker": {"opacity": 0}},
        showlegend=False,
    )
    bar = color_axis(look, scale, (low, 1.0), title)
    ticks = {"tickvals": places, "ticktext": shown, "showgrid": False, "ticks": ""}
    span = [-0.5, len(names) - 0.5]
    figure.update_layout(coloraxis=bar, dragmode=False, clickmode="event+select")
    figure.update_xaxes(**ticks, range=span, tickangle=-35)
    figure.update_yaxes(**ticks, range=span[::-1])
    done = frame(figure, look, title, [], 46 * len(names) + 130)
    return done.update_layout(plot_bgcolor=look.neutral)


def _panel_title(title: str, higher: bool, theme: Theme) -> str:
    arrow = "higher is better →" if higher else "← lower is better"
    style = f"font-size:11px;color:{theme.muted}"
    return f'{escape(title)}  <span style="{style}">{arrow}</span>'


def _panel(
    figure: go.Figure,
    rows: Sequence[ScoreRow],
    metric: str,
    higher: bool,
    theme: Theme,
    place: dict[str, int],
) -> None:
    band = next((row.spread[metric] for row in rows if metric in row.spread), None)
    if band is not None:
        figure.add_vrect(
            x0=band[0], x1=band[1], fillcolor=theme.muted, opacity=0.16, line_width=0, **place
        )
    known = [(row, float(value)) for row in rows if (value := row.metrics.get(metric)) is not None]
    standings = [_standing(row, value, band, higher) for row, value in known]
    figure.add_scatter(
        x=[value for _, value in known],
        y=[escape(row.name) for row, _ in known],
        mode="markers",
        marker={
            "size": 9,
            "symbol": [standing.symbol for standing in standings],
            "color": [standing.color(theme) for standing in standings],
            "line": {"width": 1.6, "color": [standing.color(theme) for standing in standings]},
        },
        customdata=[standing.name for standing in standings],
        hovertemplate="%{y}: %{x:.4g}<br>%{customdata}<extra></extra>",
        cliponaxis=False,
        **place,
    )


def _standing(row: ScoreRow, value: float, band: Sequence[float] | None, higher: bool) -> _Standing:
    if row.name == RANDOM or band is None or band[0] <= value <= band[1]:
        return WITHIN
    return BETTER if (value > band[1]) == higher else WORSE


def _fractions(arrays: Mapping[str, np.ndarray], curve: np.ndarray) -> np.ndarray:
    known = arrays.get("fractions")
    found = known if known is not None else np.linspace(0.0, 1.0, len(curve))
    return found.astype(np.float32)


def _random_curve(
    figure: go.Figure,
    found: TokenExplanation,
    operator: str,
    order: str,
    theme: Theme,
    place: dict[str, Any],
) -> None:
    y = found.arrays.get(f"curve/{operator}/{order}")
    spread = found.arrays.get(f"spread/{operator}/{order}")
    if y is None:
        return
    x = _fractions(found.arrays, y)
    if spread is not None:
        figure.add_scatter(
            x=np.concatenate([x, x[::-1]]),
            y=np.concatenate([spread[0], spread[1][::-1]]).astype(np.float32),
            fill="toself",
            fillcolor=_veil(theme.muted),
            line={"width": 0},
            mode="lines",
            hoverinfo="skip",
            showlegend=False,
            legendgroup=RANDOM,
            **place,
        )
    figure.add_scatter(
        x=x,
        y=y.astype(np.float32),
        mode="lines",
        name=f"{RANDOM} (band: 95 %)" if spread is not None else RANDOM,
        legendgroup=RANDOM,
        showlegend=place["col"] == 1,
        line={"color": theme.muted, "dash": "dot", "width": 1.5},
        hovertemplate="%{y:.3g} with %{x:.0%} gone",
        **place,
    )


def _veil(colour: str) -> str:
    r, g, b = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({r},{g},{b},0.18)"
