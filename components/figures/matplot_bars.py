"""Bars of a plotly figure as matplotlib draws them: side by side or stacked, with their texts."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from components.figures.matplot_page import POINT, Page, each, plain, rgba


def bar(page: Page, axes: Axes, given: Any) -> None:
    """Draw a trace of bars beside or on the others of its axes, with its texts."""
    y = page.places(given.yaxis or "y", given.y, len(given.x or ()))
    x = page.places(given.xaxis or "x", given.x, len(y))
    flat = given.orientation == "h"
    at, long = (y, x) if flat else (x, y)
    side, width, base = _beside(page, given, at)
    draw = axes.barh if flat else axes.bar
    label = plain(given.name) if given.name and given.showlegend is not False else None
    colours = [rgba(c) for c in each(given.marker.color or page.ink, len(at))]
    # A bar that has no value keeps its place on the axis.
    draw(at + side, np.nan_to_num(long), width, base, color=colours, label=label)
    if given.text is not None:
        _texts(page, axes, given, at + side, long, base)


def _texts(
    page: Page, axes: Axes, given: Any, at: np.ndarray, long: np.ndarray, base: np.ndarray
) -> None:
    """Words within each bar, or just beyond its end."""
    flat, inside = given.orientation == "h", given.textposition == "inside"
    colours = each(given.textfont.color or page.ink, len(at))
    for i, words in enumerate(each(given.text, len(at))):
        if not words or not np.isfinite(long[i]):
            continue
        below = long[i] < 0
        end = base[i] + (long[i] / 2 if inside else long[i])
        away = 0.0 if inside else (-4.0 if below else 4.0) * POINT
        across, up = ("right" if below else "left", "center") if flat else (
            "center", "top" if below else "bottom"
        )  # fmt: skip
        axes.annotate(
            plain(str(words)),
            (end, at[i]) if flat else (at[i], end),
            xytext=(away, 0) if flat else (0, away),
            textcoords="offset points",
            ha="center" if inside else across,
            va="center" if inside else up,
            parse_math=False,
            annotation_clip=False,
            **page.font(given.textfont.size or 12, colours[i]),
        )


def _beside(page: Page, given: Any, at: np.ndarray) -> tuple[float, float, np.ndarray]:
    """How far a trace's bars stand aside, how wide they are, and where each begins."""
    same = [t for t in page.figure.data if t.type == "bar" and _axes_of(t) == _axes_of(given)]
    place = next(i for i, trace in enumerate(same) if trace is given)
    mode = page.figure.layout.barmode or "group"
    share = 1.0 - (page.figure.layout.bargap or 0.2)
    base = np.zeros(len(at))
    if mode == "group":
        width = share / len(same)
        return (place - (len(same) - 1) / 2) * width, width, base
    if mode in ("stack", "relative"):
        for earlier in same[:place]:
            long = earlier.x if given.orientation == "h" else earlier.y
            base += np.nan_to_num(np.array(long, dtype=float))
    return 0.0, share, base


def _axes_of(given: Any) -> tuple[str, str]:
    return given.xaxis or "x", given.yaxis or "y"
