"""One choice of an agent: a bar for each state variable, and curves as variables are drawn anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from backend.policies.explained import value_words
from backend.policies.explanation import PolicyExplanation
from components.figures import curves as removal
from components.figures.frame import frame
from components.figures.palette import escape, shorten
from components.figures.palette import theme as theme_of

ROW = 38
"""Pixels of one bar."""
NAME_EM = 14.0
CURVES = {
    "deletion": "deletion: the most important drawn anew first",
    "insertion": "insertion: the most important given back first",
}


def bars(
    found: PolicyExplanation, theme: str = "light", title: str = "", limit: float | None = None
) -> go.Figure:
    """The scores of the state variables as bars, in the order of the state.

    Args:
        limit: end of the axis; None takes the largest bar. `largest` gives one for several
            explanations that stand side by side.
    """
    look, told = theme_of(theme), found.values
    scores = found.arrays["scores"].astype(float)
    reach = limit or largest([found])
    rows = list(range(len(scores)))
    low = -1.3 * reach if (scores < 0).any() else -0.03 * reach
    figure = go.Figure()
    figure.add_bar(
        y=rows,
        x=scores,
        orientation="h",
        marker={"color": [look.positive[-2] if s >= 0 else look.negative[-2] for s in scores]},
        error_x=_interval(found, look.muted),
        hovertext=[_hover(found, i) for i in rows],
        hoverinfo="text",
        showlegend=False,
    )
    figure.add_scatter(
        x=_ends(found) + np.where(scores < 0, -0.02, 0.02) * reach,
        y=rows,
        mode="text",
        text=[f"{score:.3g}" for score in scores],
        textposition=["middle left" if score < 0 else "middle right" for score in scores],
        cliponaxis=False,
        hoverinfo="skip",
        showlegend=False,
    )
    figure.add_vline(x=0, line={"color": look.muted, "width": 1})
    figure.update_xaxes(title=escape(told["unit"] or "score"), range=[low, 1.35 * reach], nticks=6)
    figure.update_yaxes(
        tickvals=rows,
        ticktext=[_label(found, i, look.muted) for i in rows],
        range=[len(rows) - 0.4, -0.6],
        showgrid=False,
        ticks="",
    )
    drawn = frame(figure, look, title, moment_words(told), 86 + ROW * len(rows))
    return drawn.update_layout(bargap=0.35)


def largest(found: Sequence[PolicyExplanation]) -> float:
    """The size of the largest bar of several explanations, for one scale; 1 where all are zero."""
    sizes = [float(np.nanmax(np.abs(one.arrays["scores"]), initial=0.0)) for one in found]
    ends = [one.arrays["policy/high"] for one in found if "policy/high" in one.arrays]
    sizes += [float(end.max(initial=0.0)) for end in ends]
    return max(sizes, default=0.0) or 1.0


def moment_words(told: Mapping[str, Any]) -> list[str]:
    """Which choice is explained: where it was made and what it was, a line each."""
    actions = told["action_names"]
    where = "A state set by hand"
    if told["episode"] is not None:
        where = f"Episode {told['episode']}, step {told['step']}"
    said = f"Why “{actions[told['action']]}”"
    if told["instead"] != told["action"]:
        said += f" and not “{actions[told['instead']]}”"
    probabilities = told["probabilities"]
    sure = "" if probabilities is None else f" p = {probabilities[told['action']]:.2g}."
    return [where, f"{said}?{sure}"]


def curves(scores: Mapping[str, PolicyExplanation], operator: str, theme: str) -> go.Figure:
    """What the action's probability does while variables are drawn anew, and given back.

    Args:
        scores: results of the faithfulness step by method; the random one is named `random`.
    """
    said = removal.Wording(
        title="Deletion and insertion of state variables",
        orders=CURVES,
        x="variables changed",
        y="probability of the action",
        notes=("States mixed like this may never be visited: the order of the methods counts.",),
        gone="changed",
    )
    return removal.curves(scores, operator, theme, said)


def _ends(found: PolicyExplanation) -> np.ndarray:
    """[S] where each bar with its interval ends."""
    return found.arrays.get("policy/high", found.arrays["scores"]).astype(np.float64)


def _interval(found: PolicyExplanation, colour: str) -> dict[str, Any] | None:
    if "policy/low" not in found.arrays:
        return None
    scores = found.arrays["scores"].astype(float)
    return {
        "type": "data",
        "symmetric": False,
        "array": found.arrays["policy/high"].astype(float) - scores,
        "arrayminus": scores - found.arrays["policy/low"].astype(float),
        "color": colour,
        "thickness": 1.2,
        "width": 4,
    }


def _label(found: PolicyExplanation, i: int, muted: str) -> str:
    told = found.values
    value = value_words(told, i, told["state"][i])
    name = escape(shorten(told["variable_names"][i], NAME_EM))
    return f'{name}<br><span style="font-size:11px;color:{muted}">{escape(value)}</span>'


def _hover(found: PolicyExplanation, i: int) -> str:
    told = found.values
    lines = [
        f"<b>{escape(told['variable_names'][i])}</b>",
        f"value: {escape(value_words(told, i, told['state'][i]))}",
        f"score: {float(found.arrays['scores'][i]):.6g} {escape(told['unit'])}",
    ]
    if "policy/low" in found.arrays:
        low, high = (float(found.arrays[f"policy/{end}"][i]) for end in ("low", "high"))
        lines.append(f"95 % interval: {low:.3g} to {high:.3g}")
    return "<br>".join(lines)
