"""How long a head's output is, against how much it looks at the sink."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from backend.tokens.explanation import TokenExplanation
from components.figures.frame import frame
from components.figures.palette import Theme, shorten
from components.figures.sink_lines import BELOW, layer_axis, palette

MOST_PANELS = 4


def scatter(found: TokenExplanation, look: Theme) -> go.Figure:
    """Points and fitted parabola of up to four layers, evenly spaced from first to last."""
    layers = len(found.arrays["points/norm"])
    shown = sorted({round(i) for i in np.linspace(0, layers - 1, min(MOST_PANELS, layers))})
    columns = min(2, len(shown))
    lines = -(-len(shown) // columns)
    titles = [_panel(found, layer) for layer in shown]
    figure = make_subplots(
        rows=lines,
        cols=columns,
        subplot_titles=titles,
        horizontal_spacing=0.14,
        vertical_spacing=0.24 if lines > 1 else 0.1,
    )
    figure.update_annotations(font={"size": 12, "color": look.muted})
    for i, layer in enumerate(shown):
        _layer(figure, found, layer, look, (i // columns + 1, i % columns + 1))
    figure.update_xaxes(title="attention to the sink", range=[-0.03, 1.03], tickformat=".1f")
    figure.update_yaxes(rangemode="tozero")
    figure.update_yaxes(title="output length", col=1)
    figure.update_layout(legend=BELOW)
    drawn = found.arrays["points/norm"].shape[1]
    total = found.arrays["rates"].shape[1] * len(found.values["rows"])
    notes = [
        "Length of a head's output in the residual stream (no unit)",
        f"{drawn:,} of {total:,} points a layer are drawn; the fits take all",
    ]
    title = "Output length against sink attention"
    return frame(figure, look, title, notes, 245 * lines + 50, panels=True)


def _panel(found: TokenExplanation, layer: int) -> str:
    curvature = float(found.arrays["fit/curvature"][layer])
    if not np.isfinite(curvature):
        return f"layer {layer + 1}: no fit"
    return f"layer {layer + 1}: curvature {_signed(curvature)}"


def _signed(value: float) -> str:
    return f"{value:+.3g}".replace("-", "−")


def _layer(
    figure: go.Figure, found: TokenExplanation, layer: int, look: Theme, at: tuple[int, int]
) -> None:
    colours, first = palette(look), at == (1, 1)
    x = found.arrays["points/attention"][layer]
    figure.add_scatter(
        x=x,
        y=found.arrays["points/norm"][layer],
        mode="markers",
        marker={"color": colours[0], "size": 4, "opacity": 0.5},
        name="a head at a query",
        legendgroup="points",
        showlegend=first,
        hovertemplate="attention %{x:.3f}, length %{y:.3g}<extra></extra>",
        row=at[0],
        col=at[1],
    )
    coefficients = found.arrays["fit/coefficients"][layer].astype(np.float64)
    if not np.isfinite(coefficients).all():
        return
    along = np.linspace(float(x.min()), float(x.max()), 60)
    figure.add_scatter(
        x=along,
        y=np.polyval(coefficients, along),
        mode="lines",
        line={"color": colours[1], "width": 2.5},
        name="fitted parabola",
        legendgroup="fit",
        showlegend=first,
        hovertemplate=f"R² {float(found.arrays['fit/r2'][layer]):.2f}<extra></extra>",
        row=at[0],
        col=at[1],
    )


def curvature(found: TokenExplanation, look: Theme) -> go.Figure:
    """Second derivative of each layer's parabola: convex above zero, concave below."""
    values = found.arrays["fit/curvature"].astype(np.float64)
    figure = go.Figure()
    colours = palette(look)
    places = np.arange(1, len(values) + 1)
    for name, colour, chosen in (
        ("convex", colours[1], values > 0),
        ("concave", colours[0], values <= 0),
    ):
        figure.add_bar(
            x=places[chosen].tolist(),
            y=values[chosen].tolist(),
            marker={"color": colour},
            width=0.75,
            name=name,
            showlegend=True,
            customdata=found.arrays["fit/r2"][chosen].tolist(),
            hovertemplate="layer %{x}: curvature %{y:.3g}, R² %{customdata:.2f}<extra></extra>",
        )
    layer_axis(figure, len(values))
    figure.update_yaxes(title="curvature (length / attention²)")
    figure.update_layout(legend=BELOW)
    known = np.isfinite(values)
    notes = [
        f"Convex in {int((values > 0).sum())} of {int(known.sum())} layers",
        f"Median R² of the fits: {_median(found.arrays['fit/r2'])}",
    ]
    return frame(figure, look, "Curvature of output length", notes, 320)


def _median(values: np.ndarray) -> str:
    known = values[np.isfinite(values)]
    return f"{float(np.median(known)):.2f}" if len(known) else "not defined"


def sweep(found: TokenExplanation, look: Theme) -> go.Figure:
    """Length of one head's output while its attention to the sink goes from 0 to 1."""
    arrays, swept = found.arrays, found.values["swept"]
    colours = palette(look)
    figure = go.Figure()
    figure.add_scatter(
        x=arrays["curve/attention"],
        y=arrays["curve/norm"],
        mode="lines",
        line={"color": colours[0], "width": 2.5},
        name="if it looked at the sink so much",
        showlegend=True,
        hovertemplate="attention %{x:.2f}, length %{y:.3g}<extra></extra>",
    )
    quadratic = arrays["curve/quadratic"].astype(np.float64)
    minimum, actual = float(arrays["curve/minimum"][0]), float(arrays["curve/actual"][0])
    marks = (
        (actual, f"real: {actual:.3f}", colours[1], "circle"),
        (minimum, f"minimum: {minimum:.3f}", look.ink, "diamond"),
    )
    for place, name, colour, symbol in marks:
        if not (0 <= place <= 1.0001 and np.isfinite(quadratic).all()):
            continue
        figure.add_scatter(
            x=[place],
            y=[_length(quadratic, place)],
            mode="markers",
            marker={"color": colour, "size": 11, "symbol": symbol},
            name=name,
            showlegend=True,
            hovertemplate="attention %{x:.3f}, length %{y:.3g}<extra></extra>",
        )
    figure.update_xaxes(title="attention to the sink", range=[-0.03, 1.03], tickformat=".1f")
    figure.update_yaxes(title="length of the head's output", rangemode="tozero")
    figure.update_layout(legend=BELOW)
    title = f"Layer {swept['layer'] + 1}, head {swept['head'] + 1}, swept"
    notes = [f"At position {swept['query']} “{shorten(swept['text'], 12)}”", _remark(minimum)]
    return frame(figure, look, title, notes, 350)


def _length(quadratic: np.ndarray, a: float) -> float:
    """||o(a)|| of ||o||² = q0 + q1 a + q2 a²."""
    return float(np.sqrt(max(0.0, quadratic[0] + quadratic[1] * a + quadratic[2] * a * a)))


def _remark(minimum: float) -> str:
    if not np.isfinite(minimum):
        return "No minimum: the sink and the other keys do not differ, or one writes nothing"
    if 0 <= minimum <= 1:
        return f"Shortest at {minimum:.2f}; the squared length is a parabola"
    return f"Its minimum, at {minimum:.2f}, is outside 0 to 1"
