"""A picture as the model saw it, with a method's scores over it."""

from __future__ import annotations

import base64
import io
from typing import Literal

import numpy as np
import plotly.graph_objects as go
from PIL import Image
from scipy.ndimage import binary_dilation, gaussian_filter

from backend.agreement import scaled_ranks
from backend.images.explanation import ImageExplanation
from components.figures.frame import color_axis, frame
from components.figures.palette import Scale, Theme, diverging, on_scale, positive
from components.figures.palette import theme as theme_of

View = Literal["overlay", "map", "picture", "contour"]
VIEWS: dict[View, str] = {
    "overlay": "Overlay",
    "map": "Map alone",
    "contour": "Contour",
    "picture": "Picture",
}
STEPS = 256
CLIP = 99.5
"""Percentile of the scores' size at which colours end: a few pixels would bleach the rest."""
SHARES = (0.05, 0.2)
"""Of the pixels, those within a contour."""
SMOOTH = 0.02
"""Of the smaller side, the width by which a map is smoothed before its contours are drawn."""
WIDTH = 460


def figure(
    found: ImageExplanation,
    theme: str = "light",
    title: str = "",
    *,
    view: View = "overlay",
    by_rank: bool = False,
) -> go.Figure:
    """The picture with the map, and a colour bar.

    Args:
        by_rank: colours show the rank of a pixel, which is one scale for all methods, in place of
            its score.
    """
    look = theme_of(theme)
    values, ends, unit = shown(found, by_rank)
    signed = ends[0] < 0
    scale = diverging(look) if signed else positive(look)
    picture = composed(found, view, values, ends, scale, look)
    height, width = picture.shape[:2]
    plot = go.Figure(
        go.Image(source=encoded(picture), hoverinfo="skip"),
    )
    plot.add_scatter(
        x=[None],
        y=[None],
        mode="markers",
        marker={"color": [ends[0]], "coloraxis": "coloraxis", "opacity": 0},
        hoverinfo="skip",
        showlegend=False,
    )
    plot.update_xaxes(visible=False, range=[-0.5, width - 0.5], constrain="domain")
    plot.update_yaxes(visible=False, range=[height - 0.5, -0.5], scaleanchor="x")
    bar = color_axis(look, scale, ends, unit, orientation="h", y=-0.02, yanchor="top", len=0.7)
    bar["colorbar"]["title"]["side"] = "top"
    plot.update_layout(coloraxis=bar, dragmode=False)
    drawn = frame(plot, look, title, notes(found), round(WIDTH * height / width) + 70)
    return drawn.update_layout(margin_b=64)


def notes(found: ImageExplanation) -> list[str]:
    """What is explained, in a sentence."""
    values = found.values
    names = values["class_names"]
    said = (
        f"{values['picture']}: why {names[str(values['label'])]}? p = {values['probability']:.2g}"
    )
    if values["label"] != values["predicted"]:
        said += f"; predicted {names[str(values['predicted'])]}"
    return [said]


def shown(found: ImageExplanation, by_rank: bool) -> tuple[np.ndarray, tuple[float, float], str]:
    """[h, w] what colours show, its ends, and its unit."""
    scores = found.arrays["scores"].astype(np.float64)
    if by_rank:
        return scaled_ranks(scores), (0.0, 1.0), "rank of the pixel"
    if found.signed:
        reach = float(np.percentile(np.abs(scores), CLIP)) or float(np.abs(scores).max()) or 1.0
        return scores, (-reach, reach), found.unit
    low = float(scores.min())
    low = 0.0 if low >= 0 and low < 0.05 * float(scores.max() or 1.0) else low
    high = float(np.percentile(scores, CLIP))
    if high <= low:
        high = float(scores.max()) if scores.max() > low else low + 1.0
    return scores, (low, high), found.unit


def overlaid(found: ImageExplanation, theme: str) -> np.ndarray:
    """[h, w, 3] uint8: the picture with the map over it, without a colour bar."""
    look = theme_of(theme)
    values, ends, _ = shown(found, by_rank=False)
    scale = diverging(look) if ends[0] < 0 else positive(look)
    return composed(found, "overlay", values, ends, scale, look)


def composed(
    found: ImageExplanation,
    view: View,
    values: np.ndarray,
    ends: tuple[float, float],
    scale: Scale,
    look: Theme,
) -> np.ndarray:
    """[h, w, 3] uint8: what a view shows."""
    seen = found.arrays["seen"].astype(np.float64)
    if view == "picture":
        return found.arrays["seen"]
    if view == "contour":
        return _contours(seen, found.arrays["scores"], look)
    low, high = ends
    place = np.clip((values - low) / (high - low), 0, 1)
    colours = table(scale)[np.round(place * (STEPS - 1)).astype(int)]
    if view == "map":
        return np.asarray(colours.astype(np.uint8))
    strength = np.abs(2 * place - 1) if low < 0 else place
    grey = seen.mean(axis=2, keepdims=True)
    ground = 0.35 * seen + 0.65 * grey
    alpha = (0.85 * np.sqrt(strength))[..., None]
    return np.asarray(np.round(ground * (1 - alpha) + colours * alpha).astype(np.uint8))


def table(scale: Scale) -> np.ndarray:
    """[STEPS, 3] float64: red, green, blue along a scale."""
    hexes = [on_scale(i / (STEPS - 1), scale) for i in range(STEPS)]
    return np.array([[int(h[k : k + 2], 16) for k in (1, 3, 5)] for h in hexes], dtype=np.float64)


def encoded(picture: np.ndarray) -> str:
    """[h, w, 3] uint8 as a data URI of a PNG."""
    written = io.BytesIO()
    Image.fromarray(picture).save(written, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(written.getvalue()).decode("ascii")


def _contours(seen: np.ndarray, scores: np.ndarray, look: Theme) -> np.ndarray:
    """The picture with the outlines of its highest pixels, the innermost boldest."""
    drawn = 0.75 * seen + 0.25 * seen.mean(axis=2, keepdims=True)
    smooth = gaussian_filter(scores.astype(np.float64), SMOOTH * min(scores.shape))
    if np.ptp(smooth) == 0:
        return np.asarray(np.round(drawn).astype(np.uint8))
    ink = table(positive(look))[-1]
    for share, width in zip(reversed(SHARES), (1, 2), strict=True):
        inside = smooth >= np.quantile(smooth, 1 - share)
        edge = binary_dilation(inside, iterations=width) & ~inside
        halo = binary_dilation(inside, iterations=width + 1) & ~inside & ~edge
        drawn[halo] = 255.0
        drawn[edge] = ink
    return np.asarray(np.round(drawn).astype(np.uint8))
