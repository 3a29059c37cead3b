"""Super neurons: which answer to the sink alone, what they read, and where they write."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from backend.tokens.explanation import TokenExplanation
from components.figures.curves import LINES, LINES_DARK
from components.figures.frame import frame
from components.figures.lines import Line, Panel, layer_ticks, panels, thinned
from components.figures.palette import Theme
from components.figures.plot import Plot

MOST_POINTS = 600


def neurons(found: TokenExplanation, look: Theme) -> tuple[Plot, ...]:
    """The plots of the MLP's part, none where no MLP was found."""
    if "neurons" not in found.arrays:
        return ()
    return (
        _by_layer(found, look),
        _by_position(found, look),
        _norms(found, look),
        _column(found, look),
        _dimensions(found, look),
    )


def _name(found: TokenExplanation, rank: int) -> str:
    return f"neuron {int(found.arrays['neurons'][rank])}"


def _where(found: TokenExplanation) -> str:
    return f"Layer {found.values['neuron_layer'] + 1}"


def _by_layer(found: TokenExplanation, look: Theme) -> Plot:
    ratio, which = found.arrays["neuron_ratio"], found.arrays["neuron_of_layer"]
    layers = np.arange(1, len(ratio) + 1)
    hover = tuple(
        f"layer {layer}, neuron {int(n)}: {value:,.0f} ×"
        for layer, n, value in zip(layers, which, ratio, strict=True)
    )
    line = Line("most selective neuron", layers, ratio, hover)
    best = found.values["neuron_layer"] + 1
    panel = Panel(
        "layer",
        "|a| at the sink ÷ usual |a|",
        (line,),
        log_y=True,
        mark=best,
        mark_name=f"layer {best}, {_name(found, 0)}",
        ticks=layer_ticks(len(ratio)),
    )
    title = "Super neurons"
    note = "Activation at the sink over the median of the other positions"
    return Plot(
        title,
        panels((panel,), look, title, [note]),
        "A peak: one MLP neuron of that layer answers to the sink and to hardly anything else. The "
        "next plots show the highest peak.",
    )


def _by_position(found: TokenExplanation, look: Theme) -> Plot:
    arrays, sink = found.arrays, found.values["sink"]
    at = thinned(arrays["neuron_activation"].shape[1], MOST_POINTS)
    if sink not in at:
        at = np.sort(np.append(at, sink))
    sizes = np.abs(arrays["neuron_activation"][:, at].astype(np.float64))
    sizes[sizes == 0.0] = np.nan
    shown = [
        Panel(
            "position of the token",
            "|activation|, log scale",
            tuple(Line(_name(found, i), at, sizes[i]) for i in range(len(sizes))),
            "Input of the down projection",
            log_y=True,
            mark=sink,
            mark_name="sink",
        )
    ]
    if "read_cosine" in arrays:
        what = "gate's" if found.values["gated"] else "neuron's"
        shown.append(
            Panel(
                "position of the token",
                "cosine",
                tuple(
                    Line(_name(found, i), at, arrays["read_cosine"][i, at])
                    for i in range(len(sizes))
                ),
                f"MLP input with the {what} row of weights",
                mark=sink,
            )
        )
    title = "Selective activation"
    return Plot(
        title,
        panels(shown, look, title, [f"{_where(found)}, its most selective neurons"], 210),
        "A super neuron is high at the sink and low everywhere else; below, how well each position "
        "fits what it reads.",
    )


def _norms(found: TokenExplanation, look: Theme) -> Plot:
    """Sorted lengths of the neurons' rows, those of the kept neurons marked."""
    shown = []
    for name, array in (("gate rows", "gate_norm"), ("up rows", "up_norm")):
        if array not in found.arrays:
            continue
        norms = found.arrays[array]
        order = np.argsort(-norms, kind="stable")
        place = np.empty(len(norms), dtype=int)
        place[order] = np.arange(1, len(norms) + 1)
        at = thinned(len(norms), MOST_POINTS, log=True)
        kept = found.arrays["neurons"]
        hover = tuple(
            f"neuron {int(n)}: {norms[n]:.3g}, rank {place[n]:,} of {len(norms):,}" for n in kept
        )
        shown.append(
            Panel(
                "rank among the layer's neurons, log scale",
                "‖row‖",
                (
                    Line("all neurons", at + 1, norms[order][at], muted=True),
                    Line("most selective", place[kept], norms[kept], hover, markers=True),
                ),
                name[0].upper() + name[1:],
                log_x=True,
            )
        )
    title = "Lengths of the neurons' rows"
    return Plot(
        title,
        panels(shown, look, title, [f"{_where(found)}, longest first"], 200),
        "Super neurons tend to have long rows of weights: their marks stand at the upper left.",
    )


def _column(found: TokenExplanation, look: Theme) -> Plot:
    columns, kurtosis = found.arrays["neuron_columns"], found.arrays["column_kurtosis"]
    ranks = np.arange(1, columns.shape[1] + 1)
    at = thinned(len(ranks), MOST_POINTS, log=True)
    sorted_ = -np.sort(-np.abs(columns), axis=1)
    lines = tuple(Line(_name(found, i), ranks[at], row[at]) for i, row in enumerate(sorted_))
    first = int(found.arrays["neurons"][0])
    panel = Panel("rank among the output dimensions, log scale", "|weight|", lines, log_x=True)
    note = (
        f"Kurtosis of {_name(found, 0)}'s column: {kurtosis[first]:,.0f}; median of the layer: "
        f"{np.nanmedian(kurtosis):.1f} (a normal one: 3)"
    )
    title = "Channelling"
    return Plot(
        title,
        panels((panel,), look, title, [f"{_where(found)}, columns of the down projection", note]),
        "A curve that falls off at once: the neuron writes into one or two dimensions of the "
        "residual and into no others.",
    )


def _dimensions(found: TokenExplanation, look: Theme) -> Plot:
    column, order = found.arrays["neuron_columns"][0], found.values["dimensions"]
    colour = (LINES if look.name == "light" else LINES_DARK)[0]
    figure = go.Figure()
    figure.add_bar(
        x=list(range(len(order))),
        y=[float(column[k]) for k in order],
        name=_name(found, 0),
        marker={"color": colour},
        showlegend=True,
        hovertemplate="dimension %{customdata}: %{y:.3g}<extra></extra>",
        customdata=order,
    )
    figure.update_xaxes(
        title="dimension of the residual",
        tickvals=list(range(len(order))),
        ticktext=[str(k) for k in order],
        showgrid=False,
    )
    figure.update_yaxes(title="weight")
    below = {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"}
    figure.update_layout(legend=below, bargap=0.35)
    title = "Where the super neuron writes"
    note = f"{_where(found)}, the ten largest weights of its column"
    done = frame(figure, look, title, [note], 280)
    return Plot(
        title,
        done.update_layout(margin_b=36),
        "The first bar's dimension is the one in which the sink then stands out.",
    )
