"""A figure drawn in pixels: text, boxes and lines at places that are worked out beforehand."""

from __future__ import annotations

import dataclasses
from typing import Any

import plotly.graph_objects as go

from components.figures import labels
from components.figures.palette import FONT, Scale, Theme, escape, on_scale


@dataclasses.dataclass
class Canvas:
    """Collects what is drawn; `figure` hands it over. The origin is at the top left.

    Boxes of one style become one path, so that a figure of hundreds of boxes stays small.
    """

    width: int
    theme: Theme
    margin: float = 18.0
    y: float = 16.0
    """Where the next line goes."""
    paths: dict[tuple[str, str, float], list[str]] = dataclasses.field(default_factory=dict)
    texts: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    traces: list[Any] = dataclasses.field(default_factory=list)

    @property
    def inner(self) -> float:
        """Pixels between the margins."""
        return self.width - 2 * self.margin

    def path(self, d: str, *, fill: str = "", line: str = "", stroke: float = 1.0) -> None:
        """Add an outline in SVG path syntax (M, L, Q, Z with absolute places)."""
        self.paths.setdefault((fill, line, stroke if line else 0.0), []).append(d)

    def text(
        self,
        sentence: str,
        x: float,
        y: float,
        *,
        size: float = 12.0,
        colour: str = "",
        bold: bool = False,
        anchor: str = "left",
    ) -> None:
        """One line of text, vertically centred at y."""
        self.texts.append(
            {
                "text": escape(sentence),
                "x": round(x - {"left": 1, "right": -1}.get(anchor, 0), 1),
                "y": round(y, 1),
                "xanchor": anchor,
                "yanchor": "middle",
                "showarrow": False,
                "borderpad": 0,
                "xref": "x",
                "yref": "y",
                "font": {
                    "size": size,
                    "color": colour or self.theme.ink,
                    "weight": 600 if bold else 400,
                },
            }
        )

    def paragraph(
        self, sentence: str, *, size: float = 12.0, colour: str = "", bold: bool = False
    ) -> None:
        """Text wrapped to the inner width at `y`, which moves below it."""
        for line in wrap(sentence, self.inner / size * (0.97 if bold else 1.0)):
            self.text(line, self.margin, self.y + size * 0.7, size=size, colour=colour, bold=bold)
            self.y += size * 1.45

    def figure(self, title: str) -> go.Figure:
        """The figure, as high as what was drawn."""
        height = round(self.y + self.margin * 0.7)
        shapes = [
            {
                "type": "path",
                "path": " ".join(parts),
                "xref": "x",
                "yref": "y",
                "fillcolor": fill or "rgba(0,0,0,0)",
                "line": {"color": line or "rgba(0,0,0,0)", "width": stroke},
                "layer": "below",
            }
            for (fill, line, stroke), parts in self.paths.items()
        ]
        hidden: dict[str, Any] = {"visible": False, "fixedrange": True, "autorange": False}
        return go.Figure(
            data=self.traces,
            layout={
                "template": "plotly",  # a host such as Streamlit sets another default
                "width": self.width,
                "height": height,
                "margin": {"l": 0, "r": 0, "t": 0, "b": 0, "pad": 0},
                "xaxis": {**hidden, "range": [0, self.width]},
                "yaxis": {**hidden, "range": [height, 0]},
                "paper_bgcolor": self.theme.paper,
                "plot_bgcolor": self.theme.paper,
                "font": {"family": FONT, "color": self.theme.ink, "size": 12},
                "hoverlabel": hover_label(self.theme),
                "hovermode": "closest",
                "showlegend": False,
                "shapes": shapes,
                "annotations": self.texts,
                "meta": {"title": title},
            },
        )


def hover_label(theme: Theme) -> dict[str, Any]:
    """The look of what is shown at the pointer, in every figure."""
    return {
        "bgcolor": theme.paper,
        "bordercolor": theme.muted,
        "font": {"family": FONT, "size": 12, "color": theme.ink},
        "align": "left",
    }


def box(x: float, y: float, width: float, height: float, radius: float = 4.0) -> str:
    """A rectangle with round corners, in SVG path syntax."""
    r = min(radius, width / 2, height / 2)
    a, b, c, d = (f"{v:.1f}" for v in (x, x + r, x + width - r, x + width))
    e, f, g, h = (f"{v:.1f}" for v in (y, y + r, y + height - r, y + height))
    return (
        f"M{b},{e} L{c},{e} Q{d},{e} {d},{f} L{d},{g} Q{d},{h} {c},{h} "
        f"L{b},{h} Q{a},{h} {a},{g} L{a},{f} Q{a},{e} {b},{e} Z"
    )


def hatch(x: float, y: float, width: float, height: float, step: float = 6.0) -> str:
    """Diagonal lines that fill a rectangle, in SVG path syntax."""
    parts = []
    offset = step / 2
    while offset < width + height:
        x0, y0 = x + max(0.0, offset - height), y + min(offset, height)
        x1, y1 = x + min(offset, width), y + max(0.0, offset - width)
        parts.append(f"M{x0:.1f},{y0:.1f} L{x1:.1f},{y1:.1f}")
        offset += step
    return " ".join(parts)


def gradient(canvas: Canvas, x: float, y: float, size: tuple[float, float], scale: Scale) -> None:
    """A colour bar from left to right, as a row of narrow boxes without gaps."""
    width, height = size
    steps = 80
    for i in range(steps):
        left, right = x + width * i / steps, x + width * (i + 1) / steps
        # Each box reaches under the next one: touching edges would show as hairlines.
        right = min(right + 1.0, x + width)
        canvas.path(
            f"M{left:.1f},{y:.1f} L{right:.1f},{y:.1f} L{right:.1f},{y + height:.1f} "
            f"L{left:.1f},{y + height:.1f} Z",
            fill=on_scale(i / (steps - 1), scale),
        )


def wrap(sentence: str, longest: float) -> list[str]:
    """Lines of at most `longest` em, broken between words."""
    lines: list[str] = []
    for word in sentence.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and labels.width(longer) <= longest:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines
