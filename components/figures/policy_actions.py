"""What an agent might have done at a step: the probability or value of each action."""

from __future__ import annotations

import plotly.graph_objects as go

from backend.policies.agent import agent_of
from backend.policies.explanation import Experience
from components.figures.frame import frame
from components.figures.palette import escape, shorten
from components.figures.palette import theme as theme_of

ROW = 26
"""Pixels of one bar."""
VALUE = "value (Q) above the least"


def actions(experience: Experience, row: int, theme: str = "light") -> go.Figure:
    """Bars of the actions at a transition; the one that was taken is filled.

    Of an agent its probabilities, or where it has values how much those are above the least;
    without one, what was taken.
    """
    look, agent = theme_of(theme), agent_of(experience)
    taken, names = int(experience.arrays["actions"][row]), experience.action_names
    state = experience.arrays["states"][[row]]
    axis, known = "taken", [float(k == taken) for k in range(len(names))]
    told = known
    if agent is not None and agent.network.head == "values":
        told = [float(v) for v in agent.outputs(state)[0]]
        axis, known = VALUE, [value - min(told) for value in told]
    elif agent is not None:
        axis, known = "probability", [float(p) for p in agent.probabilities(state)[0]]
        told = known
    colours = [look.positive[-2] if k == taken else look.grid for k in range(len(names))]
    figure = go.Figure()
    figure.add_bar(
        y=list(range(len(names))),
        x=known,
        orientation="h",
        marker={"color": colours},
        text=[f"{value:.4g}" for value in told],
        textposition="outside" if axis == VALUE else "auto",
        cliponaxis=False,
        hovertext=[escape(name) for name in names],
        hoverinfo="text+x",
        showlegend=False,
    )
    figure.update_xaxes(title=axis, nticks=5)
    end = 1.25 * max(known) or 1.0
    figure.update_xaxes(range=[0, end if axis == VALUE else 1])
    figure.update_yaxes(
        tickvals=list(range(len(names))),
        ticktext=[escape(shorten(name, 12.0)) for name in names],
        range=[len(names) - 0.5, -0.5],
        showgrid=False,
        ticks="",
    )
    return frame(figure, look, "", [], 60 + ROW * len(names)).update_layout(bargap=0.25)
