"""The slices of a method: how large each is, and what its members have in common."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go

from backend.concepts.explanation import ConceptExplanation
from components.figures.frame import color_axis, frame, numbered
from components.figures.palette import Theme, escape, ink_on, on_scale, sequential, shorten
from components.figures.palette import theme as theme_of
from components.figures.plot import Plot
from components.figures.sink_lines import BELOW, palette

MOST = 20
"""Slices, or concepts, that are drawn."""
KINDS = ("concept failure", "rare combination", "no keywords")
LABEL_EM = 17.0


def overview(
    found: ConceptExplanation, theme: str = "light", title: str = "", most: int | None = None
) -> go.Figure:
    """One bar a slice in ranking order, coloured by what its keywords say.

    Args:
        most: members at the end of the axis, so that methods can share one scale.
    """
    look = theme_of(theme)
    shown = found.values["slices"][:MOST]
    figure = go.Figure()
    colours = dict(zip(KINDS, (*palette(look)[1::-1], look.nan_hatch), strict=True))
    kinds = [kind(one) for one in shown]
    told = set(kinds) != {KINDS[2]}
    for name in KINDS:
        places = [i for i, known in enumerate(kinds) if known == name]
        if not places:
            continue
        figure.add_bar(
            x=[shown[i]["size"] for i in places],
            y=places,
            orientation="h",
            name=name,
            showlegend=told,
            marker={"color": colours[name]},
            width=0.72,
            text=[f"{shown[i]['size']}" for i in places],
            textposition="auto",
            textangle=0,
            customdata=[[i] for i in places],
            hovertext=[_hover(found, shown[i], i) for i in places],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    labels = [
        escape(shorten(f"{i + 1} · {headline(found, one)}", LABEL_EM))
        for i, one in enumerate(shown)
    ]
    figure.update_yaxes(
        tickvals=list(range(len(shown))), ticktext=labels, autorange="reversed", showgrid=False
    )
    largest = most or max((one["size"] for one in shown), default=1)
    figure.update_xaxes(title="members", range=[0, 1.08 * largest])
    figure.update_layout(legend=BELOW, bargap=0.2, showlegend=told)
    return frame(figure, look, title, _notes(found), 26 * max(len(shown), 3) + 96)


def kind(one: dict[str, Any]) -> str:
    """What the keywords of a slice say; one of `KINDS`."""
    if not one["keywords"]:
        return KINDS[2]
    return KINDS[1] if one["failing"] is None else KINDS[0]


def headline(found: ConceptExplanation, one: dict[str, Any], most: int = 2) -> str:
    """A slice in a few words: the failing keyword and others, or what its members are taken for."""
    keywords = sorted(one["keywords"], key=lambda k: k["concept"] != one["failing"])[:most]
    return ", ".join(word(found, keyword) for keyword in keywords) or confused(found, one)


def word(found: ConceptExplanation, keyword: dict[str, Any]) -> str:
    """A keyword as it was predicted: a concept's name, or "no" and its name."""
    name: str = found.values["concept_names"][keyword["concept"]]
    mark = " ✗" if keyword["mispredicted"] else ""
    return f"{name if keyword['predicted'] > 0.5 else f'no {name}'}{mark}"


def confused(found: ConceptExplanation, one: dict[str, Any]) -> str:
    """The most frequent mistake of a slice's members."""
    names = found.values["class_names"]
    if not one["confusion"]:
        return "nobody"
    true, predicted, _ = one["confusion"][0]
    return f"{names[true]} taken for {names[predicted]}"


def _notes(found: ConceptExplanation) -> list[str]:
    slices, errors = found.values["slices"], len(found.arrays["errors"])
    notes = [f"{len(slices)} slices of {errors} errors in {found.values['samples']} samples"]
    if len(slices) > MOST:
        notes.append(f"the first {MOST} are shown")
    return notes


def _hover(found: ConceptExplanation, one: dict[str, Any], place: int) -> str:
    lines = [f"slice {place + 1}: {one['size']} members, score {one['score']:.3f}"]
    lines += [
        f"{word(found, k)}: predicted {k['predicted']:.2f}, true {k['true']:.2f}"
        for k in one["keywords"]
    ]
    names = found.values["class_names"]
    lines += [f"{n} × {names[a]} taken for {names[b]}" for a, b, n in one["confusion"][:3]]
    return "<br>".join(map(escape, lines))


def plots(found: ConceptExplanation, theme: str = "light") -> tuple[Plot, ...]:
    """How a CB-SLICE result came to be: concepts kept, number of slices chosen, objective."""
    look = theme_of(theme)
    made = []
    if "ectp" in found.arrays:
        made.append(
            Plot(
                "Error-prone concepts",
                error_prone(found, look),
                "Each cell: how far the predicted classes of a class's errors move when the "
                "concept is set, weighed by how unsure the model is of it. Concepts in bold were "
                "kept; slices are sought among their logits alone.",
            )
        )
    if len(found.arrays.get("k/values", ())) > 1:
        made.append(
            Plot(
                "Choice of the number of slices",
                chosen(found, look),
                "The objective falls with more slices; the one kept is where it stops falling "
                "fast. Known groups play no part in it.",
            )
        )
    if len(found.arrays.get("objective", ())) > 1:
        made.append(
            Plot(
                "The mixture's objective",
                objective(found, look),
                "It should fall and level off. One that still falls at the end asks for more "
                "epochs.",
            )
        )
    return tuple(made)


def error_prone(found: ConceptExplanation, look: Theme) -> go.Figure:
    """True class × concept: the effect of setting the concept, most effective concepts first.

    A class without errors is grey, with dashes: nothing is known of it.
    """
    scores = found.arrays["ectp"].astype(np.float64)
    largest = np.where(np.isnan(scores), 0.0, scores).max(axis=0)
    order = np.argsort(-largest, kind="stable")[:MOST]
    z = scores[:, order].T
    kept = set(found.arrays["kept"].tolist())
    names = [escape(shorten(found.values["concept_names"][j], LABEL_EM)) for j in order.tolist()]
    marked = [f"<b>{n}</b>" if j in kept else n for n, j in zip(names, order.tolist(), strict=True)]
    classes = [escape(shorten(name, 10)) for name in found.values["class_names"]]
    figure = go.Figure()
    limit = float(largest.max(initial=0.0)) or 1.0
    figure.add_heatmap(
        z=z,
        coloraxis="coloraxis",
        xgap=1,
        ygap=1,
        hovertext=_cells(found, z, order),
        hovertemplate="%{hovertext}<extra></extra>",
    )
    _written(figure, z, limit, look)
    numbered(figure, classes, marked, tilt=0 if len(classes) < 9 else -35)
    figure.update_xaxes(title="true class of the errors")
    unit = "mean change of the prediction, nats"
    figure.update_layout(coloraxis=color_axis(look, sequential(look), (0.0, limit), unit))
    notes = [f"{len(kept)} of {scores.shape[1]} concepts kept (bold)"]
    if scores.shape[1] > MOST:
        notes.append(f"the {MOST} largest are shown")
    done = frame(figure, look, "Error-prone concepts", notes, 26 * len(order) + 96)
    return done.update_layout(plot_bgcolor=look.neutral)


def _cells(found: ConceptExplanation, z: np.ndarray, order: np.ndarray) -> list[list[str]]:
    """What each cell of `z` [concepts, classes] says when it is pointed at."""
    concepts, classes = found.values["concept_names"], found.values["class_names"]
    return [
        [
            escape(f"{concepts[j]}, errors of {classes[c]}: ")
            + ("there are none" if math.isnan(v) else f"{v:.3g} nats")
            for c, v in enumerate(row)
        ]
        for j, row in zip(order.tolist(), z.tolist(), strict=True)
    ]


def _written(figure: go.Figure, z: np.ndarray, limit: float, look: Theme) -> None:
    """The numbers in the cells of a heatmap with a scale from 0."""
    if z.shape[1] > 12:
        return
    scale = sequential(look)
    flat = z.ravel().tolist()
    shades = [look.neutral if math.isnan(v) else on_scale(v / limit, scale) for v in flat]
    figure.add_scatter(
        x=[j for _ in range(z.shape[0]) for j in range(z.shape[1])],
        y=[i for i in range(z.shape[0]) for _ in range(z.shape[1])],
        mode="text",
        text=["–" if math.isnan(v) else f"{v:.2g}" for v in flat],
        textfont={"color": [ink_on(shade) for shade in shades], "size": 11},
        hoverinfo="skip",
        showlegend=False,
    )


def chosen(found: ConceptExplanation, look: Theme) -> go.Figure:
    """Objective against the number of slices."""
    values, objectives = found.arrays["k/values"], found.arrays["k/objectives"]
    figure = go.Figure()
    figure.add_scatter(
        x=values.tolist(),
        y=objectives.astype(float).tolist(),
        mode="lines+markers",
        line={"color": palette(look)[0], "width": 2},
        name="objective",
        hovertemplate="%{x} slices: %{y:.3f}<extra></extra>",
        showlegend=False,
    )
    kept = int(found.values["chosen_slices"])
    figure.add_vline(x=kept, line={"color": look.accent, "width": 1, "dash": "dash"})
    figure.update_xaxes(title="slices", tickvals=values.tolist())
    figure.update_yaxes(title="objective, nats a sample")
    return frame(figure, look, "Choice of the number of slices", [f"{kept} were chosen"], 300)


def objective(found: ConceptExplanation, look: Theme) -> go.Figure:
    """Objective at the start and after each epoch."""
    values = found.arrays["objective"].astype(float)
    figure = go.Figure()
    figure.add_scatter(
        x=list(range(len(values))),
        y=values.tolist(),
        mode="lines",
        line={"color": palette(look)[0], "width": 2},
        hovertemplate="epoch %{x}: %{y:.3f}<extra></extra>",
        showlegend=False,
    )
    figure.update_xaxes(title="epoch")
    figure.update_yaxes(title="objective, nats a sample")
    return frame(figure, look, "The mixture's objective", [f"ends at {values[-1]:.3f}"], 300)
