"""Reward terms: how much more of each the action brings than the other one."""

from __future__ import annotations

import plotly.graph_objects as go

from backend.policies.explanation import PolicyExplanation
from components.figures.frame import frame
from components.figures.palette import escape, shorten
from components.figures.palette import theme as theme_of
from components.figures.policy_bars import moment_words

ROW = 34
"""Pixels of one bar."""


def terms(found: PolicyExplanation, theme: str = "light", title: str = "") -> go.Figure:
    """A bar a term and one for their sum; the terms that decide are filled."""
    look, told = theme_of(theme), found.values
    whole = told["whole"]
    names = [*told["term_names"], "whole return"]
    ends = {
        end: [*found.arrays[f"terms/{end}"].tolist(), whole[end]]
        for end in ("difference", "low", "high")
    }
    decides = {*told["sufficient"], len(names) - 1}
    rows = list(range(len(names)))
    colours = [
        look.positive[-2] if value >= 0 else look.negative[-2] for value in ends["difference"]
    ]
    means = [found.arrays["terms/action"].tolist(), found.arrays["terms/instead"].tolist()]
    hover = [
        f"<b>{escape(name)}</b><br>{ends['difference'][i]:.4g} "
        f"[{ends['low'][i]:.4g}, {ends['high'][i]:.4g}]"
        + (f"<br>{means[0][i]:.4g} against {means[1][i]:.4g}" if i < len(means[0]) else "")
        for i, name in enumerate(names)
    ]
    figure = go.Figure()
    figure.add_bar(
        y=rows,
        x=ends["difference"],
        orientation="h",
        marker={
            "color": [c if i in decides else look.grid for i, c in enumerate(colours)],
            "line": {"color": colours, "width": 1.5},
        },
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [h - d for h, d in zip(ends["high"], ends["difference"], strict=True)],
            "arrayminus": [d - lo for lo, d in zip(ends["low"], ends["difference"], strict=True)],
            "color": look.muted,
            "thickness": 1.2,
            "width": 4,
        },
        hovertext=hover,
        hoverinfo="text",
        showlegend=False,
    )
    reach = max(*(abs(v) for end in ("low", "high") for v in ends[end]), 1e-6)
    figure.add_scatter(
        x=[max(high, 0) + 0.03 * reach for high in ends["high"]],
        y=rows,
        mode="text",
        text=[f"{value:.3g}" for value in ends["difference"]],
        textposition="middle right",
        cliponaxis=False,
        hoverinfo="skip",
        showlegend=False,
    )
    figure.add_vline(x=0, line={"color": look.muted, "width": 1})
    figure.add_hline(y=len(rows) - 1.5, line={"color": look.grid, "width": 1})
    low = min(0.0, *ends["low"])
    figure.update_xaxes(
        title="reward more than after the other action",
        range=[low - 0.06 * reach, max(0.0, *ends["high"]) + 0.3 * reach],
        nticks=6,
    )
    figure.update_yaxes(
        tickvals=rows,
        ticktext=[escape(shorten(name, 14.0)) for name in names],
        range=[len(rows) - 0.4, -0.6],
        showgrid=False,
        ticks="",
    )
    notes = [*moment_words(told), *found.notes]
    if told["sufficient"]:
        notes.insert(2, "Filled: the fewest terms that outweigh those against it.")
    return frame(figure, look, title, notes, 96 + ROW * len(rows)).update_layout(bargap=0.35)
