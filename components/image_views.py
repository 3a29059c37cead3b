"""The explained picture by each method, and what the model saw."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from backend.images.explanation import ImageExplanation, ImageTarget, Photos
from backend.images.image_metrics import METRICS
from components.agree import Ranked
from components.compare import Item
from components.figures import figure, image_curves, image_map
from components.figures.image_map import VIEWS, View
from components.judge import Board
from components.plain import plain
from components.session import theme_name
from components.stepper import stepped

RANKS, OWN = "Ranks of pixels", "Each its own"
PREDICTED = -1
"""Stands for the predicted class."""


def _curves(found: Mapping[str, Any], _: str, theme: str) -> go.Figure:
    return image_curves.curves(found, theme)


BOARD = Board(
    metrics=METRICS,
    curves=_curves,
    curves_alt="Probability of the class as pixels are deleted and inserted",
)


def _apart(item: Item, key: str) -> None:
    whole = found(item)
    shown = dataclasses.replace(whole, unit="rank spread")
    st.plotly_chart(
        image_map.figure(shown, theme_name()),
        theme=None,
        key=key,
        alt="The picture, coloured where the methods disagree",
    )


RANKED = Ranked("cell", lambda _: [], lambda found: bool(found.signed), _apart, listed=False)


def found(item: Item) -> ImageExplanation:
    """The item's explanation."""
    return cast(ImageExplanation, item.explanation)


def picked(photos: Photos, target: ImageTarget, done: Sequence[Item], prefix: str) -> ImageTarget:
    """Let a person pick the picture and the class to explain.

    Args:
        done: explanations that are there; they know the most probable classes.
    """
    number = target.image
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        if len(photos) > 1:
            every = np.arange(len(photos))
            number = stepped(f"Picture, 1 to {len(photos)}", every, number, f"{prefix}.at")
        label = target.label
        same = [item for item in done if found(item).values["image"] == number]
        if same:
            values = found(same[0]).values
            names = values["class_names"]
            options = [PREDICTED, *(top[0] for top in values["top"])]
            if label is not None and label not in options:
                options.append(label)
            chosen = st.selectbox(
                "Class that is explained",
                options,
                index=options.index(PREDICTED if label is None else label),
                format_func=lambda c: "the predicted one" if c == PREDICTED else names[str(c)],
                key=f"{prefix}.label.{number}.{label}",
                width=260,
            )
            label = None if chosen == PREDICTED else chosen
    return ImageTarget(image=number, label=label if number == target.image else None)


def facts(items: Sequence[Item]) -> None:
    """The decision in numbers."""
    values = found(items[0]).values
    names = values["class_names"]
    with st.container(horizontal=True, gap="medium"):
        for label, chance in values["top"][:3]:
            st.metric(plain(names[str(label)]), f"{chance:.1%}", border=True, width="content")
    for remark in values["remarks"]:
        st.caption(f":material/info: {plain(remark)}")


def view(prefix: str) -> tuple[View, bool]:
    """The controls above the panels: what is shown, and whether colours are ranks."""
    shown = st.segmented_control(
        "Show",
        list(VIEWS),
        format_func=VIEWS.__getitem__,
        default="overlay",
        required=True,
        key=f"{prefix}.view",
    )
    scale = st.segmented_control(
        "Colour scale",
        (OWN, RANKS),
        default=OWN,
        required=True,
        key=f"{prefix}.scale",
        help="Methods have units that no one scale fits. Ranks: equal colours are equal places in "
        "a method's order of pixels, in every panel.",
    )
    return shown, scale == RANKS


def panel(item: Item, shown: View, by_rank: bool, prefix: str) -> None:
    """One method's map, or what a view shows."""
    whole = found(item)
    drawn = (
        image_map.figure(whole, theme_name(), view=shown, by_rank=by_rank)
        if whole.values["kind"] == "map"
        else figure(whole, theme_name())
    )
    st.plotly_chart(
        drawn,
        theme=None,
        key=f"{prefix}.panel.{item.request.explainer}",
        alt=f"{item.title}: the picture, coloured, or its numbers",
    )


def saw(items: Sequence[Item], photos: Photos) -> None:
    """The picture as brought, as the model saw it, and what was done between."""
    values = found(items[0]).values
    left, right = st.columns(2)
    with left:
        st.caption(f"As brought: {values['width']} × {values['height']} pixels")
        st.image(photos.image(values["image"]))
    with right:
        seen = found(items[0]).arrays["seen"]
        st.caption(f"As the model saw it: {seen.shape[1]} × {seen.shape[0]} pixels")
        st.image(seen)
    st.caption(plain(values["preprocessing"]))
    st.caption(f"Model: {plain(values['architecture'])}")
