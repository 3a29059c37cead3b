"""How far each method's explanation stays when its seed, or a few edges of the graph, change."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
import streamlit as st

from backend.explanation import Comparison, Explanation, Request
from backend.graphs.explanation import GraphExplanation, GraphSet, GraphTarget
from backend.graphs.noise import NOISE, aligned, noisy
from backend.stability import Stability
from components import stable
from components.compare import Item
from components.figures import graph
from components.figures.graph_parts import percent
from components.graph_views import RANKED, limits
from components.session import engine, theme_name

SHARE = 0.25
"""Edges that count as highest, as in the panels above."""


def panel(opened: Comparison, graphs: GraphSet, done: Sequence[Item], prefix: str) -> None:
    """Explain again with other seeds and on noisy copies of the graph, and compare."""
    subject = Shaken(opened, graphs, limits(done), prefix)
    stable.panel(done, subject, opened.key(), prefix)


class Shaken:
    """The same graph with a few edges replaced."""

    about = f"Noise: {percent(NOISE)} of the edges replaced, none of the known reason."
    change = "noise"
    share = SHARE
    ranked = RANKED

    def __init__(
        self, opened: Comparison, graphs: GraphSet, ends: Mapping[str, float], prefix: str
    ) -> None:
        self.target = GraphTarget.model_validate(opened.target).model_copy(update={"recipe": None})
        self.graphs, self.ends, self.prefix = graphs, ends, prefix

    def shaken(self, item: Item, run: int) -> Request:
        request = item.request
        digest = _noisy(
            request.input, self.target.model_dump_json(), run, self.graphs, request.family
        )
        moved = self.target.model_copy(update={"graph": 0}).model_dump(mode="json")
        return request.moved(digest, moved)

    def aligned(self, found: Sequence[Explanation]) -> list[np.ndarray]:
        return aligned([cast(GraphExplanation, one) for one in found])

    def drawn(self, first: Item, runs: Sequence[Explanation], measured: Stability) -> None:
        shown = mean([cast(GraphExplanation, one) for one in runs], measured)
        limit = self.ends.get(str(shown.values["unit"])) or None
        st.plotly_chart(
            graph.figure(shown, theme_name(), limit=limit, scale=0),
            theme=None,
            key=f"{self.prefix}.drawn.{first.request.explainer}",
            alt=f"Mean scores by {first.title}, stable edges standing out",
        )


@st.cache_resource(max_entries=64, show_spinner=False)
def _noisy(explained: str, target: str, seed: int, _graphs: GraphSet, family: str) -> str:  # noqa: ARG001
    """Digest of a noisy copy, stored."""
    asked = GraphTarget.model_validate_json(target)
    return engine().put_input(noisy(_graphs, asked, seed), family)


def mean(runs: Sequence[GraphExplanation], measured: Stability) -> GraphExplanation:
    """The mean of runs on one graph as an explanation whose key part is what is stable."""
    nodes = np.mean([one.arrays["node_scores"] for one in runs], axis=0)
    arrays = {
        **runs[0].arrays,
        "scores": measured.mean.astype(np.float32),
        "node_scores": nodes.astype(np.float32),
        "key": measured.stable[None].astype(np.uint8),
    }
    return dataclasses.replace(runs[0], arrays=arrays)
