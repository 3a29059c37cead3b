"""How far an explanation stays as the model forgets, layer by layer."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from backend.sanity import HALF, Randomised
from components.figures.lines import Line, Panel, panels
from components.figures.palette import escape, theme


def curves(found: Mapping[str, Randomised], model: str, look: str = "light") -> go.Figure:
    """One line a method: the mean over draws at each stage.

    Args:
        found: by the methods' titles, at least one; all of the same stages.
        model: what forgets, e.g. "GNN".
    """
    stages = next(iter(found.values())).stages
    places = np.arange(len(stages), dtype=float)
    names = (stages[0], *(f"+ {name}" for name in stages[1:]))
    level = Line(
        "verdict",
        places[[0, -1]],
        np.full(2, HALF),
        hover=(f"verdict at {HALF}",) * 2,
        muted=True,
    )
    lines = [
        Line(title, places, _means(curve), hover=_hover(title, names, curve))
        for title, curve in found.items()
    ]
    shown = Panel(
        x_title="re-initialised",
        y_title=f"rank correlation with the trained {model}'s explanation",
        lines=(*lines, level),
        ticks=(tuple(places.tolist()), names),
    )
    title = f"The {model} forgets, from the output down"
    figure = panels([shown], theme(look), title, [], height=340)
    low = min(0.0, *(float(np.nanmin(line.y, initial=0.0)) for line in lines))
    figure.update_xaxes(range=[-0.3, len(stages) - 0.7])
    return figure.update_yaxes(range=[low - 0.05, 1.05])


def _means(curve: Randomised) -> np.ndarray:
    return np.array([np.nan if one.mean is None else one.mean for one in curve.means])


def _hover(title: str, names: tuple[str, ...], curve: Randomised) -> tuple[str, ...]:
    texts = []
    for name, one in zip(names, curve.means, strict=True):
        mean = "no ranking" if one.mean is None else f"{one.mean:.3f}"
        ends = "" if one.low is None or one.high is None else f" [{one.low:.3f}, {one.high:.3f}]"
        texts.append(f"{escape(title)}, {escape(name)}: {mean}{ends}, {one.n} draws")
    return tuple(texts)
