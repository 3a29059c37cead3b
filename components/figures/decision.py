"""One sample's decision: a bar for each concept, and what happens as concepts are taken away."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import plotly.graph_objects as go

from backend.concepts.decision import class_name
from backend.concepts.explanation import ConceptExplanation
from components.figures import curves as removal
from components.figures import labels
from components.figures.frame import frame
from components.figures.palette import Theme, escape, shorten
from components.figures.palette import theme as theme_of
from components.figures.plot import Plot

MOST = 20
"""Bars of single concepts; what is left is one bar."""
NAME_EM = 14.0
"""Room for a name on a telephone."""
ROW = 35
"""Pixels of one bar."""
SURE = 0.995
"""Probability from which on it is not written out."""
CURVES = {
    "deletion": "deletion: the most important set to the reference first",
    "insertion": "insertion: the most important set to the sample first",
}
OFF_THE_DATA = (
    "Mixed samples like these may occur nowhere in the data, so only the order of the methods "
    "counts, not the height of a curve."
)


@dataclasses.dataclass(frozen=True)
class _Bar:
    """One bar: its score, how it is called, and what the pointer shows."""

    score: float
    name: str
    state: str
    hover: str
    wrong: bool = False
    rest: bool = False


def contributions(
    found: ConceptExplanation,
    theme: str = "light",
    title: str = "",
    limit: float | None = None,
    most: int = MOST,
) -> go.Figure:
    """The scores of the concepts as bars from the strongest down, the weakest summed in one.

    Args:
        limit: end of the axis in both directions; None takes the largest bar. `largest` gives one
            for several explanations that stand side by side.
        most: how many concepts have a bar of their own.
    """
    look = theme_of(theme)
    bars = _bars(found, most)
    reach = limit or max((abs(bar.score) for bar in bars), default=0.0) or 1.0
    figure = go.Figure()
    _draw(figure, bars, look)
    # Room for the number at a bar's end, and for the marks at the left edge.
    ends = [(-0.25 if "members" in found.values else -1.65) * reach, 1.55 * reach]
    _marks(figure, bars, ends[0], look)
    figure.add_vline(x=0, line={"color": look.muted, "width": 1})
    figure.update_xaxes(title=_axis(found), range=ends, nticks=7)
    figure.update_yaxes(
        tickvals=list(range(len(bars))),
        ticktext=[_label(bar) for bar in bars],
        range=[len(bars) - 0.4, -0.6],
        showgrid=False,
        ticks="",
    )
    wrong = any(bar.wrong for bar in bars)
    drawn = frame(figure, look, title, notes(found), 96 + ROW * len(bars) + 24 * wrong)
    return drawn.update_layout(
        bargap=0.28,
        showlegend=wrong,
        legend={"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"},
        margin_b=44 if wrong else 12,
    )


def plots(
    found: ConceptExplanation, theme: str = "light", title: str = "", limit: float | None = None
) -> tuple[Plot, ...]:
    """The bars with the sentence that says how to read them."""
    read = (
        "An orange bar speaks for the class, a blue one against it. Below a concept's name stands "
        "what the model says of it; a cross marks where that is wrong. A cross with a long orange "
        "bar is a wrong concept that carries the decision."
    )
    return (Plot(title or "Concepts", contributions(found, theme, title, limit), read),)


def largest(found: Sequence[ConceptExplanation], most: int = MOST) -> float:
    """The size of the largest bar of several explanations, for one scale; 1 where all are zero."""
    sizes = [abs(bar.score) for one in found for bar in _bars(one, most)]
    return max(sizes, default=0.0) or 1.0


def notes(found: ConceptExplanation) -> list[str]:
    """What is explained, and how the bars add up, in sentences."""
    values, names = found.values, found.values["class_names"]
    label, truth, prediction = (values[name] for name in ("label", "truth", "prediction"))
    said = f"Sample {values['sample']}: why {class_name(names, label)}"
    if values["against"] is not None:
        said += f" and not {class_name(names, values['against'])}"
    said += f"? p = {values['probability']:.2g}; predicted {class_name(names, prediction)}, "
    said += "which is right" if prediction == truth else f"truly {class_name(names, truth)}"
    if "members" in values:
        return [said, f"mean rank of {len(values['members'])} methods, 1 where all put it first"]
    unit = found.unit or "logit"
    if values["baseline_output"] is None:
        return [said, f"{unit} {_signed(values['output'])}; these bars do not add up"]
    sum_ = (
        f"reference {_signed(values['baseline_output'])} + bars {_signed(values['sum'])} "
        f"= {unit} {_signed(values['output'])}"
    )
    gap = values["completeness_gap"]
    if abs(gap) > 5e-3 * max(1.0, abs(values["output"] - values["baseline_output"])):
        sum_ = sum_.replace("=", "≈") + f" (gap {_signed(gap)})"
    return [said, sum_]


def curves(
    scores: Mapping[str, ConceptExplanation],
    theme: str = "light",
    what: Literal["probability", "logit"] = "probability",
) -> go.Figure:
    """What the class gets while concepts are set to the reference, and from there to the sample.

    Args:
        scores: results of the faithfulness step by method; the random one is named `random`.
    """
    probability = what == "probability"
    said = removal.Wording(
        title="Deletion and insertion of concepts",
        orders=CURVES,
        x="concepts set",
        y="probability of the class" if probability else "explained logit",
        notes=(OFF_THE_DATA,),
        curve="curve" if probability else "logit",
        spread="spread" if probability else "logit_spread",
        gone="set",
    )
    return removal.curves(scores, "baseline", theme, said)


def _bars(found: ConceptExplanation, most: int) -> list[_Bar]:
    scores = [float(score) for score in found.arrays["scores"]]
    concepts = found.values["concepts"]
    order = sorted(range(len(scores)), key=lambda j: (-_size(scores[j]), j))
    # One concept alone needs no bar for the rest.
    kept = order if len(order) <= most + 1 else order[:most]
    bars = [_bar(scores[j], concepts[j], found.unit) for j in kept]
    rest = order[len(kept) :]
    if rest:
        total = sum(scores[j] for j in rest if math.isfinite(scores[j]))
        wrong = sum(concepts[j]["predicted"] != concepts[j]["true"] for j in rest)
        hover = f"<b>{len(rest)} other concepts</b><br>sum: {_signed(total)}<br>{wrong} wrong"
        bars.append(_Bar(total, f"{len(rest)} other concepts", "", hover, rest=True))
    return bars


def _bar(score: float, concept: Mapping[str, Any], unit: str) -> _Bar:
    name, wrong = concept["name"], concept["predicted"] != concept["true"]
    hover = "<br>".join(
        [
            f"<b>{escape(name)}</b>",
            f"score: {_signed(score)} {escape(unit)}",
            f"predicted: {_state(concept)} (p = {concept['probability']:.3g})",
            f"true: {_on(concept['true'])}" + (", predicted wrongly" if wrong else ""),
            f"the head reads {concept['input']:.3g}, at the reference {concept['baseline']:.3g}",
        ]
    )
    return _Bar(score, name, _state(concept), hover, wrong)


def _draw(figure: go.Figure, bars: Sequence[_Bar], look: Theme) -> None:
    figure.add_bar(
        y=list(range(len(bars))),
        x=[bar.score for bar in bars],
        orientation="h",
        marker={"color": [_colour(bar, look) for bar in bars]},
        text=[_signed(bar.score) for bar in bars],
        textposition="outside",
        textfont={"color": look.ink, "size": 11.5},
        cliponaxis=False,
        hovertext=[bar.hover for bar in bars],
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
    )


def _marks(figure: go.Figure, bars: Sequence[_Bar], left: float, look: Theme) -> None:
    """A cross at the left edge of each concept the model gets wrong."""
    places = [i for i, bar in enumerate(bars) if bar.wrong]
    if places:
        figure.add_scatter(
            x=[left * 0.94] * len(places),
            y=places,
            mode="markers",
            name="concept predicted wrongly",
            marker={"symbol": "x", "size": 9, "color": look.gold},
            cliponaxis=False,
            hovertext=[bars[i].hover for i in places],
            hovertemplate="%{hovertext}<extra></extra>",
        )


def _colour(bar: _Bar, look: Theme) -> str:
    if bar.rest:
        return look.nan_hatch
    return look.negative[2] if bar.score < 0 else look.positive[2]


def _label(bar: _Bar) -> str:
    name = escape(_middle(bar.name))
    return f"{name}<br><b>{bar.state}</b>" if bar.state else f"<i>{name}</i>"


def _state(concept: Mapping[str, Any]) -> str:
    """On or off, with the probability where it is not sure."""
    p, predicted = concept["probability"], _on(concept["predicted"])
    return predicted if max(p, 1 - p) >= SURE else f"{predicted}, p {p:.2f}"


def _middle(name: str) -> str:
    """The visible name, cut in its middle where it is long: names of a kind differ at their end."""
    shown = labels.visible(name)
    if labels.width(shown) <= NAME_EM:
        return shown
    end, used = "", 0.0
    for cluster in reversed(labels.clusters(shown)):
        used += labels.width(cluster)
        if used > NAME_EM / 2:
            break
        end = cluster + end
    return shorten(shown, NAME_EM / 2) + end


def _on(value: int) -> str:
    return "on" if value else "off"


def _axis(found: ConceptExplanation) -> str:
    if "members" in found.values:
        return found.unit
    if found.values["baseline_output"] is None:
        return f"drop when flipped ({found.unit})"
    return f"contribution ({found.unit})"


def _size(score: float) -> float:
    return abs(score) if math.isfinite(score) else -1.0


def _signed(value: float) -> str:
    if not math.isfinite(value):
        return "–"
    text = f"{value:+.3g}" if abs(value) >= 5e-4 else "0"
    return text.replace("-", "−")
