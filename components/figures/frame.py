"""What all figures with axes share: title, fonts, colours, margins, colour bars."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from components.figures.canvas import hover_label, wrap
from components.figures.palette import FONT, Scale, Theme, escape

SUBTITLE_EM = 29.0
"""Notes are wrapped to what fits a telephone."""
LINE = 22
"""Pixels from one line of the title to the next."""


def frame(
    figure: go.Figure,
    theme: Theme,
    title: str,
    notes: list[str],
    height: int,
    *,
    panels: bool = False,
) -> go.Figure:
    """Give the figure its title, one line a note below it, and the theme's look.

    Args:
        height: of everything but the title, in pixels.
        panels: whether the panels have titles of their own.
    """
    lines = [line for note in notes for line in wrap(note, SUBTITLE_EM)]
    top = (44 if title else 16) + LINE * len(lines) if title or lines else 8
    top += 24 if panels else 0
    axis: dict[str, Any] = {
        "gridcolor": theme.grid,
        "tickcolor": theme.grid,
        "automargin": True,
        "zeroline": False,
        "title_font": {"size": 12, "color": theme.muted},
    }
    figure.update_xaxes(**axis)
    figure.update_yaxes(**axis)
    figure.update_layout(
        template="plotly",  # a host such as Streamlit sets another default
        height=height + top,
        margin={"l": 12, "r": 12, "t": top + 12, "b": 12, "pad": 2},
        paper_bgcolor=theme.paper,
        plot_bgcolor=theme.paper,
        font={"family": FONT, "color": theme.ink, "size": 12},
        hoverlabel=hover_label(theme),
        title=_title(title, lines, theme),
        meta={"title": title, "notes": notes},
    )
    return figure


def _title(title: str, lines: list[str], theme: Theme) -> dict[str, Any]:
    heading = [escape(title)] if title or not lines else []
    more = len(heading) + len(lines) - 1
    return {
        "text": "<br>".join([*heading, *(_note(line, theme) for line in lines)]),
        "x": 0,
        "xref": "container",
        "y": 1,
        "yref": "container",
        "yanchor": "top",
        # plotly centres a title of several lines on its place: half of them must be added back.
        "pad": {"l": 14, "t": 18 + LINE * more / 2},
        "font": {"size": 17, "weight": 600, "color": theme.ink},
    }


def _note(line: str, theme: Theme) -> str:
    style = f"font-size:12.5px;font-weight:400;color:{theme.muted}"
    return f'<span style="{style}">{escape(line)}</span>'


def color_axis(
    theme: Theme, scale: Scale, ends: tuple[float, float], unit: str, **bar: Any
) -> dict[str, Any]:
    """A colour axis with its bar; the unit stands beside the bar."""
    return {
        "colorscale": [list(step) for step in scale],
        "cmin": ends[0],
        "cmax": ends[1],
        "colorbar": {
            "title": {"text": escape(unit), "side": "right", "font": {"size": 12}},
            "tickfont": {"size": 11, "color": theme.ink},
            "outlinewidth": 0,
            "thickness": 12,
            "nticks": 7,
            **bar,
        },
    }


def numbered(
    figure: go.Figure, x: list[str], y: list[str], *, upwards: bool = False, tilt: int = -35
) -> None:
    """Label the cells of a table drawn as a heatmap: column and row i stand at i."""
    figure.update_xaxes(
        tickvals=list(range(len(x))),
        ticktext=x,
        tickangle=tilt,
        range=[-0.5, max(len(x), 1) - 0.5],
        showgrid=False,
        ticks="",
    )
    ends = [-0.5, max(len(y), 1) - 0.5]
    figure.update_yaxes(
        tickvals=list(range(len(y))),
        ticktext=y,
        range=ends if upwards else ends[::-1],
        showgrid=False,
        ticks="",
    )
