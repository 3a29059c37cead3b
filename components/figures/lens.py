"""The logit lens: what each layer would have said at the places of the explained tokens."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from backend.tokens.explanation import TokenExplanation
from components.figures.frame import color_axis, frame, numbered
from components.figures.palette import Scale, escape, ink_on, on_scale, sequential, shorten, text
from components.figures.palette import theme as theme_of

MOST_COLUMNS = 24
"""Positions drawn at most: beyond, the words no longer fit their cells."""


def lens(explanation: TokenExplanation, theme: str = "light") -> go.Figure:
    """Depths × positions: the most probable word, coloured by its probability.

    Input below, last layer on top. The word that really follows stands under each column; a cell
    whose first word is that one is outlined. With more positions than fit, the last are shown.

    Raises:
        ValueError: the explanation has no readouts.
    """
    look = theme_of(theme)
    if "top_probs" not in explanation.arrays or "top_text" not in explanation.values:
        raise ValueError("this explanation has no readouts of layers (top_probs, top_text)")
    probs = explanation.arrays["top_probs"]
    depths, total = probs.shape[:2]
    first = max(0, total - MOST_COLUMNS)
    columns = list(range(first, total))
    scale = sequential(look)
    figure = go.Figure()
    figure.add_heatmap(
        z=probs[:, first:, 0].astype(np.float32),
        x=list(range(len(columns))),
        y=list(range(depths)),
        coloraxis="coloraxis",
        hoverinfo="skip",
        xgap=2,
        ygap=1,
    )
    _words(figure, explanation, columns, scale)
    _outline_hits(figure, explanation, columns, look.accent)
    following = [shorten(explanation.values["next_text"][c], 9) for c in columns]
    labels = [escape(str(x)) for x in explanation.values.get("depths") or range(depths)]
    tilt = 0 if len(columns) <= 10 else -60
    numbered(figure, [*map(escape, following)], labels, upwards=True, tilt=tilt)
    figure.update_xaxes(title="the token that follows")
    figure.update_yaxes(title="after layer", tickvals=list(range(0, depths, -(-depths // 40))))
    figure.update_yaxes(ticktext=figure.layout.yaxis.ticktext[:: -(-depths // 40)])
    bar = color_axis(look, scale, (0.0, 1.0), "probability of the first word")
    figure.update_layout(coloraxis=bar)
    notes = ["Outlined: the first word is the one that follows"]
    if first:
        notes.append(f"Showing the last {len(columns)} of {total} positions")
    return frame(figure, look, "Logit lens", notes, min(900, 23 * depths) + 90)


def _words(
    figure: go.Figure, explanation: TokenExplanation, columns: list[int], scale: Scale
) -> None:
    """The most probable word of each cell."""
    probs, top = explanation.arrays["top_probs"], explanation.values["top_text"]
    cells = [(d, i, c) for d in range(len(probs)) for i, c in enumerate(columns)]
    shades = [on_scale(min(1.0, float(probs[d, c, 0])), scale) for d, _, c in cells]
    longest = 70.0 / max(4, len(columns))
    figure.add_scatter(
        x=[i for _, i, _ in cells],
        y=[d for d, _, _ in cells],
        mode="text",
        text=[escape(shorten(top[d][c][0], longest)) for d, _, c in cells],
        textfont={
            "color": [ink_on(shade) for shade in shades],
            "size": 12 if len(columns) <= 12 else 9.5,
        },
        customdata=[_hover(explanation, d, c) for d, _, c in cells],
        hovertemplate="%{customdata}<extra></extra>",
        showlegend=False,
    )


def _hits(explanation: TokenExplanation, depth: int, column: int) -> bool:
    """Whether the first word at this depth is the token that follows."""
    found = explanation.arrays["top_ids"][depth, column, 0]
    return int(found) == int(explanation.values["next_ids"][column])


def _outline_hits(
    figure: go.Figure, explanation: TokenExplanation, columns: list[int], colour: str
) -> None:
    path = " ".join(
        f"M{i - 0.48:.2f},{d - 0.46:.2f} L{i + 0.48:.2f},{d - 0.46:.2f} "
        f"L{i + 0.48:.2f},{d + 0.46:.2f} L{i - 0.48:.2f},{d + 0.46:.2f} Z"
        for d in range(len(explanation.arrays["top_ids"]))
        for i, c in enumerate(columns)
        if _hits(explanation, d, c)
    )
    if path:
        figure.add_shape(type="path", path=path, line={"color": colour, "width": 1.5})


def _hover(explanation: TokenExplanation, depth: int, column: int) -> str:
    """Candidates, entropy and rank; escaped."""
    arrays, values = explanation.arrays, explanation.values
    names = [shorten(word, 20) for word in values["top_text"][depth][column]]
    candidates = "<br>".join(
        f"{chance:.3f}  {escape(name)}"
        for name, chance in zip(names, arrays["top_probs"][depth, column].tolist(), strict=True)
    )
    following = text(shorten(values["next_text"][column], 20))
    return (
        f"<b>{following}</b>: rank {int(arrays['rank'][depth, column]):,}, "
        f"probability {float(arrays['probability'][depth, column]):.3g}<br>"
        f"entropy {float(arrays['entropy'][depth, column]):.2f} nats<br>{candidates}"
    )
