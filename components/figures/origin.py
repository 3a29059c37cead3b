"""The origin of attention sinks: one plot a step of the chain."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from backend.tokens.explanation import TokenExplanation
from components.figures.frame import color_axis, frame, numbered
from components.figures.lines import Line, Panel, layer_ticks, panels, thinned
from components.figures.origin_neurons import neurons
from components.figures.palette import Theme, diverging, shorten, visible
from components.figures.palette import theme as theme_of
from components.figures.plot import Plot

SINK, OTHERS = "the sink", "mean of the others"
FIRST_LAYERS = 3
MOST_POINTS = 600
"""Positions drawn of a line."""


def plots(found: TokenExplanation, theme: str = "light") -> tuple[Plot, ...]:
    """The plots in the order of the chain, the onset first: it stands for all of them.

    Raises:
        ValueError: the explanation is none of this view.
    """
    look = theme_of(theme)
    if found.values.get("view") != "sink_origin":
        raise ValueError("this explanation does not hold the origin of a sink")
    return (
        _onset(found, look),
        _variance(found, look),
        _by_position(found, look),
        *neurons(found, look),
        _dominance(found, look),
        _locking(found, look),
        _heads(found, look),
        _rank(found, look),
    )


def _others(found: TokenExplanation, name: str) -> np.ndarray:
    """Mean over all positions but the sink of an array [..., N]."""
    values = found.arrays[name].astype(np.float64)
    return np.asarray(np.delete(values, found.values["sink"], axis=-1).mean(axis=-1))


def _at_sink(found: TokenExplanation, name: str) -> np.ndarray:
    return np.asarray(found.arrays[name][..., found.values["sink"]], dtype=np.float64)


def _layers(found: TokenExplanation) -> np.ndarray:
    return np.arange(1, len(found.arrays["spread_in"]) + 1)


def _named(found: TokenExplanation) -> str:
    """The sink in words."""
    text = visible(shorten(found.values["sink_text"], 24))
    return f"The sink is position {found.values['sink']}, “{text}”"


def _onset(found: TokenExplanation, look: Theme) -> Plot:
    layers = _layers(found)
    depths = np.arange(len(layers) + 1)
    attention = found.arrays["attention_sink"].mean(axis=1)
    mark = found.values["onset"] + 1
    top = Panel(
        "layer",
        "share of attention",
        (
            Line(SINK, layers, attention),
            Line(OTHERS, layers, found.arrays["attention_others"], muted=True),
        ),
        "Attention of later queries to one key",
        mark=mark,
        mark_name=f"onset: layer {mark}",
        ticks=layer_ticks(len(layers)),
    )
    bottom = Panel(
        "after layer",
        "‖x‖, log scale",
        (
            Line(SINK, depths, _at_sink(found, "norm")),
            Line(OTHERS, depths, _others(found, "norm"), muted=True),
        ),
        "Length of the residual",
        log_y=True,
        ticks=layer_ticks(len(layers), depths=True),
    )
    return Plot(
        "Sink onset",
        panels((top, bottom), look, "Sink onset", [_named(found)]),
        "Above: how much attention later positions pay to the sink, on average over heads, beside "
        "any other key; the dashed line is the first layer at 80 % of the largest. Below: how long "
        "its residual vector is.",
    )


def _variance(found: TokenExplanation, look: Theme) -> Plot:
    layers = _layers(found)
    lines = tuple(
        Line(name, layers, _at_sink(found, array) / _others(found, array))
        for name, array in (("projection input", "spread_in"), ("projection output", "spread_out"))
    )
    even = Line("as the others", layers, np.ones(len(layers)), muted=True)
    panel = Panel("layer", "ratio", (*lines, even), ticks=layer_ticks(len(layers)))
    title = "Variance at the sink"
    return Plot(
        title,
        panels((panel,), look, title, ["Standard deviation over features, sink ÷ mean of others"]),
        "Above 1 the attention output spreads more over its features at the sink than elsewhere. "
        "The first layers matter: the sink has nothing to average there; later it is a matter of "
        "what a sink attends to, itself.",
    )


def _by_position(found: TokenExplanation, look: Theme) -> Plot:
    length = found.arrays["spread_in"].shape[1]
    at = thinned(length, MOST_POINTS)
    sink = found.values["sink"]
    shown = tuple(
        Panel(
            "position of the token",
            "standard deviation",
            tuple(
                Line(f"layer {layer + 1}", at, found.arrays[array][layer, at])
                for layer in range(min(FIRST_LAYERS, len(found.arrays[array])))
            ),
            name,
            mark=sink,
            mark_name="sink",
        )
        for name, array in (
            ("Input of the output projection", "spread_in"),
            ("Output of the output projection", "spread_out"),
        )
    )
    title = "Variance by position"
    return Plot(
        title,
        panels(
            shown, look, title, ["Over the features of the attention output, first layers"], 200
        ),
        "A position that averages few values keeps more variance: curves that fall from left to "
        "right show it, before and after the output projection.",
    )


def _dominance(found: TokenExplanation, look: Theme) -> Plot:
    depths = np.arange(len(found.arrays["dominance"]))
    ratio, which = _at_sink(found, "dominance"), found.arrays["dimension"]
    hover = tuple(
        f"the sink: {value:.3g}, dimension {int(k)}" for value, k in zip(ratio, which, strict=True)
    )
    panel = Panel(
        "after layer",
        "max |v| ÷ mean |v|",
        (
            Line(SINK, depths, ratio, hover),
            Line(OTHERS, depths, _others(found, "dominance"), muted=True),
        ),
        ticks=layer_ticks(len(depths) - 1, depths=True),
    )
    best = int(ratio.argmax())
    where = f"after layer {best}" if best else "at the input"
    note = f"Largest {where}: {ratio[best]:.0f}, dimension {int(which[best])} of the residual"
    title = "Dimension disparity"
    return Plot(
        title,
        panels((panel,), look, title, [note]),
        "How far the largest of the residual's dimensions stands above their mean. A high plateau: "
        "the sink is nearly one fixed direction there, whatever the text says.",
    )


def _locking(found: TokenExplanation, look: Theme) -> Plot:
    layers, arrays = _layers(found), found.arrays
    top = Panel(
        "layer",
        "cosine",
        (
            Line(SINK, layers, arrays["locking_sink"].mean(axis=1)),
            Line("other earlier keys", layers, arrays["locking_others"].mean(axis=1), muted=True),
        ),
        "Mean over heads and later queries",
        ticks=layer_ticks(len(layers)),
    )
    positive = Panel(
        "layer",
        "share of queries",
        (Line("positive with the sink", layers, arrays["locking_positive"].mean(axis=1)),),
        "Queries whose product with the sink's key is positive",
        ticks=layer_ticks(len(layers)),
    )
    title = "Queries and the sink's key"
    return Plot(
        title,
        panels((top, positive), look, title, ["After position encoding, averaged over heads"], 200),
        "A cosine well above that of other keys: queries point at the sink's key whatever they "
        "look for.",
    )


def _heads(found: TokenExplanation, look: Theme) -> Plot:
    values = found.arrays["locking_sink"].astype(np.float64)
    layers, heads = values.shape
    figure = go.Figure()
    more = np.dstack([found.arrays["locking_others"], found.arrays["locking_positive"]])
    figure.add_heatmap(
        z=values.astype(np.float32),
        x=list(range(heads)),
        y=list(range(layers)),
        customdata=more.astype(np.float32),
        coloraxis="coloraxis",
        xgap=1,
        ygap=1,
        hovertemplate="cosine with the sink's key %{z:.3f}<br>with other keys "
        "%{customdata[0]:.3f}<br>positive for %{customdata[1]:.0%} of queries<extra></extra>",
    )
    step, stride = -(-layers // 40), -(-heads // 16)
    rows = [str(i + 1) if i % step == 0 else "" for i in range(layers)]
    columns = [str(i + 1) if i % stride == 0 else "" for i in range(heads)]
    numbered(figure, columns, rows, upwards=True, tilt=0)
    figure.update_xaxes(title="head")
    figure.update_yaxes(title="layer")
    limit = max(1e-6, float(np.nanmax(np.abs(values))))
    bar = color_axis(look, diverging(look), (-limit, limit), "cosine with the sink's key")
    figure.update_layout(coloraxis=bar)
    title = "Queries and the sink's key, by head"
    note = "Mean cosine between the sink's key and later queries"
    return Plot(
        title,
        frame(figure, look, title, [note], min(700, 16 * layers) + 90),
        "Orange heads lock on to the sink, blue ones turn away from it.",
    )


def _rank(found: TokenExplanation, look: Theme) -> Plot:
    layers = _layers(found)
    width, rows = found.values["width"], found.values["rank_rows"]
    panel = Panel(
        "after layer",
        "directions",
        (Line("effective rank", layers, found.arrays["rank"]),),
        ticks=layer_ticks(len(layers)),
    )
    most = f"At most {min(rows, width):,}: {rows:,} rows of {width:,} dimensions"
    title = "Effective rank"
    return Plot(
        title,
        panels((panel,), look, title, [most]),
        "Over how many directions the block's outputs spread: exp of the entropy of their singular "
        "values. One very long vector makes it fall.",
    )
