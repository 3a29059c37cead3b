"""Removal curves: the answer's probability while tokens are taken away."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from backend.tokens.explanation import TokenExplanation
from components.figures import labels
from components.figures.frame import frame
from components.figures.palette import Theme, escape
from components.figures.palette import theme as theme_of

RANDOM = "random"
LINES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B07C00", "#56B4E9", "#7A6FF0")
LINES_DARK = ("#56B4E9", "#F0883E", "#2FC796", "#E29CC5", "#F0C05A", "#8AC6EE", "#A9A2FF")
DASHES = ("solid", "dash", "dot", "dashdot")
ORDERS = {"morf": "most important first", "lerf": "least important first"}


def curves(
    scores: Mapping[str, TokenExplanation], operator: str, theme: str = "light"
) -> go.Figure:
    """The answer's probability while tokens go, the most important first and last.

    Args:
        scores: results of the faithfulness step by method; the random one is named `random`.
        operator: how a token is taken away.
    """
    look = theme_of(theme)
    figure = make_subplots(
        rows=1,
        cols=2,
        shared_yaxes=True,
        horizontal_spacing=0.08,
        subplot_titles=[*ORDERS.values()],
    )
    figure.update_annotations(font={"size": 12.5, "color": look.muted})
    palette = LINES if look.name == "light" else LINES_DARK
    named = [name for name in scores if name != RANDOM]
    for column, order in enumerate(ORDERS, start=1):
        place: dict[str, Any] = {"row": 1, "col": column}
        if RANDOM in scores:
            _random_curve(figure, scores[RANDOM], operator, order, look, place)
        for i, name in enumerate(named):
            line = {
                "color": palette[i % len(palette)],
                "dash": DASHES[i // len(palette) % len(DASHES)],
                "width": 2,
            }
            _curve(figure, name, scores[name], f"curve/{operator}/{order}", line, place)
    figure.update_xaxes(title="tokens taken away", tickformat=".0%", range=[0, 1])
    figure.update_yaxes(rangemode="tozero")
    figure.update_yaxes(title="answer probability", row=1, col=1)
    below = {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"}
    figure.update_layout(legend=below)
    title = f"Removal curves · {operator.replace('_', ' ')}"
    legend = 22 * math.ceil(sum(labels.width(n) * 12 + 60 for n in scores) / 700)
    return frame(figure, look, title, [], 350 + legend, panels=True)


def _curve(
    figure: go.Figure,
    name: str,
    found: TokenExplanation,
    array: str,
    line: dict[str, Any],
    place: dict[str, Any],
) -> None:
    y = found.arrays.get(array)
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
        hovertemplate="%{y:.3g} with %{x:.0%} gone",
        **place,
    )


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
