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

from components.figures.matplot_page import POINT, Page, colour_map, plain, rgba

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
    shown, sizes = _each(given.text, count), _each(given.textfont.size or 12, count)
    colours = _each(given.textfont.color or page.ink, count)
    beside = _each(given.textposition or "middle center", count)
    for i, label in enumerate(shown):
        up, across = str(beside[i]).split() if given.mode == "text" else ("middle", "center")
        dx = {"left": -_AWAY, "right": _AWAY}.get(across, 0.0) * POINT
        dy = {"top": _AWAY, "bottom": -_AWAY}.get(up, 0.0) * POINT
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
    colours = _each(page.ink if look.color is None else look.color, count)
    symbols = _each(look.symbol or "circle", count)
    sizes = _each(6 if look.size is None else look.size, count)
    rims = _each(page.ink if look.line.color is None else look.line.color, count)
    width = float(np.max(look.line.width or 0)) * POINT
    for i in range(count):
        hollow = str(symbols[i]).endswith("open")
        rim: dict[str, Any] = {}
        if width:
            rim = {"markeredgecolor": rgba(rims[i]), "markeredgewidth": width}
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


def _bar(page: Page, axes: Axes, given: Any) -> None:
    y = page.places(given.yaxis or "y", given.y, len(given.x or ()))
    x = page.places(given.xaxis or "x", given.x, len(y))
    flat = given.orientation == "h"
    at, long = (y, x) if flat else (x, y)
    side, width, base = _beside(page, given, at)
    draw = axes.barh if flat else axes.bar
    label = plain(given.name) if given.name and given.showlegend is not False else None
    colours = [rgba(c) for c in _each(given.marker.color or page.ink, len(at))]
    # A bar that has no value keeps its place on the axis.
    draw(at + side, np.nan_to_num(long), width, base, color=colours, label=label)
    for i, words in enumerate(_each(given.text, len(at)) if given.text is not None else ()):
        if not words or not np.isfinite(long[i]):
            continue
        inside = given.textposition == "inside"
        away = (0.0 if inside else 4.0 * POINT) * (1 if long[i] >= 0 else -1)
        end = base[i] + (long[i] / 2 if inside else long[i])
        spot = (end, at[i] + side) if flat else (at[i] + side, end)
        beyond = ("left", "center") if flat else ("center", "bottom")
        if long[i] < 0:
            beyond = ("right", "center") if flat else ("center", "top")
        across, up = ("center", "center") if inside else beyond
        axes.annotate(
            plain(str(words)),
            spot,
            xytext=(away, 0) if flat else (0, away),
            textcoords="offset points",
            ha=across,
            va=up,
            parse_math=False,
            annotation_clip=False,
            **page.font(
                given.textfont.size or 12, _each(given.textfont.color or page.ink, len(at))[i]
            ),
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


def _each(value: Any, count: int) -> list[Any]:
    """One value a point: a list as it is, a single value repeated."""
    one = isinstance(value, str) or not hasattr(value, "__len__")
    return [value] * count if one else list(value)


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


_KINDS = {"heatmap": _heatmap, "scatter": _scatter, "bar": _bar}
