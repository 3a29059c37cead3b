"""The explained graph by each method, on one layout and one scale."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from backend.graphs.explanation import GraphExplanation
from backend.graphs.graph_metrics import METRICS
from backend.graphs.naming import edge_names, node_names
from components.agree import Ranked
from components.compare import Item
from components.figures import graph, graph_curves, graph_scores
from components.judge import Board
from components.plain import plain
from components.session import theme_name

SHARED, OWN = "Shared", "Each its own"
Shown = Literal["all", "key", "complement"]
PARTS: dict[Shown, str] = {"all": "Whole graph", "key": "Key part", "complement": "The rest"}
MOST_EDGES = 2000
"""Edges up to which one is picked from a list."""


def _curves(found: Mapping[str, Any], _: str, theme: str) -> go.Figure:
    return graph_curves.curves(found, theme)


BOARD = Board(
    metrics=METRICS,
    curves=_curves,
    curves_alt="Probability of the class as edges are kept and deleted",
)


def _apart(item: Item, key: str) -> None:
    whole = found(item)
    # A node has no spread of its own; that of its edges is enough.
    nodes = np.zeros_like(whole.arrays["node_scores"])
    shown = dataclasses.replace(
        whole,
        arrays={**whole.arrays, "node_scores": nodes},
        values={**whole.values, "unit": "rank spread"},
    )
    st.plotly_chart(
        graph.figure(shown, theme_name()),
        theme=None,
        key=key,
        alt="Edges of the graph, those coloured about which the methods disagree",
    )


RANKED = Ranked("edge", edge_names, lambda found: bool(found.values["signed"]), _apart)


@dataclasses.dataclass(frozen=True)
class View:
    """How all panels are drawn: on one scale of colours or each its own, and which part."""

    shared: bool = True
    shown: Shown = "all"
    scale: int | None = None
    share: float | None = None
    marked: int | None = None


def found(item: Item) -> GraphExplanation:
    """The item's explanation."""
    return cast(GraphExplanation, item.explanation)


def scaled(items: Sequence[Item]) -> list[Item]:
    """Those whose explanations have scales."""
    return [item for item in items if "key" in found(item).arrays]


def view(items: Sequence[Item], prefix: str) -> View:
    """The controls above the panels."""
    scale = st.segmented_control(
        "Scale",
        (SHARED, OWN),
        default=SHARED,
        required=True,
        key=f"{prefix}.scale",
        help="Shared: methods in one unit share the end of their colours; each unit has its own.",
    )
    shown = st.segmented_control(
        "Show",
        list(PARTS),
        format_func=PARTS.__getitem__,
        default="all",
        required=True,
        key=f"{prefix}.shown",
        help="Key part: of a method with scales its own, of any other the same share of its "
        "highest scores.",
    )
    at = share = None
    multi = scaled(items)
    if multi:
        scales = found(multi[0]).values["scales"]
        at = st.select_slider(
            "Scale of the key part",
            list(range(len(scales))),
            value=len(scales) // 2,
            format_func=lambda k: f"{scales[k]['budget']:.0%}",
            key=f"{prefix}.at.{len(scales)}",
            help="The share of edges the key part may hold; the parts are nested.",
        )
        share = float(scales[at]["budget"])
    marked = st.session_state.get(_picked(prefix))
    return View(
        shared=scale == SHARED,
        shown=shown,
        scale=at,
        share=share,
        marked=marked[1] if marked and marked[0] == "edge" else None,
    )


def limits(items: Sequence[Item]) -> dict[str, float]:
    """The end of the shared colours for each unit: different units have no one scale."""
    ends: dict[str, float] = {}
    for item in items:
        shown = found(item)
        size = float(np.abs(shown.arrays["scores"]).max(initial=0.0))
        unit = str(shown.values["unit"])
        ends[unit] = max(ends.get(unit, 0.0), size)
    return ends


def panel(item: Item, view: View, ends: Mapping[str, float], prefix: str) -> None:
    """One method's scores on the graph; a click picks an edge or a node for all panels."""
    shown = found(item)
    key = f"{prefix}.panel.{item.request.explainer}"
    limit = (ends.get(str(shown.values["unit"])) or None) if view.shared else None
    st.plotly_chart(
        graph.figure(
            shown,
            theme_name(),
            limit=limit,
            shown=view.shown,
            scale=view.scale,
            share=view.share,
            marked=view.marked,
        ),
        theme=None,
        key=key,
        on_select=lambda: _click(key, prefix),
        selection_mode="points",
        alt=f"Edges of the graph by {item.title}",
    )


def _picked(prefix: str) -> str:
    return f"{prefix}.picked"


def _click(key: str, prefix: str) -> None:
    points = st.session_state[key].selection.points
    data = next((p["customdata"] for p in points if p.get("customdata")), None)
    if data is None:
        return
    what, number = data[0], int(data[1])
    st.session_state[_picked(prefix)] = (what, number)
    st.session_state[f"{prefix}.one.kind"] = "Edge" if what == "edge" else "Node"
    st.session_state[f"{prefix}.one.{what}"] = number


def one(items: Sequence[Item], prefix: str) -> None:
    """One edge's or node's score in every method, picked from a list or by a click on a graph."""
    shown = found(items[0])
    kind = st.segmented_control(
        "Look at", ("Edge", "Node"), default="Edge", required=True, key=f"{prefix}.one.kind"
    )
    what: Literal["edge", "node"] = "edge" if kind == "Edge" else "node"
    names = edge_names(shown) if what == "edge" else node_names(shown)
    if not names:
        st.info(f"This graph has no {what}s.", icon=":material/info:")
        return
    key = f"{prefix}.one.{what}"
    if int(st.session_state.get(key, 0) or 0) >= len(names):
        st.session_state[key] = 0
    if len(names) <= MOST_EDGES:
        number = st.selectbox(
            f"{kind}", range(len(names)), format_func=names.__getitem__, key=key,
            help="Or click one in a panel above.",
        )  # fmt: skip
    else:
        number = st.number_input(f"{kind}, 0 to {len(names) - 1:,}", 0, len(names) - 1, key=key)
    st.plotly_chart(
        graph_scores.bars([(item.title, found(item)) for item in items], what, int(number),
                          theme_name()),
        theme=None,
        key=f"{prefix}.one.bars",
        alt=f"Scores of one {what} in every method",
    )  # fmt: skip
    if what == "edge" and "truth" in shown.arrays:
        known = bool(shown.arrays["truth"][int(number)])
        st.caption(f"{plain(names[int(number)])} is {'' if known else 'not '}of the known reason.")
