"""Concepts of a class: what each adds in a picture, where it is, and in which pictures."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from PIL import Image

from backend.images.explanation import ImageExplanation
from components.figures.frame import color_axis, frame, numbered
from components.figures.image_map import encoded
from components.figures.palette import diverging, escape, sequential, shorten
from components.figures.palette import theme as theme_of

REST = "no concept"
SPOTS = 28
"""Places a side where a picture can be pointed at."""
WIDTH = 380


def name(number: int) -> str:
    """What the concept with this number, from 0, is called: they are found without names."""
    return f"Concept {number + 1}"


def added(found: ImageExplanation, theme: str = "light", title: str = "") -> go.Figure:
    """A bar a concept: what it adds to the class's logit in this picture; last the rest."""
    look = theme_of(theme)
    adds = np.array(found.values["adds"], dtype=np.float64)
    names = [name(i) for i in range(len(adds) - 1)] + [REST]
    colours = [look.positive[-2] if a >= 0 else look.negative[-2] for a in adds[:-1]]
    colours.append(look.muted)
    figure = go.Figure(
        go.Bar(
            x=adds.tolist(),
            y=list(range(len(adds))),
            orientation="h",
            width=0.7,
            marker={"color": colours},
            hovertext=[f"{n}: {a:+.3g}" for n, a in zip(names, adds, strict=True)],
            hovertemplate="%{hovertext}<extra></extra>",
            showlegend=False,
        )
    )
    figure.update_yaxes(
        tickvals=list(range(len(adds))), ticktext=names, autorange="reversed", showgrid=False
    )
    figure.update_xaxes(title="added to the logit", zeroline=True, zerolinecolor=look.muted)
    values = found.values
    notes = [
        f"Logit {values['logit']:.3g} = {values['base']:.3g} where nothing is seen + "
        f"{adds[:-1].sum():.3g} by concepts ({values['explained']:.0%} of the change) + "
        f"{adds[-1]:.3g} that no concept explains."
    ]
    return frame(figure, look, title, notes, 26 * len(adds) + 90)


def where(
    found: ImageExplanation, picture: np.ndarray, theme: str = "light", title: str = ""
) -> go.Figure:
    """The picture [h, w, 3] with spots to click; each carries its place."""
    look = theme_of(theme)
    height, width = picture.shape[:2]
    rows = (np.arange(SPOTS) + 0.5) * height / SPOTS
    columns = (np.arange(SPOTS) + 0.5) * width / SPOTS
    spots = [(y, x) for y in rows.tolist() for x in columns.tolist()]
    figure = go.Figure(go.Image(source=encoded(picture), hoverinfo="skip"))
    figure.add_scatter(
        x=[x for _, x in spots],
        y=[y for y, _ in spots],
        mode="markers",
        marker={"size": WIDTH / SPOTS, "symbol": "square", "color": look.ink, "opacity": 0.01},
        customdata=[[y / height, x / width] for y, x in spots],
        hovertext=[strongest(found, y / height, x / width) for y, x in spots],
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
    )
    figure.update_xaxes(visible=False, range=[-0.5, width - 0.5], constrain="domain")
    figure.update_yaxes(visible=False, range=[height - 0.5, -0.5], scaleanchor="x")
    figure.update_layout(dragmode=False, clickmode="event+select")
    return frame(figure, look, title, [], round(WIDTH * height / width) + 40)


def strongest(found: ImageExplanation, y: float, x: float) -> str:
    """The concept that is most there, relative to its threshold, in a word.

    Args:
        y, x: of the place, as shares of the height and width.
    """
    level = at(found, y, x)[0] / np.maximum(np.array(found.values["thresholds"]), 1e-12)
    if not len(level) or level.max() < 1:
        return "no concept here"
    return name(int(level.argmax()))


def at(found: ImageExplanation, y: float, x: float) -> tuple[np.ndarray, np.ndarray]:
    """[K] presence of each concept at a place, and [K + 1] what it and the rest add there.

    Args:
        y, x: as shares of the height and width.
    """
    presence, parts = found.arrays["presence"], found.arrays["contributions"]
    row = min(int(y * presence.shape[1]), presence.shape[1] - 1)
    column = min(int(x * presence.shape[2]), presence.shape[2] - 1)
    return presence[:, row, column], parts[:, row, column]


def spread(found: ImageExplanation, concept: int) -> np.ndarray:
    """[h, w] float32: a concept's presence, enlarged to the picture."""
    small = found.arrays["presence"][concept].astype(np.float32)
    tall, wide = found.arrays["scores"].shape
    grown = Image.fromarray(small).resize((wide, tall), Image.Resampling.BILINEAR)
    return np.asarray(grown, dtype=np.float32)


def matrix(
    concepts: ImageExplanation, what: str = "presence", theme: str = "light", title: str = ""
) -> go.Figure:
    """Concepts by views: how much of each is in each, or what it adds to the class there.

    Args:
        concepts: a discovery. what: "presence", or "contributions" (of views of the class).
    """
    look = theme_of(theme)
    of_class = concepts.arrays["of_class"].astype(bool)
    shown = np.flatnonzero(of_class) if what == "contributions" else np.arange(len(of_class))
    z = concepts.arrays[what][shown].T.astype(np.float64)
    if what == "presence":
        most = z.max(axis=1, keepdims=True)
        z = np.where(most > 0, np.maximum(z, 0) / np.where(most > 0, most, 1), 0)
    reach = float(np.abs(z).max()) or 1.0
    scale = sequential(look) if what == "presence" else diverging(look)
    ends = (0.0, reach) if what == "presence" else (-reach, reach)
    names = [concepts.values["names"][i] for i in shown.tolist()]
    labels = [name(i) for i in range(len(z))]
    figure = go.Figure(
        go.Heatmap(
            z=z,
            coloraxis="coloraxis",
            xgap=0.5,
            ygap=1,
            hovertext=[
                [f"{escape(n)}, {c}: {v:.3g}" for n, v in zip(names, line, strict=True)]
                for c, line in zip(labels, z, strict=True)
            ],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    )
    few = len(names) <= 24
    numbered(figure, [escape(shorten(n, 14)) if few else "" for n in names], labels, tilt=-50)
    unit = "presence, of its most" if what == "presence" else "added to the logit"
    figure.update_layout(coloraxis=color_axis(look, scale, ends, unit))
    count = int(of_class[shown].sum())
    notes = [f"The first {count} columns are views of the class."] if count < len(shown) else []
    return frame(figure, look, title, notes, 30 * max(len(z), 3) + 150)
