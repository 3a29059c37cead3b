"""The sheet matplotlib draws a plotly figure on: places, fonts, texts, colours."""

from __future__ import annotations

import dataclasses
import functools
import html
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go
from matplotlib import font_manager
from matplotlib.colors import Colormap, LinearSegmentedColormap, to_rgba
from matplotlib.figure import Figure

from components.figures import labels

POINT = 0.72
"""Points in a pixel, at the 100 pixels an inch that a page has."""

_FAMILIES = (
    "Noto Sans",
    "DejaVu Sans",
    "Noto Sans Arabic",
    "Noto Naskh Arabic",
    "Noto Sans Hebrew",
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Noto Sans Devanagari",
    "Noto Sans Thai",
    "Noto Sans Symbols2",
    "Noto Emoji",
    "Symbola",
)
_TAG = re.compile(r"<[^>]*>")
_RGBA = re.compile(r"rgba\(([\d.]+),\s*([\d.]+),\s*([\d.]+),\s*([\d.]+)\)")


@functools.cache
def families(bold: bool = False) -> list[str]:
    """The fonts of this system that the figures may use, in order of preference."""
    here = {
        font.name
        for font in font_manager.fontManager.ttflist
        if not bold or str(font.weight) in ("bold", "700")
    }
    return [name for name in _FAMILIES if name in here]


@functools.cache
def _drawable() -> frozenset[int]:
    """Code points that some font of `families` has."""
    found: set[int] = set()
    for name in families():
        path = font_manager.findfont(font_manager.FontProperties(family=name))
        found.update(font_manager.get_font(path).get_charmap())
    return frozenset(found)


def plain(label: str) -> str:
    """The text behind plotly's markup; a character that no font here has is a box."""
    text = html.unescape(_TAG.sub("", label.replace("<br>", "\n")))
    known = _drawable() | {0x0A, 0x200C, 0x200D, 0xFE0F}
    if all(ord(character) in known for character in text):
        return text
    return "".join(
        cluster if all(ord(character) in known for character in cluster) else "□"
        for cluster in labels.clusters(text)
    )


def em(label: str) -> float:
    """Estimated width in em."""
    return labels.width(label)


def rgba(colour: str) -> tuple[float, float, float, float]:
    """A plotly colour as four numbers."""
    found = _RGBA.match(colour)
    if found:
        r, g, b, a = map(float, found.groups())
        return r / 255, g / 255, b / 255, a
    return to_rgba(colour)


@dataclasses.dataclass
class Page:
    """The sheet that is drawn on, and how the figure's places map to it."""

    figure: go.Figure
    sheet: Figure
    size: tuple[int, int]
    margin: Mapping[str, float]
    categories: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    """Axis -> its categories in the order met."""

    @property
    def ink(self) -> str:
        return str(self.figure.layout.font.color or "#000000")

    @property
    def muted(self) -> str:
        return str(self.figure.layout.hoverlabel.bordercolor or self.ink)

    def axis(self, name: str) -> Any:
        """The layout of axis `x`, `y2`, ..."""
        return self.figure.layout[f"{name[0]}axis{name[1:]}"]

    def across(self, span: tuple[float, ...]) -> tuple[float, ...]:
        """Fractions of the plots' width as fractions of the sheet's."""
        width = self.size[0] - self.margin["l"] - self.margin["r"]
        return tuple((self.margin["l"] + part * width) / self.size[0] for part in span)

    def up(self, span: tuple[float, ...]) -> tuple[float, ...]:
        """Fractions of the plots' height as fractions of the sheet's, from below."""
        height = self.size[1] - self.margin["t"] - self.margin["b"]
        return tuple((self.margin["b"] + part * height) / self.size[1] for part in span)

    def place(self, name: str, value: Any) -> float:
        """A value on an axis as a number; a category is its index, None no number."""
        if value is None:
            return float("nan")
        if isinstance(value, str):
            known = self.categories.setdefault(name, [])
            if value not in known:
                known.append(value)
            return float(known.index(value))
        return float(value)

    def places(self, name: str, values: Any, count: int) -> np.ndarray:
        """Values on an axis as numbers; None counts from zero."""
        if values is None:
            return np.arange(count, dtype=float)
        return np.array([self.place(name, value) for value in values], dtype=float)

    def font(self, size: float, colour: str | None, *, bold: bool = False) -> dict[str, Any]:
        """Text properties; size in pixels."""
        return {
            "family": families(bold),
            "size": size * POINT,
            "color": rgba(colour or self.ink),
            "weight": "bold" if bold else "normal",
        }

    def text(self, label: str, pixel: tuple[float, float], font: dict[str, Any]) -> None:
        """A line of text, centred at a height below the top of the sheet."""
        x, y = pixel[0] / self.size[0], 1 - pixel[1] / self.size[1]
        self.sheet.text(x, y, label, va="center", parse_math=False, **font)


def colour_map(scale: Any) -> Colormap:
    """The scale as matplotlib knows it; what has no value stays clear."""
    steps = [(float(place), rgba(colour)) for place, colour in scale]
    found = LinearSegmentedColormap.from_list("scale", steps, N=512)
    return found.with_extremes(bad=(0, 0, 0, 0))


def each(value: Any, count: int) -> list[Any]:
    """One value a point: a list as it is, a single value repeated."""
    one = isinstance(value, str) or not hasattr(value, "__len__")
    return [value] * count if one else list(value)
