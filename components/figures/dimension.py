"""The effective dimension of attention, MLP and residual outputs, layer by layer."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from backend.tokens.explanation import TokenExplanation
from components.figures.curves import LINES, LINES_DARK
from components.figures.frame import frame
from components.figures.palette import theme as theme_of
from components.figures.plot import Plot

BY_VARIANCE = "Directions that hold 99 % of the variance"
BY_ENTROPY = "Entropy rank"
BELOW = {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"}


def plots(found: TokenExplanation, theme: str = "light") -> tuple[Plot, ...]:
    """Both counts by layer, and how variance adds up direction by direction."""
    tokens, width = found.values["tokens"], found.values["width"]
    over = f"{tokens:,} tokens, {width:,} dimensions, {found.values['text']} text"
    return (
        Plot(
            BY_VARIANCE,
            _by_layer(found, "variance_share", BY_VARIANCE, over, theme),
            "The lower a line, the fewer directions that part of the layer writes in. Attention "
            "below the residual stream means it adds into a subspace of it.",
        ),
        Plot(
            BY_ENTROPY,
            _by_layer(found, "entropy_share", BY_ENTROPY, over, theme),
            "The same question without a threshold: a cloud even in k directions has the entropy "
            "rank k. A few huge directions lower it, many small ones raise it.",
        ),
        Plot(
            "Variance by number of directions",
            _scree(found, over, theme),
            "How much of the variance the strongest directions hold, in the first, the middle and "
            "the last measured layer. A curve that rises at once lies in few directions.",
        ),
    )


def _by_layer(found: TokenExplanation, array: str, title: str, over: str, theme: str) -> go.Figure:
    look = theme_of(theme)
    colours = LINES if look.name == "light" else LINES_DARK
    figure = go.Figure()
    for i, part in enumerate(found.values["parts"]):
        figure.add_scatter(
            x=found.values["layers"],
            y=found.arrays[array][i],
            name=part,
            mode="lines+markers",
            line={"color": colours[i], "width": 2},
            marker={"symbol": ("circle", "square", "diamond")[i], "size": 6},
            hovertemplate=f"layer %{{x}}: %{{y:.1%}} of the dimensions<extra>{part}</extra>",
        )
    figure.update_xaxes(title="layer")
    figure.update_yaxes(title="share of dimensions", tickformat=".0%", range=[0, 1.02])
    drawn = frame(figure, look, title, [over], 400)
    return drawn.update_layout(legend=BELOW, margin_b=90)


def _scree(found: TokenExplanation, over: str, theme: str) -> go.Figure:
    look = theme_of(theme)
    colours = LINES if look.name == "light" else LINES_DARK
    layers, width = found.values["layers"], found.values["width"]
    places = dict.fromkeys((0, len(layers) // 2, len(layers) - 1))
    figure = go.Figure()
    for dash, place in zip(("solid", "dash", "dot"), places, strict=False):
        for i, part in enumerate(found.values["parts"]):
            held = np.cumsum(found.arrays["spectrum"][i, place], dtype=np.float64)
            figure.add_scatter(
                x=np.arange(1, width + 1) / width,
                y=held,
                name=f"{part}, layer {layers[place]}",
                mode="lines",
                line={"color": colours[i], "dash": dash, "width": 2},
                hovertemplate="%{x:.1%} of the dimensions: %{y:.1%}<extra>%{fullData.name}</extra>",
            )
    figure.update_xaxes(title="strongest directions, share of all", tickformat=".0%", range=[0, 1])
    figure.update_yaxes(title="share of the variance", tickformat=".0%", range=[0, 1.02])
    drawn = frame(figure, look, "Variance by number of directions", [over], 480)
    return drawn.update_layout(legend=BELOW, margin_b=150)
