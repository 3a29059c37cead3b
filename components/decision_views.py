"""One decision: which sample, and what each method says its concepts contributed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from backend.concepts.concept_faithfulness import OPERATOR
from backend.concepts.concept_metrics import METRICS
from backend.concepts.explanation import ConceptExplanation, ConceptTable, ConceptTarget
from components.agree import Ranked
from components.compare import Item
from components.concept_gallery import caption, enlarged
from components.figures import decision
from components.judge import Board
from components.session import theme_name
from components.stepper import stepped

SHARED, OWN = "Shared", "Each its own"
PREDICTED = -1
"""Stands for the predicted class: None as an option could be cleared away."""


def _curves(found: Mapping[str, Any], _: str, theme: str) -> go.Figure:
    return decision.curves(found, theme)


BOARD = Board(
    metrics=METRICS,
    operators={OPERATOR: "Set to the reference"},
    curves=_curves,
    curves_alt="Probability of the class as concepts are taken away and put in",
)


def _names(found: ConceptExplanation) -> list[str]:
    return [str(c["name"]) for c in found.values["concepts"]]


RANKED = Ranked("concept", _names)


def picked(table: ConceptTable, target: ConceptTarget, prefix: str) -> ConceptTarget:
    """Show the sample, and let a person pick another one and the class to explain."""
    errors = table.errors
    first = int(errors[0]) if len(errors) else 0
    now = first if target.sample is None else min(target.sample, len(table) - 1)
    which, seen = st.columns([1.3, 1], gap="medium")
    with which:
        wrong = now in errors
        only = st.segmented_control(
            "Samples",
            ("Wrong predictions", "All"),
            default="Wrong predictions" if wrong else "All",
            required=True,
            key=f"{prefix}.which",
        )
        among = errors if only == "Wrong predictions" and len(errors) else np.arange(len(table))
        sample = stepped(f"Sample, 1 to {len(among)} of these", among, now, f"{prefix}.at.{only}")
        classes = [PREDICTED, *range(len(table.class_names))]
        label = st.selectbox(
            "Class that is explained",
            classes,
            index=classes.index(target.label) if target.label in classes else 0,
            format_func=lambda c: "the predicted one" if c == PREDICTED else table.class_names[c],
            key=f"{prefix}.label.{target.label}",
        )
    with seen:
        _sample(table, sample)
    explained = None if label == PREDICTED else label
    return target.model_copy(update={"sample": sample, "label": explained})


def _sample(table: ConceptTable, sample: int) -> None:
    name = f" · {table.references[sample]}" if table.references else ""
    st.caption(f"Sample {sample}{name}")
    if "images" in table.arrays:
        st.image(enlarged(table.arrays["images"][sample]), width=200)
    true, said = (int(table.arrays[key][sample]) for key in ("labels", "predictions"))
    st.write(
        f"Predicted **{caption(table, sample)}**, which is right."
        if true == said
        else f"Truly {table.class_names[true]}, predicted {table.class_names[said]}."
    )


def limits(items: Sequence[Item]) -> dict[str, float]:
    """The end of the shared axis for each unit: different units have no one axis."""
    shown = [cast(ConceptExplanation, item.explanation) for item in items]
    return {
        unit: decision.largest([one for one in shown if one.unit == unit])
        for unit in dict.fromkeys(one.unit for one in shown)
    }


def panel(item: Item, ends: Mapping[str, float] | None) -> None:
    """One method's bars; each its own axis where there are no ends."""
    found = cast(ConceptExplanation, item.explanation)
    end = None if ends is None else ends[found.unit]
    st.plotly_chart(
        decision.contributions(found, theme_name(), limit=end),
        theme=None,
        key=f"decision.{item.request.explainer}",
        alt=f"Contributions of the concepts by {item.title}",
    )


def saw(table: ConceptTable, sample: int) -> None:
    """What the label head was given for a sample."""
    inputs, probabilities = table.head_inputs()[sample], table.probabilities[sample]
    true = table.arrays["concepts"][sample] > 0
    st.dataframe(
        [
            {
                "concept": name,
                "read by the head": float(inputs[j]),
                "probability": float(probabilities[j]),
                "true": bool(true[j]),
                "wrong": bool((probabilities[j] > 0.5) != true[j]),
            }
            for j, name in enumerate(table.concept_names)
        ],
        hide_index=True,
        column_config={"probability": st.column_config.NumberColumn(format="%.3f")},
        alt="What the label head was given",
    )
