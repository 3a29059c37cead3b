"""Whether each method's explanation of a graph depends on what the GNN has learned."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import cast

import streamlit as st

from backend.catalogue import find
from backend.explanation import Comparison, Request
from backend.graphs import plan
from backend.graphs.explanation import (
    GraphExplanation,
    GraphSet,
    GraphTarget,
    Recipe,
    prefixed,
)
from backend.graphs.noise import alone
from backend.graphs.plan import Sets
from backend.graphs.reinitialised import layers, reinitialised
from components import sanity, trained_here
from components.compare import Item
from components.graph_pick import name_of
from components.graph_source import trained_set
from components.graph_views import found
from components.plain import plain
from components.session import engine

SHUFFLED = "shuffled labels"


def panel(
    opened: Comparison, sets: Sets, graphs: GraphSet, done: Sequence[Item], prefix: str
) -> None:
    """Explain GNNs that have forgotten what they learned, or learned nothing true."""
    sanity.panel(done, Forgetting(opened, sets, graphs), opened.key(), prefix)


class Forgetting:
    """The same graph and class, by another GNN."""

    model = "GNN"
    other_what = "other class"

    def __init__(self, opened: Comparison, sets: Sets, graphs: GraphSet) -> None:
        self.opened, self.family, self.sets, self.graphs = opened, opened.family, sets, graphs
        self.target = GraphTarget.model_validate(opened.target)
        self.misled: Sets | None = None
        assert graphs.architecture is not None  # noqa: S101  it was explained
        self.classes = graphs.architecture.classes
        self.stages = layers(graphs.architecture)

    def costly(self, item: Item) -> bool:
        return any(plan.learns(find(one)) for one in (item.request, *item.request.members))

    def forgotten(self, item: Item, depth: int, seed: int) -> Request:
        only = self.target.model_dump_json()
        explained = fitted = _stored(self.sets.explained, only, depth, seed, self.family)
        if self.costly(item):
            fitted = _stored(self.sets.fitted, "", depth, seed, self.family)
        return self._alone(item, Sets(explained, fitted))

    def other(self, item: Item) -> Request:
        target = self.target.model_copy(update={"label": self._other(item)})
        return self._request(item, target, self.sets)

    def other_name(self, item: Item) -> str:
        return plain(name_of(self.graphs, self._other(item)))

    def controls(self, prefix: str) -> Mapping[str, str]:
        recipe = self.target.recipe
        wanted = isinstance(recipe, Recipe) and st.toggle(
            "Shuffled labels",
            key=f"{prefix}.control",
            help="Also explain a GNN that was trained on shuffled labels, by the same recipe.",
        )
        if not wanted:
            return {}
        if st.session_state.get(f"{prefix}.asked") == self.opened.key():
            self.misled = self._trained(prefix)
        return {
            SHUFFLED: "Shuffled labels: the correlation with the explanation of a GNN trained on "
            "labels of other graphs, of which nothing true can be learned."
        }

    def control(self, item: Item, column: str) -> Request | None:
        return None if self.misled is None else self._alone(item, self.misled)

    def _trained(self, prefix: str) -> Sets | None:
        """The target's graph alone, and all, with a GNN trained on shuffled labels.

        None while it is trained.
        """
        assert isinstance(self.target.recipe, Recipe)  # noqa: S101  the caller looked
        recipe = self.target.recipe.model_copy(update={"labels": "shuffled"})
        shuffled = self.target.model_copy(update={"recipe": recipe}).model_dump(mode="json")
        none = engine().put_input(GraphSet.none(), self.family)
        asked = plan.train_request(self.opened.model_copy(update={"target": shuffled}), none)
        there = trained_here.finished(asked, f"{prefix}.shuffled")
        if there is None:
            return None
        key, found_set = there
        _, fitted = trained_set(key, cast(GraphExplanation, found_set), self.family)
        only = self.target.model_dump_json()
        return Sets(_misled(self.sets.explained, fitted, only, self.family), fitted)

    def _other(self, item: Item) -> int:
        """The class after the explained one, the first after the last."""
        return (int(found(item).values["label"]) + 1) % self.classes

    def _alone(self, item: Item, sets: Sets) -> Request:
        """Of a set of the target's graph alone."""
        label = int(found(item).values["label"])
        moved = self.target.model_copy(update={"graph": 0, "label": label})
        return self._request(item, moved, sets)

    def _request(self, item: Item, target: GraphTarget, sets: Sets) -> Request:
        moved = target.model_dump(mode="json")
        asked = self.opened.model_copy(update={"target": moved})
        return plan.request(asked, sets, item.request.explainer)


@st.cache_resource(max_entries=256, show_spinner=False)
def _stored(whole: str, target: str, depth: int, seed: int, family: str) -> str:
    """Digest of a set, or of the target's graph alone, with a re-initialised GNN.

    Args:
        whole: digest of the set. target: as JSON, or "" for the whole set.
    """
    graphs = _set(whole, family)
    if target:
        graphs = alone(graphs, GraphTarget.model_validate_json(target))
    return engine().put_input(reinitialised(graphs, depth, seed), family)


@st.cache_resource(max_entries=16, show_spinner=False)
def _misled(whole: str, misled: str, target: str, family: str) -> str:
    """Digest of the target's graph alone with the GNN of another set."""
    one = alone(_set(whole, family), GraphTarget.model_validate_json(target))
    weights = prefixed(_set(misled, family).weights())
    return engine().put_input(dataclasses.replace(one, arrays=one.arrays | weights), family)


def _set(digest: str, family: str) -> GraphSet:
    return cast(GraphSet, engine().get_input(family, digest))
