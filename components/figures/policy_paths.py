"""What would have happened: paths after either action, imagined and true."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from backend.policies.explanation import PolicyExplanation
from components.figures.frame import frame
from components.figures.palette import Theme, escape, shorten
from components.figures.palette import theme as theme_of

ACROSS = 2
PANEL = 150
"""Pixels of a row of panels."""
REWARD = "reward so far"


def paths(found: PolicyExplanation, theme: str = "light", title: str = "") -> go.Figure:
    """Each variable's path after the action and after the other one, with the models' band."""
    look, told = theme_of(theme), found.values
    actions = [told["action_names"][told[which]] for which in ("action", "instead")]
    figure, places = _panels(found)
    for which, action, colour in zip(
        ("action", "instead"), actions, (look.positive[-1], look.negative[-1]), strict=True
    ):
        for j, place in enumerate(places):
            first = j == 0
            _band(figure, found, f"rollout/{which}", j, colour, place)
            _path(figure, found.arrays[f"rollout/{which}"][:, j], colour, "solid",
                  f"after “{action}”", first, place)  # fmt: skip
            if f"true/{which}" in found.arrays:
                _path(figure, found.arrays[f"true/{which}"][:, j], look.ink, "dot",
                      f"true, after “{action}”", first, place)  # fmt: skip
    notes = ["steps ahead; the band holds 95 % of held-out paths whole"]
    if "true/action" not in found.arrays:
        notes.append("this environment cannot be put into a state: no true path beside")
    return _finished(figure, look, title, notes, len(places))


def contrast(found: PolicyExplanation, theme: str = "light", title: str = "") -> go.Figure:
    """The path after the action less that after the other one."""
    look = theme_of(theme)
    figure, places = _panels(found)
    for j, place in enumerate(places):
        _band(figure, found, "contrast", j, look.positive[-1], place)
        _path(figure, found.arrays["contrast/difference"][:, j], look.positive[-1], "solid",
              "difference", j == 0, place)  # fmt: skip
        figure.add_hline(y=0, line={"color": look.muted, "width": 1}, **place)
    notes = ["the action's path less the other one's; where the band leaves zero they differ"]
    return _finished(figure, look, title, notes, len(places))


def _panels(found: PolicyExplanation) -> tuple[go.Figure, list[dict[str, Any]]]:
    names = [*found.values["variable_names"], REWARD]
    units = [*found.values["units"], ""]
    rows = -(-len(names) // ACROSS)
    titles = [
        escape(shorten(f"{name}, {unit}" if unit else name, 15.0))
        for name, unit in zip(names, units, strict=True)
    ]
    figure = make_subplots(
        rows=rows, cols=ACROSS, subplot_titles=titles, horizontal_spacing=0.12,
        vertical_spacing=min(0.12, 0.5 / rows),
    )  # fmt: skip
    places = [{"row": j // ACROSS + 1, "col": j % ACROSS + 1} for j in range(len(names))]
    return figure, places


def _band(
    figure: go.Figure,
    found: PolicyExplanation,
    prefix: str,
    j: int,
    colour: str,
    place: dict[str, Any],
) -> None:
    low, high = found.arrays[f"{prefix}/low"][:, j], found.arrays[f"{prefix}/high"][:, j]
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        return
    steps = np.arange(len(low))
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    figure.add_scatter(
        x=np.concatenate([steps, steps[::-1]]),
        y=np.concatenate([high, low[::-1]]),
        fill="toself",
        fillcolor=f"rgba({red},{green},{blue},0.18)",
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
        **place,
    )


def _path(
    figure: go.Figure,
    values: np.ndarray,
    colour: str,
    dash: str,
    name: str,
    legend: bool,
    place: dict[str, Any],
) -> None:
    figure.add_scatter(
        x=np.arange(len(values)),
        y=values,
        mode="lines",
        line={"color": colour, "dash": dash, "width": 2},
        name=escape(name),
        legendgroup=name,
        showlegend=legend,
        hovertemplate=f"{escape(name)}<br>step %{{x}}: %{{y:.4g}}<extra></extra>",
        **place,
    )


def _finished(
    figure: go.Figure, look: Theme, title: str, notes: list[str], panels: int
) -> go.Figure:
    rows = -(-panels // ACROSS)
    figure.update_annotations(font={"size": 12, "color": look.muted})
    figure.update_xaxes(nticks=6)
    figure.update_yaxes(nticks=5)
    drawn = frame(figure, look, title, notes, 60 + PANEL * rows, panels=True)
    below = {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"}
    return drawn.update_layout(legend=below, margin_b=64)
