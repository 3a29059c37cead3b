"""One edge's or node's score in every method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import plotly.graph_objects as go

from backend.graphs.explanation import GraphExplanation
from backend.graphs.naming import edge_names, node_names
from components.figures.frame import frame
from components.figures.palette import colour, escape
from components.figures.palette import theme as theme_of

ROW = 44


def bars(
    methods: Sequence[tuple[str, GraphExplanation]],
    what: Literal["edge", "node"],
    number: int,
    theme: str = "light",
) -> go.Figure:
    """A bar a method: the score as a share of the method's largest, with its rank.

    Args:
        methods: (name, explanation) of the same part. number: within the part.
    """
    look = theme_of(theme)
    array = "scores" if what == "edge" else "node_scores"
    names = edge_names(methods[0][1]) if what == "edge" else node_names(methods[0][1])
    shares, texts, hovers = [], [], []
    for name, found in methods:
        scores = found.arrays[array].astype(np.float64)
        largest = float(np.abs(scores).max(initial=0.0))
        shares.append(float(scores[number]) / largest if largest > 0 else 0.0)
        rank = int((scores > scores[number]).sum()) + 1
        texts.append(f"rank {rank} of {len(scores):,}")
        hovers.append(f"{escape(name)}<br>{scores[number]:.4g} {escape(str(found.values['unit']))}")
    plot = go.Figure(
        go.Bar(
            x=shares,
            y=[escape(name) for name, _ in methods],
            orientation="h",
            marker={"color": [colour(share, 1.0, look) for share in shares]},
            text=texts,
            textposition="outside",
            cliponaxis=False,
            hovertext=hovers,
            hoverinfo="text",
        )
    )
    low = min(0.0, *shares) if shares else 0.0
    plot.update_xaxes(title="share of the method's largest score", range=[low * 1.3, 1.35])
    plot.update_yaxes(autorange="reversed")
    title = f"{'Edge' if what == 'edge' else 'Node'} {names[number]}"
    return frame(plot, look, title, [], ROW * max(len(methods), 1) + 60)
