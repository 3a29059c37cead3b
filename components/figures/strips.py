"""The token strip as a figure: boxes with the tokens' text, coloured by score."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from components.figures import legend, rows
from components.figures.canvas import Canvas, box, hatch
from components.figures.palette import Theme, colour, ink_on, shorten, text
from components.figures.windows import Run, windows

if TYPE_CHECKING:
    from components.figures.tokens import Cell

MOST_UNITS = 600
"""Units drawn at most; a longer text is reduced to where its mass lies."""

FONT, ROW, BOX = 14.0, 33.0, 25.0


@dataclasses.dataclass(frozen=True)
class Look:
    """How a strip is drawn."""

    title: str
    unit: str
    signed: bool
    limit: float | None
    level: str
    width: int
    theme: Theme


@dataclasses.dataclass(frozen=True)
class Scores:
    """The cells' scores with what they are measured against."""

    values: np.ndarray
    """[cells]; NaN where there is none."""
    largest: float
    limit: float
    mass: float

    @classmethod
    def of(cls, cells: Sequence[Cell], limit: float | None) -> Scores:
        """Read the cells; the limit falls back to their largest |score|."""
        values = np.array([cell.score for cell in cells], dtype=np.float64)
        finite = np.abs(values[np.isfinite(values)])
        largest = float(finite.max(initial=0.0))
        return cls(values, largest, limit if limit else largest, float(finite.sum()))


def draw(cells: Sequence[Cell], look: Look) -> go.Figure:
    """The strip of these cells, reduced where there are too many."""
    scores = Scores.of(cells, look.limit)
    must = [i for i, cell in enumerate(cells) if cell.explained or cell.gold][: MOST_UNITS // 20]
    runs = windows(scores.values, must, MOST_UNITS)
    canvas = Canvas(look.width, look.theme)
    if look.title:
        canvas.paragraph(look.title, size=17, bold=True)
    for line in _remarks(cells, scores, runs, look):
        canvas.paragraph(line, size=12.5, colour=look.theme.muted)
    canvas.y += 8
    measure = rows.Measure(font=FONT, row_width=canvas.inner)
    pieces: list[rows.Piece] = []
    for run in runs:
        if run.shown:
            for i in range(run.start, run.stop):
                pieces += rows.pieces(i, cells[i].text, measure)
        else:
            pieces.append(measure.piece(-1, f"… {run.stop - run.start} {look.level}s …"))
    placed = rows.place(rows.joined(pieces), measure)
    _boxes(canvas, cells, scores, placed)
    _texts(canvas, cells, scores, placed)
    canvas.y += (placed[-1].row + 1) * ROW + 10 if placed else 10
    legend.draw(canvas, cells, scores, look)
    return canvas.figure(look.title)


def _remarks(cells: Sequence[Cell], scores: Scores, runs: Sequence[Run], look: Look) -> list[str]:
    """What must be known before the colours are believed."""
    lines = []
    shown = [i for run in runs if run.shown for i in range(run.start, run.stop)]
    if len(shown) < len(cells):
        part = np.abs(scores.values[shown])
        share = part[np.isfinite(part)].sum() / scores.mass if scores.mass else 0.0
        lines.append(
            f"Showing {len(shown):,} of {len(cells):,} {look.level}s, {share:.1%} of the mass"
        )
    if cells and not np.isfinite(scores.values).any():
        lines.append("No token has a score.")
    elif scores.largest == 0:
        lines.append("Every score is zero.")
    else:
        at = int(np.nanargmax(np.where(np.isfinite(scores.values), np.abs(scores.values), -1)))
        lines.append(
            f"Largest {'|score|' if look.signed else 'score'} {scores.largest:.3g} "
            f"at “{shorten(cells[at].text.strip(' '), 24)}”"
        )
    return lines


def _boxes(
    canvas: Canvas, cells: Sequence[Cell], scores: Scores, placed: Sequence[rows.Placed]
) -> None:
    theme = canvas.theme
    for one in placed:
        if one.piece.item < 0:
            continue
        cell = cells[one.piece.item]
        x, y, size = canvas.margin + one.left, canvas.y + one.row * ROW, one.piece.width
        if np.isfinite(cell.score):
            canvas.path(box(x, y, size, BOX), fill=colour(cell.score, scores.limit, theme))
        elif not cell.explained:
            canvas.path(box(x, y, size, BOX), fill=theme.neutral)
            canvas.path(hatch(x, y, size, BOX), line=theme.nan_hatch, stroke=0.7)
        if cell.explained:
            canvas.path(box(x + 1, y + 1, size - 2, BOX - 2, 3), line=theme.accent, stroke=1.6)
        if cell.gold:
            canvas.path(
                f"M{x + 2:.1f},{y + BOX + 2.5:.1f} L{x + size - 2:.1f},{y + BOX + 2.5:.1f}",
                line=theme.gold,
                stroke=2.5,
            )


def _texts(
    canvas: Canvas,
    cells: Sequence[Cell],
    scores: Scores,
    placed: Sequence[rows.Placed],
) -> None:
    """The texts as one trace, so that a long strip stays light; the space marks as another."""
    xs, ys, shown, inks, sizes, hover, marks = [], [], [], [], [], [], []
    for one in placed:
        piece = one.piece
        cell = cells[piece.item] if piece.item >= 0 else None
        indent = piece.spaces * rows.Measure.mark
        # Before the text is on its right where the script runs from right to left.
        leftwards = rows.direction(piece.text) == "R"
        left, middle = canvas.margin + one.left, round(canvas.y + one.row * ROW + BOX / 2 + 0.5, 1)
        xs.append(round(left + (piece.width + (-indent if leftwards else indent)) / 2, 1))
        ys.append(middle)
        ink = _ink(cell, scores, canvas.theme)
        shown.append(text(piece.text))
        inks.append(ink)
        sizes.append(11.5 if cell is None or cell.special else FONT)
        hover.append(_hover(cell, scores))
        for i in range(piece.spaces):
            inwards = (i + 0.9) * rows.Measure.mark
            x = left + (piece.width - inwards if leftwards else inwards)
            marks.append((round(x, 1), middle, ink))
    canvas.traces.append(_trace(xs, ys, shown, inks, sizes, hover))
    if marks:
        spaces = _trace(
            [x for x, _, _ in marks],
            [y for _, y, _ in marks],
            ["·"] * len(marks),
            [ink for _, _, ink in marks],
            12.0,
            None,
        )
        canvas.traces.append({**spaces, "opacity": 0.55, "hoverinfo": "skip"})


def _ink(cell: Cell | None, scores: Scores, theme: Theme) -> str:
    if cell is None:
        return theme.muted
    if np.isfinite(cell.score):
        return ink_on(colour(cell.score, scores.limit, theme))
    return theme.ink if cell.explained else ink_on(theme.neutral)


def _hover(cell: Cell | None, scores: Scores) -> str:
    """What the pointer shows; escaped."""
    if cell is None:
        return "left out for its small share"
    last = f"–{cell.stop - 1}" if cell.stop - cell.start > 1 else ""
    score = "no score"
    if np.isfinite(cell.score):
        share = abs(cell.score) / scores.mass if scores.mass else 0.0
        score = f"score {cell.score:+.4g} · {share:.1%} of the mass"
    marks = [name for name, on in (("explained", cell.explained), ("evidence", cell.gold)) if on]
    place = " · ".join([f"position {cell.start}{last}", cell.role, *marks])
    return f"<b>{text(shorten(cell.text, 60))}</b><br>{place}<br>{score}"


def _trace(
    x: list[float],
    y: list[float],
    shown: list[str],
    inks: list[str],
    size: list[float] | float,
    hover: list[str] | None,
) -> dict[str, Any]:
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": "text",
        "x": x,
        "y": y,
        "text": shown,
        "textfont": {"color": inks, "size": size},
        "cliponaxis": False,
    }
    if hover is not None:
        trace |= {"customdata": hover, "hovertemplate": "%{customdata}<extra></extra>"}
    return trace
