"""Token explanations as cells, as a figure, and as the rows of a table."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from backend.tokens.explanation import TokenExplanation
from backend.tokens.sequence import Level, Role, unit_scores
from components.figures import strips
from components.figures.palette import theme as theme_of
from components.figures.palette import visible


@dataclasses.dataclass(frozen=True)
class Cell:
    """A unit of the strip: token positions [start, stop), their text and their summed score."""

    text: str
    score: float
    """NaN where none of its tokens has a score."""
    start: int
    stop: int
    role: Role
    special: bool
    explained: bool
    gold: bool


def scores(explanation: TokenExplanation, reading: str = "scores") -> np.ndarray:
    """A summary of the explanation, [N].

    Raises:
        ValueError: it has none of this name; the text lists those it has.
    """
    arrays = explanation.arrays
    name = reading if reading in arrays else f"readings/{reading}"
    if name not in arrays or arrays[name].shape != (len(explanation.sequence),):
        known = [n for n in arrays if n == "scores" or n.startswith("readings/")]
        raise ValueError(f"no reading '{reading}'; there are: {', '.join(known) or 'none'}")
    return arrays[name]


def cells(explanation: TokenExplanation, level: Level, reading: str = "scores") -> tuple[Cell, ...]:
    """Group the tokens; the cells cover every token once and their scores keep the total.

    Scores that may not be summed are averaged.
    """
    sequence = explanation.sequence
    units = sequence.units(level)
    explained, gold = set(explanation.explained), set(sequence.gold)
    sums = unit_scores(scores(explanation, reading), units, mean=not explanation.additive)
    return tuple(
        Cell(
            text=unit.text,
            score=float(score),
            start=unit.start,
            stop=unit.stop,
            role=sequence.roles[unit.start],
            special=all(sequence.special[unit.start : unit.stop]),
            explained=not explained.isdisjoint(range(unit.start, unit.stop)),
            gold=not gold.isdisjoint(range(unit.start, unit.stop)),
        )
        for unit, score in zip(units, sums, strict=True)
    )


def limit(cells: Sequence[Cell]) -> float:
    """The largest finite |score|; 0 where every score is zero or missing."""
    values = np.abs([cell.score for cell in cells])
    return float(values[np.isfinite(values)].max(initial=0.0))


def mass(cells: Sequence[Cell]) -> float:
    """Sum of the finite |scores|: what a share is a share of."""
    values = np.abs([cell.score for cell in cells])
    return float(values[np.isfinite(values)].sum())


def strip(
    explanation: TokenExplanation,
    *,
    level: Level = "token",
    reading: str = "scores",
    limit: float | None = None,
    theme: str = "light",
    title: str = "",
    width: int = 960,
) -> go.Figure:
    """Rows of coloured boxes with the tokens' text, and a colour bar with the unit.

    Args:
        limit: score of the strongest colour, to share a scale; None takes this map's largest.
        width: pixels; the rows wrap to it and the figure grows in height.
    """
    shown = cells(explanation, level, reading)
    return strips.draw(
        shown,
        strips.Look(
            title=title,
            unit=explanation.unit,
            signed=explanation.signed,
            limit=limit,
            level=level,
            width=width,
            theme=theme_of(theme),
        ),
    )


def rows(
    explanation: TokenExplanation, level: Level, n: int | None = None, reading: str = "scores"
) -> list[dict[str, int | float | str | None]]:
    """The cells from the largest |score| down: rank, text, position, score, share.

    Cells without a score come last, with None for rank, score and share. `share` is |score| over
    the sum of all |scores|, None where that sum is zero.
    """
    shown = cells(explanation, level, reading)
    total = mass(shown)
    order = sorted(shown, key=lambda c: (not np.isfinite(c.score), -abs(c.score), c.start))
    return [
        {
            "rank": rank if (known := bool(np.isfinite(cell.score))) else None,
            "text": visible(cell.text),
            "position": cell.start,
            "score": cell.score if known else None,
            "share": abs(cell.score) / total if known and total > 0 else None,
        }
        for rank, cell in enumerate(order[:n], start=1)
    ]
