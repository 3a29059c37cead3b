"""Effective dimension by layer, and the spectrum behind it."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from backend.tokens.explanation import TokenExplanation
from components.figures.lines import Line, Panel, layer_ticks, panels, thinned
from components.figures.palette import Theme
from components.figures.palette import theme as theme_of
from components.figures.plot import Plot

NAMES = {"attention": "attention output", "mlp": "MLP output", "residual": "residual"}
DEFINITIONS = (
    ("variance_share", "Directions with 99 % of the variance"),
    ("entropy_share", "exp(entropy of singular values)"),
)
MOST_POINTS = 160
"""Directions drawn of a scree curve."""
SCREE = "Spectrum"


def plots(found: TokenExplanation, theme: str = "light") -> tuple[Plot, ...]:
    """Both definitions by layer, then the scree curves of one layer with a slider for the others.

    Raises:
        ValueError: the explanation is none of this view.
    """
    look = theme_of(theme)
    if found.values.get("view") != "effective_dimension":
        raise ValueError("this explanation does not hold effective dimensions")
    return (_shares(found, look), _scree(found, look))


def _counted(found: TokenExplanation) -> list[str]:
    values = found.values
    notes = [f"{values['tokens']:,} tokens, {values['width']:,} dimensions"]
    if values["random_tokens"]:
        notes.append(f"{values['random_tokens']:,} of the tokens are random ids, no text")
    return notes


def _shares(found: TokenExplanation, look: Theme) -> Plot:
    layers = np.arange(1, found.arrays["variance_share"].shape[1] + 1)
    shown = tuple(
        Panel(
            "layer",
            "share of dimensions",
            tuple(
                Line(NAMES[site], layers, found.arrays[array][i])
                for i, site in enumerate(found.values["sites"])
            ),
            title,
            ticks=layer_ticks(len(layers)),
        )
        for array, title in DEFINITIONS
    )
    title = "Effective dimension"
    return Plot(
        title,
        panels(shown, look, title, _counted(found), 230).update_yaxes(range=[0, 1.02]),
        "A share near 1: the vectors spread over all dimensions; a low one: they stay in a flat "
        "subspace. The two definitions differ in how much they make of weak directions.",
    )


def _scree(found: TokenExplanation, look: Theme) -> Plot:
    spectrum = found.arrays["spectrum"].astype(np.float64)
    _, count, width = spectrum.shape
    at, layer = thinned(width, MOST_POINTS, log=True), found.values["layer"]
    curves = np.where(spectrum > 0, spectrum, np.nan)[..., at]
    panel = Panel(
        "direction, strongest first, log scale",
        "share of the variance, log scale",
        tuple(
            Line(NAMES[site], at + 1, curves[i, layer])
            for i, site in enumerate(found.values["sites"])
        ),
        log_x=True,
        log_y=True,
    )
    title = f"{SCREE} · layer {layer + 1} of {count}"
    figure = panels((panel,), look, title, _counted(found), 300)
    if count > 1:
        _slider(figure, curves, layer, look)
    return Plot(
        title,
        figure,
        "Each direction's share of the variance: a curve that drops early fills few directions. "
        "The slider chooses the layer.",
    )


def _slider(figure: go.Figure, curves: np.ndarray, layer: int, look: Theme) -> None:
    """Let a person choose the layer; the first title line follows."""
    count = curves.shape[1]
    written = str(figure.layout.title.text)
    steps: list[dict[str, Any]] = []
    for other in range(count):
        here = f"layer {layer + 1} of {count}", f"layer {other + 1} of {count}"
        y = [[None if np.isnan(v) else float(f"{v:.3g}") for v in row] for row in curves[:, other]]
        steps.append(
            {
                "label": str(other + 1),
                "method": "update",
                "args": [{"y": y}, {"title.text": written.replace(*here, 1)}],
            }
        )
    figure.update_layout(
        sliders=[
            {
                "active": layer,
                "steps": steps,
                "currentvalue": {"prefix": "layer ", "font": {"size": 12, "color": look.ink}},
                "y": 0,
                "yanchor": "top",
                "pad": {"t": 52, "b": 0},
                "ticklen": 0,
                "minorticklen": 0,
                "font": {"size": 10, "color": look.paper},
                "bgcolor": look.grid,
                "bordercolor": look.muted,
                "activebgcolor": look.muted,
            }
        ],
        height=figure.layout.height + 84,
    )
    figure.update_layout(margin_b=figure.layout.margin.b + 84)
