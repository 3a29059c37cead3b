"""Recovery of planted evidence: a dot an explainer with its interval, grouped by kind."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from backend.bootstrap import Interval
from backend.tokens.measured import FILE, RANDOM
from backend.tokens.needles import TITLES
from backend.tokens.suite_table import Row
from components.figures import labels
from components.figures.curves import LINES, LINES_DARK
from components.figures.frame import frame
from components.figures.palette import Theme, escape
from components.figures.palette import theme as theme_of

METRIC = "recovery"
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x")
NARROW = 330.0
"""Pixels of a legend on a telephone."""


def recovery(
    rows: Sequence[Row], titles: Mapping[str, str] | None = None, theme: str = "light"
) -> go.Figure:
    """Mean recovery with its interval by kind and explainer.

    Args:
        rows: of `suite_table.by_kind`.
        titles: explainer -> what a person calls it.
    """
    look = theme_of(theme)
    figure = go.Figure()
    known = [row for row in rows if row.metrics[METRIC].mean is not None]
    kinds = list(dict.fromkeys(row.kind for row in known))
    names = list(dict.fromkeys(row.explainer for row in known))
    step = len(names) + 1.4
    places = {
        (kind, name): i * step + 1 + j
        for i, kind in enumerate(kinds)
        for j, name in enumerate(names)
    }
    shown = {name: (titles or {}).get(name, name) for name in names}
    for number, name in enumerate(names):
        own = [row for row in known if row.explainer == name]
        _dots(figure, own, [places[row.kind, name] for row in own], shown[name], number, look)
    _ceilings(figure, known, places, look)
    for i, kind in enumerate(kinds):
        _heading(figure, kind, i * step, look)
    figure.update_xaxes(
        title="recovery (share of the evidence)",
        range=[-0.02, 1.02],
        tickformat=".0%",
        dtick=0.25,
    )
    figure.update_yaxes(
        range=[max(len(kinds), 1) * step - 0.4, -1.0], showticklabels=False, showgrid=False
    )
    below = {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"}
    figure.update_layout(legend=below)
    return frame(figure, look, "Recovery of planted evidence", _notes(known), _height(shown, kinds))


def _notes(known: Sequence[Row]) -> list[str]:
    if not known:
        return ["No prompt has planted evidence, so there is no recovery."]
    most = max(row.metrics[METRIC].n for row in known)
    return [
        "Share of the evidence among the top 10 % of tokens; right of random is better.",
        f"Means over {most} prompt{'' if most == 1 else 's'} or fewer, 95 % bootstrap intervals.",
    ]


def _height(shown: Mapping[str, str], kinds: Sequence[str]) -> int:
    width = sum(labels.width(name) * 12 + 60 for name in shown.values())
    lines = math.ceil(width / NARROW) + 1
    return round(18 * max(len(kinds), 1) * (len(shown) + 1.4)) + 80 + 20 * lines


def _dots(
    figure: go.Figure,
    rows: Sequence[Row],
    places: Sequence[float],
    title: str,
    number: int,
    theme: Theme,
) -> None:
    """One explainer's means with their intervals."""
    palette = LINES if theme.name == "light" else LINES_DARK
    random = rows[0].explainer == RANDOM
    colour = theme.muted if random else palette[number % len(palette)]
    lines = [_line(row.metrics[METRIC]) for row in rows]
    figure.add_scatter(
        x=[mean for mean, _, _ in lines],
        y=list(places),
        mode="markers",
        name=escape(title),
        marker={
            "color": colour,
            "size": 9,
            "symbol": "line-ns-open" if random else SYMBOLS[number % len(SYMBOLS)],
            "line": {"width": 2 if random else 0, "color": colour},
        },
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [above for _, _, above in lines],
            "arrayminus": [below for _, below, _ in lines],
            "color": colour,
            "thickness": 1.6,
            "width": 4,
        },
        hovertext=[_hover(row, title) for row in rows],
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _line(found: Interval) -> tuple[float, float, float]:
    """Mean, and how far the interval reaches below and above it."""
    mean = found.mean or 0.0
    if found.low is None or found.high is None:
        return mean, 0.0, 0.0
    return mean, mean - found.low, found.high - mean


def _hover(row: Row, title: str) -> str:
    found = row.metrics[METRIC]
    ends = f" [{found.low:.1%}, {found.high:.1%}]" if found.low is not None else ""
    count = f"{found.n} prompt{'' if found.n == 1 else 's'}"
    name, kind = escape(title), escape(heading(row.kind))
    return f"<b>{name}</b><br>{kind}<br>{found.mean:.1%}{ends}<br>{count}"


def _ceilings(
    figure: go.Figure,
    known: Sequence[Row],
    places: Mapping[tuple[str, str], float],
    theme: Theme,
) -> None:
    """The highest recovery there can be, where the evidence is longer than 10 %."""
    x: list[float | None] = []
    y: list[float | None] = []
    most = {row.kind: row.ceiling for row in known if row.ceiling is not None and row.ceiling < 1}
    for kind, ceiling in most.items():
        own = [place for (k, _), place in places.items() if k == kind]
        x += [ceiling, ceiling, None]
        y += [min(own) - 0.4, max(own) + 0.4, None]
    if x:
        figure.add_scatter(
            x=x,
            y=y,
            mode="lines",
            name="highest possible",
            line={"color": theme.gold, "dash": "dot", "width": 1.6},
            hovertemplate="highest possible: %{x:.1%}<extra></extra>",
        )


def _heading(figure: go.Figure, kind: str, place: float, theme: Theme) -> None:
    figure.add_annotation(
        x=0,
        y=place,
        xref="paper",
        text=f"<b>{escape(heading(kind))}</b>",
        showarrow=False,
        xanchor="left",
        font={"size": 12.5, "color": theme.ink},
    )


def heading(kind: str) -> str:
    """What a person calls a kind of prompts."""
    return TITLES.get(kind, "Your prompts" if kind == FILE else kind)
