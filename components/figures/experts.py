"""The plots of a mixture of experts: who decides, by which weights, and at what price."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from backend.concepts.explanation import ConceptExplanation
from components.figures import experts_text
from components.figures.curves import LINES, LINES_DARK
from components.figures.frame import color_axis, frame, numbered
from components.figures.palette import Theme, diverging, escape, ink_on, on_scale, shorten
from components.figures.palette import theme as theme_of
from components.figures.plot import Plot

BELOW = {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"}
MOST_ROWS = 40
"""Concepts drawn at most, those of the largest weights."""
MOST_NUMBERS = 120
"""Cells up to which each has its number written in it."""

ROUTING, FORMULAS = "Who gets which expert", "Formulas of the experts"


def plots(found: ConceptExplanation, theme: str = "light") -> tuple[Plot, ...]:
    """Everything about a mixture, accuracy against complexity first.

    Raises:
        ValueError: the explanation is of no mixture.
    """
    if found.values.get("kind") != "experts":
        raise ValueError("this explanation holds no experts")
    look = theme_of(theme)
    drawn = [
        Plot(
            "Accuracy and complexity",
            front(found, look),
            "Each point is a mixture. Up and to the left is better: a point that is hardly higher "
            "than one with fewer experts does not earn its complexity.",
        ),
        Plot(
            "Use of the experts",
            usage(found, look),
            "How many samples each expert gets, and how often it is then right. A hatched expert "
            "gives all of them the same class: for these the selector makes the decision.",
        ),
    ]
    if "weights" in found.arrays:
        drawn.append(
            Plot(
                "Weights of the experts",
                weights(found, look),
                "One column an expert and class. Orange speaks for the class, blue against it; "
                "columns that differ show what the selector switches between. An expert without "
                "weights has its bias alone and is a constant.",
            )
        )
    if found.values["tree"] is not None:
        drawn.append(
            Plot(
                ROUTING,
                experts_text.rules(found, look),
                "A tree that predicts the selector's choice from concepts, line by line from the "
                "top; an indented line holds under the one above it. With a fidelity near that "
                "of the most used expert, the routing is not in the concepts.",
            )
        )
    drawn.append(
        Plot(
            FORMULAS,
            experts_text.formulas(found, look),
            "What each expert computes from the concepts (1 present, 0 absent where they are "
            "hard). The class with the largest value is chosen.",
        )
    )
    return tuple(drawn)


def front(found: ConceptExplanation, look: Theme) -> go.Figure:
    """Held-out accuracy over complexity, one point a number of experts."""
    colours, values = _colours(look), found.values
    counts = found.arrays["front/experts"].tolist()
    complexity = found.arrays["front/complexity"].tolist()
    figure = go.Figure()
    figure.add_scatter(
        x=complexity,
        y=found.arrays["front/accuracy"],
        name=f"{values['form']} experts, M of them",
        mode="markers+text",
        text=[f"M={count}" for count in counts],
        textposition=["top center" if i % 2 else "bottom center" for i in range(len(counts))],
        marker={"color": colours[0], "size": 11},
        cliponaxis=False,
        customdata=found.arrays["front/objective"],
        hovertemplate=f"%{{text}}: accuracy %{{y:.1%}}, %{{x}} {values['complexity_unit']}, "
        "objective %{customdata:.3f} nats<extra></extra>",
    )
    right = max(complexity) + max(1.0, 0.12 * max(complexity))
    levels = (
        ("the model's own predictions", values["model_accuracy"], colours[1], "dash"),
        ("largest class", values["chance"], look.muted, "dot"),
    )
    for name, level, colour, dash in levels:
        if level is not None:
            figure.add_scatter(
                x=[0, right],
                y=[level, level],
                name=name,
                mode="lines",
                line={"color": colour, "dash": dash, "width": 2},
                hovertemplate=f"{name}: %{{y:.1%}}<extra></extra>",
            )
    figure.update_xaxes(title=f"complexity: {values['complexity_unit']}", range=[0, right])
    what = "labels" if values["explain"] == "labels" else "the model's predictions"
    figure.update_yaxes(title=f"share right ({what})", tickformat=".0%", range=[0, 1.12])
    frame(figure, look, "Accuracy and complexity", [_over(found)], 390)
    return figure.update_layout(legend=BELOW, margin_b=96)


def usage(found: ConceptExplanation, look: Theme) -> go.Figure:
    """Share of the samples of each expert, and held-out accuracy on them."""
    colours, values = _colours(look), found.values
    names = [f"expert {m + 1}" for m in range(len(found.arrays["usage"]))]
    says = [None if said is None else escape(shorten(said, 10)) for said in values["says"]]
    figure = go.Figure()
    figure.add_bar(
        x=names,
        y=found.arrays["usage"],
        name="share of all samples",
        marker={
            "color": colours[0],
            "pattern": {
                "shape": ["" if said is None else "/" for said in says],
                "fgcolor": look.paper,
                "solidity": 0.35,
            },
        },
        hovertemplate="%{x}: %{y:.1%} of the samples<extra></extra>",
    )
    figure.add_bar(
        x=names,
        y=found.arrays["expert_accuracy"],
        name="right on the held-out samples it gets",
        marker_color=colours[1],
        hovertemplate="%{x}: right on %{y:.1%}<extra></extra>",
    )
    figure.update_xaxes(
        tickvals=names,
        ticktext=[
            name if said is None else f"{name}<br>always “{said}”"
            for name, said in zip(names, says, strict=True)
        ],
    )
    figure.update_yaxes(title="share", tickformat=".0%", range=[0, 1.02])
    frozen = (
        f"Frozen to expert {values['most_used'] + 1}: {values['frozen_accuracy']:.1%} right, "
        f"routed: {values['accuracy']:.1%}"
    )
    frame(figure, look, "Use of the experts", [frozen, _over(found)], 390)
    return figure.update_layout(legend=BELOW, margin_b=86, barmode="group", bargap=0.35)


def weights(found: ConceptExplanation, look: Theme) -> go.Figure:
    """Concepts × experts and outputs, the bias in the last row."""
    values = found.values
    every, biases = found.arrays["weights"], found.arrays["biases"]
    experts, outputs, k = every.shape
    table = every.reshape(-1, k)
    kept = np.sort(np.argsort(-np.abs(table).max(axis=0), kind="stable")[:MOST_ROWS])
    z = np.vstack([table[:, kept].T, biases.reshape(1, -1)])
    rows = [shorten(values["concept_names"][j], 14) for j in kept] + ["bias"]
    columns = [
        f"{m + 1} · {shorten(name, 9)}" for m in range(experts) for name in values["output_names"]
    ]
    largest = float(np.abs(z).max()) or 1.0
    scale = diverging(look)
    figure = go.Figure()
    written = z.size <= MOST_NUMBERS
    figure.add_heatmap(
        z=z.astype(np.float32),
        x=list(range(len(columns))),
        y=list(range(len(rows))),
        coloraxis="coloraxis",
        xgap=2,
        ygap=1,
        customdata=[[[escape(r), escape(c)] for c in columns] for r in rows],
        hovertemplate="%{customdata[0]}, expert %{customdata[1]}: %{z:+.3g}<extra></extra>",
    )
    if written:
        cells = [(i, j) for i in range(len(rows)) for j in range(len(columns)) if z[i, j]]
        figure.add_scatter(
            x=[j for _, j in cells],
            y=[i for i, _ in cells],
            mode="text",
            text=[f"{z[i, j]:+.2f}".replace("-", "−") for i, j in cells],
            textfont={
                "size": 11.5,
                "color": [
                    ink_on(on_scale(0.5 + 0.5 * float(z[i, j]) / largest, scale)) for i, j in cells
                ],
            },
            hoverinfo="skip",
            showlegend=False,
        )
    numbered(figure, [*map(escape, columns)], [*map(escape, rows)], tilt=0)
    if len(columns) > 8:
        figure.update_xaxes(tickangle=-60)
    figure.update_xaxes(title="expert · class")
    for edge in range(outputs, len(columns), outputs):
        figure.add_vline(edge - 0.5, line={"color": look.muted, "width": 1})
    figure.add_hline(len(rows) - 1.5, line={"color": look.muted, "width": 1})
    figure.update_layout(coloraxis=color_axis(look, scale, (-largest, largest), "weight, logits"))
    notes = [f"{values['complexity']} of {every.size} weights are not zero"]
    if len(kept) < k:
        notes.append(f"Showing the {len(kept)} of {k} concepts with the largest weights")
    return frame(figure, look, "Weights of the experts", notes, 23 * len(rows) + 110)


def _over(found: ConceptExplanation) -> str:
    values = found.values
    counts = f"{values['held_out']:,} held-out samples of {values['samples']:,}"
    return f"{counts}, {values['concepts']} concepts"


def _colours(look: Theme) -> tuple[str, ...]:
    return LINES if look.name == "light" else LINES_DARK
