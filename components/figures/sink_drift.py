"""Opposition and drift against how sure the model is."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from backend.tokens.explanation import TokenExplanation
from components.figures.frame import frame
from components.figures.palette import Theme
from components.figures.sink_lines import BELOW, average, palette

PANELS = (
    "opposition of the sink to the other tokens",
    "drift of the residual stream",
    "update by the other tokens",
)


def drift(found: TokenExplanation, look: Theme) -> go.Figure:
    """Three panels over groups of queries, the least confident first; means over layers."""
    figure = make_subplots(
        rows=3, cols=1, shared_xaxes=True, vertical_spacing=0.09, subplot_titles=PANELS
    )
    figure.update_annotations(font={"size": 12.5, "color": look.muted})
    colours = palette(look)
    lines = (
        (1, "opposition", "opposition", colours[3], "solid"),
        (2, "drift", "drift as it is", colours[0], "solid"),
        (2, "drift_without", "without the sink", colours[1], "dash"),
        (2, "drift_renormalised", "without it, renormalised", colours[2], "dot"),
        (3, "update_norm", "update length", colours[4], "solid"),
    )
    for row, array, name, colour, dash in lines:
        _line(figure, found, row, array, name, {"color": colour, "dash": dash, "width": 2})
    count = len(found.arrays["groups/confidence"])
    what = "confidence decile" if count == 10 else "group by confidence"
    ticks = list(range(1, count + 1))
    figure.update_xaxes(tickvals=ticks, ticktext=[str(t) for t in ticks], tickangle=0)
    figure.update_xaxes(range=[0.5, count + 0.5])
    figure.update_xaxes(title=f"{what}, 1 is least sure", row=3, col=1)
    for row, title in enumerate(("−cosine", "1 − cosine", "length"), start=1):
        figure.update_yaxes(title=title, row=row, col=1)
    for row in (1, 3):
        figure.update_yaxes(rangemode="tozero", row=row, col=1)
    figure.update_layout(legend=BELOW)
    confidence = found.arrays["groups/confidence"]
    notes = ["Means over layers; drift is Vitrine's own definition"]
    if count:
        low, high = float(confidence[0]), float(confidence[-1])
        notes.append(f"Mean confidence: {low:.2f} in the first, {high:.2f} in the last group")
    return frame(figure, look, "Opposition and drift by confidence", notes, 620, panels=True)


def _line(
    figure: go.Figure,
    found: TokenExplanation,
    row: int,
    array: str,
    name: str,
    line: dict[str, str | float],
) -> None:
    y = average(found.arrays[f"groups/{array}"])
    confidence, entropy = (found.arrays[f"groups/{n}"] for n in ("confidence", "entropy"))
    figure.add_scatter(
        x=list(range(1, len(y) + 1)),
        y=y.astype(np.float32),
        mode="lines+markers",
        marker={"size": 5, "color": line["color"]},
        line=line,
        name=name,
        showlegend=True,
        customdata=np.stack([confidence, entropy], axis=-1),
        hovertemplate=f"{name} %{{y:.4g}}<br>confidence %{{customdata[0]:.2f}}, "
        "entropy %{customdata[1]:.2f} nats<extra></extra>",
        row=row,
        col=1,
    )
