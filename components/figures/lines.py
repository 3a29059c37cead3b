"""Panels of lines one below the other, with one legend: what views draw by layer or position."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from components.figures import labels
from components.figures.curves import DASHES, LINES, LINES_DARK
from components.figures.frame import frame
from components.figures.palette import Theme, escape

HEIGHT = 260
"""Pixels of one panel."""
NARROW = 340.0
"""Pixels of a telephone's figure: the legend must fit there."""


@dataclasses.dataclass(frozen=True, eq=False)
class Line:
    """One series; lines of one name share a colour, a place in the legend, and a click on it."""

    name: str
    x: np.ndarray
    y: np.ndarray
    hover: tuple[str, ...] = ()
    """Escaped, one a point; empty shows the numbers."""
    muted: bool = False
    """Drawn dotted in the colour of second rank: what the others are compared with."""
    markers: bool = False
    """Points instead of a line."""


@dataclasses.dataclass(frozen=True, eq=False)
class Panel:
    """Lines on common axes. Titles carry the unit."""

    x_title: str
    y_title: str
    lines: tuple[Line, ...]
    title: str = ""
    log_x: bool = False
    log_y: bool = False
    mark: float | None = None
    """A place on the x axis with a line through it."""
    mark_name: str = ""
    ticks: tuple[tuple[float, ...], tuple[str, ...]] | None = None
    """Places and names on the x axis."""


def panels(
    shown: Sequence[Panel], look: Theme, title: str, notes: Sequence[str], height: int = HEIGHT
) -> go.Figure:
    """The panels one below the other.

    Args:
        height: pixels of each.
    """
    count = len(shown)
    figure = make_subplots(
        rows=count,
        cols=1,
        vertical_spacing=0.0 if count == 1 else 92 / (height * count + 92 * (count - 1)),
        subplot_titles=[escape(panel.title) for panel in shown],
    )
    figure.update_annotations(
        font={"size": 12.5, "color": look.muted}, x=0, xanchor="left", yshift=4
    )
    names = list(dict.fromkeys(line.name for panel in shown for line in panel.lines))
    named: set[str] = set()
    for row, panel in enumerate(shown, start=1):
        _draw(figure, panel, row, look, names, named)
    below = {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"}
    figure.update_layout(legend={**below, "font": {"size": 12}}, showlegend=True)
    rows = _legend_rows(names)
    whole = height * count + 92 * (count - 1) + 20 * rows + 24
    titled = any(panel.title for panel in shown)
    done = frame(figure, look, title, list(notes), whole, panels=titled)
    return done.update_layout(margin_b=20 * rows + 16)


def _draw(
    figure: go.Figure, panel: Panel, row: int, look: Theme, names: list[str], named: set[str]
) -> None:
    palette = LINES if look.name == "light" else LINES_DARK
    coloured = [name for name in names if not _muted(panel, name)]
    for line in panel.lines:
        place = coloured.index(line.name) if line.name in coloured else 0
        colour = look.muted if line.muted else palette[place % len(palette)]
        dash = "dot" if line.muted else DASHES[place // len(palette) % len(DASHES)]
        figure.add_scatter(
            x=line.x.astype(np.float32),
            y=np.where(np.isfinite(line.y), line.y, np.nan).astype(np.float32),
            mode="markers" if line.markers else "lines",
            name=escape(line.name),
            legendgroup=line.name,
            showlegend=line.name not in named,
            line={"color": colour, "dash": dash, "width": 1.5 if line.muted else 2},
            marker={"color": colour, "size": 7},
            customdata=list(line.hover) or None,
            hovertemplate="%{customdata}<extra></extra>"
            if line.hover
            else f"{escape(line.name)}: %{{y:.3g}} at %{{x}}<extra></extra>",
            row=row,
            col=1,
        )
        named.add(line.name)
    _axes(figure, panel, row)
    if panel.mark is not None:
        _mark(figure, panel, row, look)


def _axes(figure: go.Figure, panel: Panel, row: int) -> None:
    figure.update_xaxes(title=panel.x_title, row=row, col=1)
    figure.update_yaxes(title=panel.y_title, row=row, col=1)
    if panel.ticks is not None:
        figure.update_xaxes(tickvals=panel.ticks[0], ticktext=panel.ticks[1], row=row, col=1)
    if panel.log_x:
        figure.update_xaxes(type="log", dtick=1, row=row, col=1)
    else:
        x = np.concatenate([line.x for line in panel.lines]).astype(float)
        edge = 0.015 * float(np.ptp(x)) or 0.5
        figure.update_xaxes(range=[float(x.min()) - edge, float(x.max()) + edge], row=row, col=1)
    if panel.log_y:
        powers = {"exponentformat": "power", "nticks": 6}
        figure.update_yaxes(type="log", **powers, row=row, col=1)
    else:
        figure.update_yaxes(rangemode="tozero", row=row, col=1)


def _muted(panel: Panel, name: str) -> bool:
    return any(line.muted for line in panel.lines if line.name == name)


def _mark(figure: go.Figure, panel: Panel, row: int, look: Theme) -> None:
    axis = "" if row == 1 else str(row)
    place = {"xref": f"x{axis}", "yref": f"y{axis} domain"}
    line = {"color": look.accent, "width": 1, "dash": "dash"}
    figure.add_shape(type="line", x0=panel.mark, x1=panel.mark, y0=0, y1=1, line=line, **place)
    if not panel.mark_name:
        return
    x = np.concatenate([line.x for line in panel.lines])
    right = float(panel.mark or 0.0) > (float(x.min()) + float(x.max())) / 2
    figure.add_annotation(
        x=panel.mark,
        y=1,
        text=escape(panel.mark_name),
        showarrow=False,
        xanchor="right" if right else "left",
        yanchor="top",
        xshift=-4 if right else 4,
        font={"size": 11.5, "color": look.ink},
        **place,
    )


def _legend_rows(names: Sequence[str]) -> int:
    """Lines the legend takes on a telephone; plotly gives every entry the widest one's room."""
    widest = max((labels.width(name) * 12 + 58 for name in names), default=1.0)
    return math.ceil(len(names) / max(1, int(NARROW // widest)))


def layer_ticks(count: int, *, depths: bool = False) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """Places and names of the layers 1 .. `count` at most a dozen; depth 0 is the input.

    Args:
        depths: whether the axis starts with what enters the first layer.
    """
    step = -(-count // 10)
    known = [1, *range(step, count + 1, step)] if step > 1 else list(range(1, count + 1))
    places = [0, *known] if depths and step == 1 else known
    shown = list(dict.fromkeys([0, *places[1:]] if depths else places))
    return tuple(map(float, shown)), tuple("input" if v == 0 else str(v) for v in shown)


def thinned(count: int, most: int, *, log: bool = False) -> np.ndarray:
    """At most `most` of `count` indices, first and last among them.

    Args:
        log: evenly spaced on a logarithmic axis of 1 .. `count`.
    """
    if count <= most:
        return np.arange(count)
    places = np.geomspace(1, count, most) - 1 if log else np.linspace(0, count - 1, most)
    return np.unique(places.round().astype(int))
