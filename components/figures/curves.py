"""Removal curves: the answer's probability while tokens, or concepts, are taken away."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from backend.explanation import Explanation
from components.figures import labels
from components.figures.frame import frame
from components.figures.palette import Theme, escape
from components.figures.palette import theme as theme_of

RANDOM = "random"
LINES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B07C00", "#56B4E9", "#7A6FF0")
LINES_DARK = ("#56B4E9", "#F0883E", "#2FC796", "#E29CC5", "#F0C05A", "#8AC6EE", "#A9A2FF")
DASHES = ("solid", "dash", "dot", "dashdot")


@dataclasses.dataclass(frozen=True)
class Wording:
    """Which curves are drawn, one panel each, and what is written beside them."""

    title: str
    orders: Mapping[str, str]
    """Last part of the array's name -> the panel's title."""
    x: str
    y: str
    notes: tuple[str, ...] = ()
    curve: str = "curve"
    spread: str = "spread"
    gone: str = "gone"


def curves(
    scores: Mapping[str, Explanation],
    operator: str,
    theme: str = "light",
    wording: Wording | None = None,
) -> go.Figure:
    """The answer's probability while tokens go, the most important first and last.

    Args:
        scores: results of the faithfulness step by method; the random one is named `random`.
        operator: how a token is taken away.
        wording: of another family's curves; None is that of tokens.
    """
    said = wording or _tokens(operator)
    look = theme_of(theme)
    figure = make_subplots(
        rows=1,
        cols=len(said.orders),
        shared_yaxes=True,
        horizontal_spacing=0.08,
        subplot_titles=[*said.orders.values()],
    )
    figure.update_annotations(font={"size": 12.5, "color": look.muted})
    palette = LINES if look.name == "light" else LINES_DARK
    named = [name for name in scores if name != RANDOM]
    for column, order in enumerate(said.orders, start=1):
        place: dict[str, Any] = {"row": 1, "col": column}
        if RANDOM in scores:
            _random_curve(figure, scores[RANDOM], f"{operator}/{order}", said, look, place)
        for i, name in enumerate(named):
            line = {
                "color": palette[i % len(palette)],
                "dash": DASHES[i // len(palette) % len(DASHES)],
                "width": 2,
            }
            _curve(figure, name, scores[name], f"{operator}/{order}", said, line, place)
    figure.update_xaxes(title=said.x, tickformat=".0%", range=[0, 1])
    figure.update_yaxes(rangemode="tozero" if said.curve == "curve" else "normal")
    figure.update_yaxes(title=said.y, row=1, col=1)
    below = {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"}
    figure.update_layout(legend=below)
    legend = 22 * math.ceil(sum(labels.width(n) * 12 + 60 for n in scores) / 700)
    return frame(figure, look, said.title, list(said.notes), 350 + legend, panels=True)


def _tokens(operator: str) -> Wording:
    return Wording(
        title=f"Removal curves · {operator.replace('_', ' ')}",
        orders={"morf": "most important first", "lerf": "least important first"},
        x="tokens taken away",
        y="answer probability",
    )


def _curve(
    figure: go.Figure,
    name: str,
    found: Explanation,
    which: str,
    said: Wording,
    line: dict[str, Any],
    place: dict[str, Any],
) -> None:
    y = found.arrays.get(f"{said.curve}/{which}")
    if y is None:
        return
    figure.add_scatter(
        x=_fractions(found.arrays, y),
        y=y.astype(np.float32),
        mode="lines",
        name=escape(name),
        legendgroup=name,
        showlegend=place["col"] == 1,
        line=line,
        hovertemplate=f"%{{y:.3g}} with %{{x:.0%}} {said.gone}",
        **place,
    )


def _fractions(arrays: Mapping[str, np.ndarray], curve: np.ndarray) -> np.ndarray:
    known = arrays.get("fractions")
    found = known if known is not None else np.linspace(0.0, 1.0, len(curve))
    return found.astype(np.float32)


def _random_curve(
    figure: go.Figure,
    found: Explanation,
    which: str,
    said: Wording,
    theme: Theme,
    place: dict[str, Any],
) -> None:
    y = found.arrays.get(f"{said.curve}/{which}")
    spread = found.arrays.get(f"{said.spread}/{which}")
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
        hovertemplate=f"%{{y:.3g}} with %{{x:.0%}} {said.gone}",
        **place,
    )


def _veil(colour: str) -> str:
    r, g, b = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({r},{g},{b},0.18)"
