"""Draw a plotly figure with matplotlib, for systems without a browser.

It knows what the figures here are made of (heatmaps, scatters, bars, shapes, annotations, colour
bars) and reads them from the figure itself, so that a figure needs to be described only once.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import plotly.graph_objects as go
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from components.figures import matplot_marks as marks
from components.figures import matplot_page as pages
from components.figures.matplot_page import Page


def draw(figure: go.Figure, format: str, size: tuple[int, int], scale: float) -> bytes:
    """The figure as png, svg or pdf; size in pixels.

    Raises:
        ValueError: the figure holds a trace of a kind that is not known here.
    """
    marks.check(figure)
    layout = figure.layout
    paper = layout.paper_bgcolor or "#ffffff"
    sheet = Figure(figsize=(size[0] / 100, size[1] / 100), dpi=100, facecolor=pages.rgba(paper))
    page = Page(figure, sheet, size, _margins(figure))
    drawn: dict[tuple[str, str], Axes] = {}
    for pair in _pairs(figure):
        drawn[pair] = _axes(page, *pair)
    for trace in figure.data:
        axes = drawn[trace.xaxis or "x", trace.yaxis or "y"]
        marks.trace(page, axes, trace)
    for (x, y), axes in drawn.items():
        _finish(page, axes, x, y)
    for shape in layout.shapes:
        marks.shape(page, drawn, shape)
    for note in layout.annotations:
        marks.annotation(page, drawn, note)
    _title(page)
    _legend(page, list(drawn.values()))
    for name in _colour_axes(figure):
        _colour_bar(page, layout[name])
    written = io.BytesIO()
    sheet.savefig(written, format=format, dpi=100 * scale, facecolor=sheet.get_facecolor())
    return written.getvalue()


def _pairs(figure: go.Figure) -> list[tuple[str, str]]:
    found = dict.fromkeys((t.xaxis or "x", t.yaxis or "y") for t in figure.data)
    return list(found) or [("x", "y")]


def _colour_axes(figure: go.Figure) -> list[str]:
    """Those that are used: by heatmaps, and by markers that are numbers."""
    maps = [t.coloraxis for t in figure.data if t.type == "heatmap"]
    marked = [t.marker.coloraxis for t in figure.data if t.type == "scatter"]
    return list(dict.fromkeys([*maps, *(name for name in marked if name)]))


def _margins(figure: go.Figure) -> dict[str, float]:
    """Pixels around the plots, grown for labels as plotly's automargin does."""
    given = figure.layout.margin
    margin = {side: 12.0 if given[side] is None else float(given[side]) for side in "lrtb"}
    for axis in figure.select_yaxes():
        if axis.automargin and axis.visible is not False and (axis.domain or (0,))[0] >= 0:
            longest = max(map(pages.em, _tick_labels(axis)), default=3.0)
            title = 24 if axis.title.text else 0
            if axis.showticklabels is not False:
                margin["l"] = max(margin["l"], longest * 11.5 + 14 + title)
    for axis in figure.select_xaxes():
        if axis.automargin and axis.visible is not False:
            steep = abs(np.sin(np.radians(axis.tickangle or 0)))
            longest = max(map(pages.em, _tick_labels(axis)), default=3.0)
            title = 26 if axis.title.text else 0
            if axis.showticklabels is not False:
                margin["b"] = max(margin["b"], longest * 11 * steep + 22 + title)
                margin["r"] = max(margin["r"], 24.0)
    if any(figure.layout[a].colorbar.orientation != "h" for a in _colour_axes(figure)):
        margin["r"] = max(margin["r"], 86.0)
    # A picture has no place in a legend, nor the attribute.
    named = [trace for trace in figure.data if "showlegend" in trace and trace.showlegend]
    if any(trace.name for trace in named):
        margin["b"] += 24 + 20 * (len(named) // 4)
    return margin


def _tick_labels(axis: Any) -> list[str]:
    return [pages.plain(str(label)) for label in (axis.ticktext or ())]


def _axes(page: Page, x: str, y: str) -> Axes:
    xaxis, yaxis = page.axis(x), page.axis(y)
    left, right = page.across(xaxis.domain or (0.0, 1.0))
    bottom, top = page.up(yaxis.domain or (0.0, 1.0))
    axes = page.sheet.add_axes((left, bottom, right - left, top - bottom))
    axes.set_facecolor(pages.rgba(page.figure.layout.plot_bgcolor or "#ffffff"))
    for spine in axes.spines.values():
        spine.set_visible(False)
    return axes


def _finish(page: Page, axes: Axes, x: str, y: str) -> None:
    """Ranges, ticks and titles, once the data is there."""
    for name, axis in ((x, page.axis(x)), (y, page.axis(y))):
        way = name[0]
        target = axes.xaxis if way == "x" else axes.yaxis
        logarithmic = axis.type == "log"
        if logarithmic:
            (axes.set_xscale if way == "x" else axes.set_yscale)("log")
        if axis.range is not None:
            ends = [10.0**end if logarithmic else float(end) for end in axis.range]
            (axes.set_xlim if way == "x" else axes.set_ylim)(*ends)
        elif axis.autorange == "reversed":
            target.set_inverted(True)
        if axis.scaleanchor:
            axes.set_aspect("equal", adjustable="box", anchor="C")
        if axis.visible is False:
            target.set_visible(False)
            continue
        if axis.showgrid is not False:
            target.grid(True, color=pages.rgba(axis.gridcolor or "#dddddd"), linewidth=0.7)
            axes.set_axisbelow(True)
        _ticks(page, axes, axis, name)
        if axis.title.text:
            font = page.font(axis.title.font.size or 12, axis.title.font.color)
            set_label = axes.set_xlabel if way == "x" else axes.set_ylabel
            set_label(pages.plain(axis.title.text), parse_math=False, **font)


def _ticks(page: Page, axes: Axes, axis: Any, name: str) -> None:
    target = axes.xaxis if name[0] == "x" else axes.yaxis
    target.set_tick_params(length=0, colors=pages.rgba(page.ink))
    if axis.showticklabels is False:
        target.set_ticklabels([])
        return
    font = page.font(axis.tickfont.size or 11, axis.tickfont.color)
    if axis.tickvals is not None:
        places = [page.place(name, value) for value in axis.tickvals]
        words = axis.tickvals if axis.ticktext is None else axis.ticktext
        target.set_ticks(places, labels=[pages.plain(str(word)) for word in words])
    elif page.categories.get(name):
        known = page.categories[name]
        target.set_ticks(range(len(known)), labels=[pages.plain(label) for label in known])
    elif axis.tickformat and axis.tickformat.endswith("%"):
        target.set_major_formatter(lambda value, _: f"{value:.0%}")
    angle = -(axis.tickangle or 0.0)
    for label in target.get_ticklabels():
        label.set(parse_math=False, rotation=angle, rotation_mode="anchor", **font)
        if name[0] == "x" and angle:
            label.set(ha="right", va="center" if abs(angle) > 60 else "top")


def _title(page: Page) -> None:
    title = page.figure.layout.title
    if not title.text:
        return
    for i, line in enumerate(title.text.split("<br>")):
        heading = i == 0 and not line.startswith("<span")  # else it is a note
        font = page.font(
            17 if heading else 12.5, title.font.color if heading else page.muted, bold=heading
        )
        page.text(pages.plain(line), (14, 22 if i == 0 else 24 + 20 * i), font)


def _legend(page: Page, drawn: list[Axes]) -> None:
    pairs = [pair for axes in drawn for pair in zip(*axes.get_legend_handles_labels(), strict=True)]
    if not pairs:
        return
    handles, names = zip(*pairs, strict=True)
    drawn_legend = page.sheet.legend(
        handles,
        names,
        loc="lower left",
        ncols=4,
        frameon=False,
        labelcolor=pages.rgba(page.ink),
        prop={"family": pages.families(), "size": 11 * pages.POINT},
    )
    for handle in drawn_legend.legend_handles:
        if isinstance(handle, Line2D):  # A wide line, or a big mark, is a small sample here.
            handle.set_linewidth(min(handle.get_linewidth(), 5.0))
            handle.set_markersize(min(handle.get_markersize(), 9.0))


def _colour_bar(page: Page, axis: Any) -> None:
    bar = axis.colorbar
    start = 1.015 if bar.x is None else float(bar.x)
    flat = bar.orientation == "h"
    if flat:
        left, right = page.across((start, start + float(bar.len)))
        above = bar.yanchor != "top"
        bottom = page.up((float(bar.y or 0) if not above else 1.0,))[0]
        bottom += (20 if above else -30) / page.size[1]
        place = page.sheet.add_axes((left, bottom, right - left, 9 / page.size[1]))
    else:
        left = page.across((start,))[0]
        bottom, top = page.up((0.02, 0.98))
        place = page.sheet.add_axes((left, bottom, 12 / page.size[0], top - bottom))
    drawn = page.sheet.colorbar(
        ScalarMappable(Normalize(axis.cmin, axis.cmax), pages.colour_map(axis.colorscale)),
        cax=place,
        orientation="horizontal" if flat else "vertical",
    )
    drawn.outline.set_visible(False)
    if bar.tickvals is not None:
        drawn.set_ticks(list(bar.tickvals), labels=[pages.plain(t) for t in bar.ticktext])
    place.tick_params(length=0, colors=pages.rgba(page.ink), labelsize=11 * pages.POINT)
    label = pages.plain(bar.title.text or "")
    if flat:
        place.set_title(label, parse_math=False, loc="left", pad=3, **page.font(12, None))
    else:
        drawn.set_label(label, parse_math=False, **page.font(12, None))
