"""The legend of a strip: the colour bar with its unit, and what the marks mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from components.figures import labels
from components.figures.canvas import Canvas, box, gradient, hatch
from components.figures.palette import diverging, positive

if TYPE_CHECKING:
    from components.figures.strips import Look, Scores
    from components.figures.tokens import Cell

BAR = 240.0
Draw = Callable[[float, float], None]


def draw(canvas: Canvas, cells: Sequence[Cell], scores: Scores, look: Look) -> None:
    """Draw the legend at the canvas' place and move below it."""
    theme = canvas.theme
    canvas.path(
        f"M{canvas.margin:.1f},{canvas.y:.1f} L{canvas.width - canvas.margin:.1f},{canvas.y:.1f}",
        line=theme.grid,
    )
    canvas.y += 10
    beside = canvas.width >= 700
    top = canvas.y
    if scores.largest > 0:
        _bar(canvas, scores.limit, look)
    keys = _keys(canvas, cells)
    if not keys:
        return
    left = canvas.margin + (BAR + 44 if beside and scores.largest > 0 else 0)
    x, y = left, top + 28 if left > canvas.margin else canvas.y + 10
    for draw_key, name in keys:
        size = 24 + labels.width(name) * 12 + 16
        if x > left and x + size > canvas.width - canvas.margin:
            x, y = left, y + 22
        draw_key(x, y)
        canvas.text(name, x + 24, y, size=12, colour=theme.muted)
        x += size
    canvas.y = max(canvas.y, y + 16)


def _bar(canvas: Canvas, limit: float, look: Look) -> None:
    theme, x = canvas.theme, canvas.margin
    canvas.paragraph(look.unit or "score", size=12, colour=theme.muted)
    canvas.y += 3
    gradient(canvas, x, canvas.y, (BAR, 11), diverging(theme) if look.signed else positive(theme))
    ends = [(-limit, 0.0), (0.0, 0.5), (limit, 1.0)] if look.signed else [(0.0, 0.0), (limit, 1.0)]
    for value, part in ends:
        anchor = {0.0: "left", 0.5: "center", 1.0: "right"}[part]
        label = f"{value:+.3g}" if look.signed and value else f"{value:.3g}"
        canvas.text(
            label.replace("-", "−"), x + BAR * part, canvas.y + 21, size=11.5, anchor=anchor
        )
    canvas.y += 32


def _keys(canvas: Canvas, cells: Sequence[Cell]) -> list[tuple[Draw, str]]:
    """The marks that occur, each with how to draw its sample."""
    theme = canvas.theme

    def missing(x: float, y: float) -> None:
        canvas.path(box(x, y - 7, 18, 14, 3), fill=theme.neutral)
        canvas.path(hatch(x, y - 7, 18, 14), line=theme.nan_hatch, stroke=0.7)

    def explained(x: float, y: float) -> None:
        canvas.path(box(x, y - 7, 18, 14, 3), line=theme.accent, stroke=1.6)

    def gold(x: float, y: float) -> None:
        canvas.path(f"M{x:.1f},{y + 5:.1f} L{x + 18:.1f},{y + 5:.1f}", line=theme.gold, stroke=2.5)

    def space(x: float, y: float) -> None:
        canvas.text("·", x + 9, y, size=14, anchor="center")

    found: list[tuple[bool, Draw, str]] = [
        (any(c.explained for c in cells), explained, "explained"),
        (any(c.gold for c in cells), gold, "planted evidence"),
        (any(not np.isfinite(c.score) and not c.explained for c in cells), missing, "no score"),
        (any(c.text.startswith(" ") for c in cells), space, "space"),
    ]
    return [(draw_key, name) for there, draw_key, name in found if there]
