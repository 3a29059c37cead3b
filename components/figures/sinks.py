"""The plots of attention sinks: who looks at the sink, and what it says to them."""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go

from backend.tokens.explanation import TokenExplanation
from components.figures import sink_drift, sink_norms
from components.figures.frame import color_axis, frame, numbered
from components.figures.palette import Theme, sequential, shorten
from components.figures.palette import theme as theme_of
from components.figures.plot import Plot
from components.figures.sink_lines import BELOW, layer_axis, palette, per_layer

MOST_TICKS = 16


def plots(found: TokenExplanation, theme: str = "light") -> tuple[Plot, ...]:
    """Everything about one sink, the map of sink rates first.

    Raises:
        ValueError: the explanation is of no sink.
    """
    look = theme_of(theme)
    for name in ("rates", "attention_share", "points/norm", "curve/norm", "groups/drift"):
        if name not in found.arrays:
            raise ValueError(f"this explanation holds no measures of a sink ({name} is missing)")
    return (
        Plot(
            "Sink rate",
            rates(found, look),
            "Each cell is a head: the darker, the more attention the tokens after the sink pay it.",
        ),
        Plot(
            "Attention and contribution of the sink",
            shares(found, look),
            "Where the attention line runs above the contribution line, the sink is looked at "
            "and says little; pairs with a negative contribution are pushed away from what the "
            "layer writes.",
        ),
        Plot(
            "Output length against sink attention",
            sink_norms.scatter(found, look),
            "Each point is a head at a query. A curve that falls to the right: heads that look at "
            "the sink write less.",
        ),
        Plot(
            "Curvature by layer",
            sink_norms.curvature(found, look),
            "Bars above zero: output length is a convex function of sink attention in that layer. "
            "Read it with R², as a poor fit has a curvature too.",
        ),
        Plot(
            "One head, swept",
            sink_norms.sweep(found, look),
            "What this head would write at this query if it looked at the sink more or less, all "
            "else unchanged. The distance from the real point to the minimum is what is left to "
            "suppress.",
        ),
        Plot(
            "Opposition and drift by confidence",
            sink_drift.drift(found, look),
            "From unsure to sure queries. Opposition above zero: the sink writes against the other "
            "tokens. Where drift is below the lines without the sink, the sink holds the residual "
            "stream in place; the rest of each layer is kept as it was.",
        ),
    )


def rates(found: TokenExplanation, look: Theme) -> go.Figure:
    """Layers × heads: mean attention from later queries to the sink."""
    z = found.arrays["rates"]
    layers, heads = z.shape
    threshold = float(found.values["threshold"])
    figure = go.Figure()
    figure.add_heatmap(
        z=z.astype(np.float32),
        x=list(range(heads)),
        y=list(range(layers)),
        coloraxis="coloraxis",
        xgap=1 if heads <= 40 else 0,
        ygap=1 if layers <= 40 else 0,
        customdata=[[[i + 1, j + 1] for j in range(heads)] for i in range(layers)],
        hovertemplate="layer %{customdata[0]}, head %{customdata[1]}: %{z:.3f}<extra></extra>",
    )
    labels = [[str(i + 1) for i in range(count)] for count in (heads, layers)]
    numbered(figure, labels[0], labels[1], upwards=True, tilt=0)
    for axis, names in ((figure.layout.xaxis, labels[0]), (figure.layout.yaxis, labels[1])):
        step = math.ceil(len(names) / MOST_TICKS)
        axis.update(tickvals=list(range(0, len(names), step)), ticktext=names[::step])
    figure.update_xaxes(title="head")
    figure.update_yaxes(title="layer")
    unit = "mean attention to the sink, 0 to 1"
    figure.update_layout(coloraxis=color_axis(look, sequential(look), (0.0, 1.0), unit))
    share = float(found.values["model_rate"])
    notes = [
        _where(found),
        f"{share:.0%} of {layers * heads} heads pay it more than {threshold:g}",
    ]
    height = min(620, max(260, 15 * layers))
    return frame(figure, look, "Attention sinks · sink rate", notes, height)


def _where(found: TokenExplanation) -> str:
    """Which position is the sink, and how it was found."""
    at, word = int(found.values["sink"]), shorten(found.values["sink_text"], 12)
    received = float(found.arrays["received"][at])
    others = len(found.values["sinks"]) - 1
    if not found.values["above"]:
        return f"Position {at} “{word}” gets {received:.2f} of attention: no sink by the threshold"
    more = f"; {others} weaker sinks" if others > 1 else "; 1 weaker sink" if others else ""
    return f"Sink: position {at} “{word}”, gets {received:.2f} of all attention{more}"


def shares(found: TokenExplanation, look: Theme) -> go.Figure:
    """Attention share, contribution share and negative share of the sink, by layer."""
    colours = palette(look)
    figure = go.Figure()
    lines = (
        ("attention_share", "attention", colours[0], "solid"),
        ("contribution_share", "contribution", colours[1], "solid"),
        ("negative_share", "pairs with a negative contribution", look.muted, "dot"),
    )
    for array, name, colour, dash in lines:
        per_layer(figure, found.arrays[array], name, {"color": colour, "dash": dash, "width": 2})
    layer_axis(figure, len(found.arrays["attention_share"]))
    figure.update_yaxes(title="share", tickformat=".0%")
    figure.update_layout(legend=BELOW)
    attention, contribution = (
        float(np.nanmean(found.arrays[name])) for name in ("attention_share", "contribution_share")
    )
    notes = [f"Mean over layers: {attention:.0%} of attention, {contribution:.0%} of contribution"]
    return frame(figure, look, "The sink's attention and contribution", notes, 350)
