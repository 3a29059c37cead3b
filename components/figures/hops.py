"""How much of an explanation landed on the prompt at each hop, and how much was carried on."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from backend.tokens.explanation import TokenExplanation
from components.figures.frame import frame
from components.figures.palette import theme as theme_of


def shares(explanation: TokenExplanation) -> tuple[np.ndarray, np.ndarray]:
    """Share of the whole that hop k put on the prompt, and share still carried after it, [K+1].

    Raises:
        ValueError: the explanation has no hops.
    """
    arrays = explanation.arrays
    if "hops" not in arrays or "carried" not in arrays:
        raise ValueError("this explanation has no hops")
    totals = arrays["hops"].sum(axis=1, dtype=np.float64)
    landed = np.array(
        [
            np.nansum(arrays[f"readings/hop_{k}"], dtype=np.float64) / total if total > 0 else 0.0
            for k, total in enumerate(totals)
        ]
    )
    return landed, arrays["carried"].astype(np.float64)


def hops(explanation: TokenExplanation, theme: str = "light") -> go.Figure:
    """Bars of the hops: landed on the prompt, carried on by the model's own text.

    Raises:
        ValueError: the explanation has no hops.
    """
    look = theme_of(theme)
    landed, carried = shares(explanation)
    names = [f"hop {k}" for k in range(len(landed))]
    figure = go.Figure()
    for title, values, colour in (
        ("landed on the prompt", landed, look.positive[2]),
        ("carried on by the model's own text", carried, look.negative[2]),
    ):
        figure.add_bar(
            y=names,
            x=values,
            orientation="h",
            name=title,
            marker={"color": colour},
            text=[f"{value:.1%}" for value in values],
            textposition="auto",
            hovertemplate=f"%{{y}}: %{{x:.2%}} {title}<extra></extra>",
        )
    figure.update_layout(barmode="group", legend={"orientation": "h", "x": 0, "y": -0.35})
    figure.update_xaxes(title="share of what the explained tokens took", tickformat=".0%")
    figure.update_xaxes(range=[0, 1])
    figure.update_yaxes(autorange="reversed")
    return frame(figure, look, "Hops", [], 110 + 52 * len(names))


def mass(found: TokenExplanation) -> str:
    """Where FlashTrace's mass lies that is no content of the prompt, in a sentence."""
    where = found.values["mass"]
    sinks = ", ".join(map(str, found.values["sinks"])) or "none found"
    return (
        f"Of the scores, {where['template']:.1%} lie on the chat template, {where['special']:.1%} "
        f"on special tokens, {where['sink']:.1%} on attention sinks (positions: {sinks}); "
        f"{where['stop']:.1%} of what hop 0 took fell on commas, full stops and blanks and was "
        "left out."
    )
