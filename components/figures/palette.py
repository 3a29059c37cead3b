"""Colours of all figures: one diverging scale centred at zero, safe for colour-blind readers.

Blue is negative, orange positive, and the middle is near the paper, so that strength is what
stands out on either theme. The positive half alone shows what cannot be negative. Probabilities
have a scale of their own (green), as they are no scores.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Literal

from components.figures.labels import escape, shorten, text, visible

__all__ = [
    "DARK",
    "FONT",
    "LIGHT",
    "Scale",
    "Theme",
    "colour",
    "contrast",
    "diverging",
    "escape",
    "ink_on",
    "positive",
    "sequential",
    "shorten",
    "text",
    "theme",
    "visible",
]

FONT = (
    "system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'Noto Sans Arabic', 'Noto Sans CJK SC', "
    "'DejaVu Sans', 'Apple Color Emoji', 'Segoe UI Emoji', 'Noto Color Emoji', sans-serif"
)

Scale = list[tuple[float, str]]
"""A plotly colour scale: (place from 0 to 1, "#rrggbb"), ascending."""


@dataclasses.dataclass(frozen=True)
class Theme:
    """Colours of one theme; every one is "#rrggbb"."""

    name: Literal["light", "dark"]
    paper: str
    ink: str
    muted: str
    """Text of second rank; at least 4.5 against the paper."""
    grid: str
    accent: str
    """Outline of what is explained."""
    gold: str
    """Mark of planted evidence."""
    neutral: str
    """Ground of a cell without a score (NaN); no score has this colour."""
    nan_hatch: str
    negative: tuple[str, ...]
    """From the middle's neighbour to the strongest negative."""
    middle: str
    positive: tuple[str, ...]
    probability: tuple[str, ...]
    """From 0 to 1."""


LIGHT = Theme(
    name="light",
    paper="#ffffff",
    ink="#17212b",
    muted="#5a6672",
    grid="#dfe4e9",
    accent="#17212b",
    gold="#8a5a00",
    neutral="#e6e8eb",
    nan_hatch="#a3abb4",
    negative=("#d3e4f2", "#8fbce0", "#4a8ec6", "#1c5f9e"),
    middle="#f6f6f4",
    positive=("#fce3c8", "#f7b672", "#e5852c", "#b4560a"),
    probability=("#f3f7f5", "#c5e4d8", "#7cc4ad", "#33967f", "#0a5c50"),
)
DARK = Theme(
    name="dark",
    paper="#10161c",
    ink="#e8edf2",
    muted="#9aa7b3",
    grid="#2c3843",
    accent="#e8edf2",
    gold="#f0c05a",
    neutral="#3a3f45",
    nan_hatch="#767f88",
    negative=("#1f3a52", "#27608f", "#3f92d2", "#86c8ff"),
    middle="#1d262e",
    positive=("#493420", "#87531a", "#d08127", "#ffb766"),
    probability=("#18222a", "#1c4a45", "#258071", "#4db89f", "#a5ecd6"),
)


def theme(name: str) -> Theme:
    """The theme of this name.

    Raises:
        ValueError: there is none.
    """
    if name not in ("light", "dark"):
        raise ValueError(f"expected the theme 'light' or 'dark' (got {name!r})")
    return LIGHT if name == "light" else DARK


def diverging(theme: Theme) -> Scale:
    """The scale from -limit (0) through zero (0.5) to +limit (1)."""
    return _even((*reversed(theme.negative), theme.middle, *theme.positive))


def positive(theme: Theme) -> Scale:
    """The scale from zero (0) to +limit (1): the upper half of `diverging`."""
    return _even((theme.middle, *theme.positive))


def sequential(theme: Theme) -> Scale:
    """The scale of probabilities and attention, from 0 to the largest."""
    return _even(theme.probability)


def colour(value: float, limit: float, theme: Theme) -> str:
    """The colour of a score; values beyond ±limit take the ends, NaN the neutral grey.

    A limit that is not a positive number makes every score the colour of zero.
    """
    if math.isnan(value):
        return theme.neutral
    if not (limit > 0 and math.isfinite(limit)):
        return theme.middle
    return on_scale(0.5 + 0.5 * max(-1.0, min(1.0, value / limit)), diverging(theme))


def on_scale(place: float, scale: Scale) -> str:
    """The colour at a place from 0 to 1, between neighbours as plotly interpolates."""
    for (low, before), (high, after) in itertools.pairwise(scale):
        if place <= high:
            part = (place - low) / (high - low)
            pairs = zip(_channels(before), _channels(after), strict=True)
            return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in pairs)
    return scale[-1][1]


def ink_on(colour: str) -> str:
    """Black or white, whichever is easier to read on the colour (WCAG contrast 4.5 or more)."""
    return "#000000" if contrast("#000000", colour) >= contrast("#ffffff", colour) else "#ffffff"


def contrast(one: str, other: str) -> float:
    """WCAG 2.2 contrast ratio of two colours, from 1 to 21."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _even(colours: tuple[str, ...]) -> Scale:
    return [(i / (len(colours) - 1), value) for i, value in enumerate(colours)]


def _channels(value: str) -> tuple[int, int, int]:
    return int(value[1:3], 16), int(value[3:5], 16), int(value[5:7], 16)


def _luminance(value: str) -> float:
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (channel / 255 for channel in _channels(value))
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
