"""Traces, shapes and annotations of a plotly figure as matplotlib draws them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.transforms import blended_transform_factory

from components.figures.matplot_bars import bar
from components.figures.matplot_image import image
from components.figures.matplot_page import POINT, Page, colour_map, each, plain, rgba

_STEP = re.compile(r"([MLQZ])([^MLQZ]*)")
_DASHES = {"dash": "--", "dot": ":", "dashdot": "-."}
_SYMBOLS = {"circle": "o", "circle-open": "o", "diamond": "D", "square": "s"}
_AWAY = 8.0
"""Pixels between a point and a text that stands beside it."""
_ANCHORS = {"auto": "center", None: "center", "middle": "center"}


def check(figure: go.Figure) -> None:
    """Refuse what cannot be drawn, before a part of it is.

    Raises:
        ValueError: a trace's kind is not known.
    """
    for given in figure.data:
        if given.type not in _KINDS:
            raise ValueError(f"cannot draw a trace of type '{given.type}' without a browser")


def trace(page: Page, axes: Axes, given: Any) -> None:
    """Draw one trace."""
    _KINDS[given.type](page, axes, given)


def _heatmap(page: Page, axes: Axes, given: Any) -> None:
    z = np.ma.masked_invalid(np.asarray(given.z, dtype=float))
    if z.size == 0:
        return
    x = page.places(given.xaxis or "x", given.x, z.shape[1])
    y = page.places(given.yaxis or "y", given.y, z.shape[0])
    shared = page.figure.layout[given.coloraxis] if given.coloraxis else None
    scale = shared.colorscale if shared else given.colorscale
    low, high = (shared.cmin, shared.cmax) if shared else (given.zmin, given.zmax)
    gap = float(given.xgap or 0)
    axes.pcolormesh(
        _edges(x),
        _edges(y),
        z,
        cmap=colour_map(scale),
        vmin=low,
        vmax=high,
        edgecolors=axes.get_facecolor() if gap else "none",
        linewidth=gap * POINT / 2,
        rasterized=z.size > 4000,
    )


def _edges(centres: np.ndarray) -> np.ndarray:
    if len(centres) == 1:
        return np.array([centres[0] - 0.5, centres[0] + 0.5])
    middle = (centres[1:] + centres[:-1]) / 2
    first, last = centres[0] - (middle[0] - centres[0]), centres[-1] + (centres[-1] - middle[-1])
    return np.concatenate([[first], middle, [last]])


def _scatter(page: Page, axes: Axes, given: Any) -> None:
    y = page.places(given.yaxis or "y", given.y, 0)
    x = page.places(given.xaxis or "x", given.x, len(y))
    mode = given.mode or "lines"
    if given.fill == "toself":
        for here in _pieces(x):
            colour = rgba(given.fillcolor)
            axes.fill(x[here], y[here], color=colour, linewidth=0, zorder=1.5, alpha=_alpha(given))
    elif "lines" in mode:
        axes.plot(
            x,
            y,
            color=rgba(given.line.color or page.ink),
            linewidth=float(given.line.width or 2) * POINT,
            linestyle=_DASHES.get(given.line.dash, "--" if "px" in str(given.line.dash) else "-"),
            alpha=_alpha(given),
            label=plain(given.name) if given.name and given.showlegend is not False else None,
        )
    if "markers" in mode and (given.marker.opacity is None or given.marker.opacity > 0):
        _markers(page, axes, given, x, y)
    if "text" in mode:
        _texts(page, axes, given, x, y)


def _texts(page: Page, axes: Axes, given: Any, x: np.ndarray, y: np.ndarray) -> None:
    count = len(x)
    shown, sizes = each(given.text, count), each(given.textfont.size or 12, count)
    colours = each(given.textfont.color or page.ink, count)
    beside = each(given.textposition or "middle center", count)
    for i, label in enumerate(shown):
        up, across = str(beside[i]).split()
        away = max(_AWAY, float(np.max(given.marker.size or 0)) / 2 + 3) * POINT
        dx = {"left": -away, "right": away}.get(across, 0.0)
        dy = {"top": away, "bottom": -away}.get(up, 0.0)
        axes.annotate(
            plain(str(label)),
            (x[i], y[i]),
            xytext=(dx, dy),
            textcoords="offset points",
            ha={"left": "right", "right": "left"}.get(across, "center"),
            va={"top": "bottom", "bottom": "top"}.get(up, "center"),
            parse_math=False,
            alpha=_alpha(given),
            zorder=3,
            annotation_clip=False,
            **page.font(sizes[i], colours[i], bold=(given.textfont.weight or 0) == 600),
        )


def _alpha(given: Any) -> float:
    return 1.0 if given.opacity is None else float(given.opacity)


def _pieces(x: np.ndarray) -> list[slice]:
    """The runs of points between those that are no numbers."""
    ends = [-1, *np.flatnonzero(np.isnan(x)).tolist(), len(x)]
    return [slice(a + 1, b) for a, b in itertools.pairwise(ends) if b > a + 1]


def _markers(page: Page, axes: Axes, given: Any, x: np.ndarray, y: np.ndarray) -> None:
    look, count = given.marker, len(x)
    if look.coloraxis:
        return  # It only carries the colour bar.
    colours = each(page.ink if look.color is None else look.color, count)
    symbols = each(look.symbol or "circle", count)
    sizes = each(6 if look.size is None else look.size, count)
    rims = each(page.ink if look.line.color is None else look.line.color, count)
    widths = each(0 if look.line.width is None else look.line.width, count)
    for i in range(count):
        hollow = str(symbols[i]).endswith("open")
        rim: dict[str, Any] = {}
        if widths[i]:
            rim = {
                "markeredgecolor": rgba(rims[i]),
                "markeredgewidth": float(widths[i]) * POINT,
            }
        axes.plot(
            x[i],
            y[i],
            _SYMBOLS.get(symbols[i], "o"),
            color=rgba(colours[i]),
            markersize=float(sizes[i]) * POINT,
            fillstyle="none" if hollow else "full",
            clip_on=False,
            **rim,
            label=plain(given.name) if i == 0 and given.showlegend and given.name else None,
        )


def shape(page: Page, drawn: Mapping[tuple[str, str], Axes], given: Any) -> None:
    """Draw a path, a rectangle or a line."""
    axes, transform = _frame(drawn, given)
    if given.type == "path":
        path = svg_path(given.path)
    else:
        a, b = page.place(given.xref or "x", given.x0), page.place(given.xref or "x", given.x1)
        c, d = page.place(given.yref or "y", given.y0), page.place(given.yref or "y", given.y1)
        corners = [(a, c), (b, c), (b, d), (a, d)] if given.type == "rect" else [(a, c), (b, d)]
        path = Path(corners, closed=False)
    width = 0.0 if given.line.width is None else float(given.line.width)
    line = rgba(given.line.color or page.ink) if width else (0.0, 0.0, 0.0, 0.0)
    patch = PathPatch(
        path,
        transform=transform,
        facecolor=rgba(given.fillcolor) if given.fillcolor else "none",
        edgecolor=line,
        linewidth=width * POINT,
        zorder=0.6 if given.layer == "below" else 4,
        clip_on=False,
        alpha=None if given.opacity is None else float(given.opacity),
    )
    axes.add_patch(patch)


def svg_path(d: str) -> Path:
    """An SVG path of absolute M, L, Q and Z steps."""
    points: list[tuple[float, float]] = []
    codes: list[int] = []
    kinds = {"M": [Path.MOVETO], "L": [Path.LINETO], "Q": [Path.CURVE3, Path.CURVE3]}
    for letter, rest in _STEP.findall(d):
        if letter == "Z":
            points.append((0.0, 0.0))
            codes.append(int(Path.CLOSEPOLY))
            continue
        numbers = [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", rest)]
        points += list(zip(numbers[::2], numbers[1::2], strict=True))
        codes += [int(code) for code in kinds[letter]]
    return Path(points, codes)


def annotation(page: Page, drawn: Mapping[tuple[str, str], Axes], given: Any) -> None:
    """Draw a text at its place."""
    font = page.font(given.font.size or 12, given.font.color, bold=(given.font.weight or 0) == 600)
    sides = {"ha": _ANCHORS.get(given.xanchor, given.xanchor)}
    sides["va"] = _ANCHORS.get(given.yanchor, given.yanchor)
    if (given.xref or "paper") == "paper":
        x, y = page.across((given.x,))[0], page.up((given.y,))[0]
        page.sheet.text(x, y, plain(given.text), parse_math=False, **sides, **font)
        return
    axes, transform = _frame(drawn, given)
    axes.text(
        page.place(given.xref, given.x),
        page.place(given.yref, given.y),
        plain(given.text),
        transform=transform,
        parse_math=False,
        zorder=5,
        **sides,
        **font,
    )


def _frame(drawn: Mapping[tuple[str, str], Axes], given: Any) -> tuple[Axes, Any]:
    """The axes a shape or text belongs to, and how its places are read."""
    x, y = str(given.xref or "x").split(), str(given.yref or "y").split()
    fallback = next(iter(drawn.values()))
    axes = drawn.get((x[0], y[0]), fallback)
    across = axes.transAxes if x[0] == "paper" or x[-1] == "domain" else axes.transData
    up = axes.transAxes if y[0] == "paper" or y[-1] == "domain" else axes.transData
    return axes, axes.transData if across is up is axes.transData else blended_transform_factory(
        across, up
    )


_KINDS = {"heatmap": _heatmap, "scatter": _scatter, "bar": bar, "image": image}
