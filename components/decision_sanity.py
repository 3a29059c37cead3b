"""Whether each method's explanation of a decision depends on what the label head has learned."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import cast

import streamlit as st

from backend.concepts import plan
from backend.concepts.explanation import ConceptExplanation, ConceptTable, ConceptTarget, Recipe
from backend.concepts.reinitialised import layers, reinitialised
from backend.explanation import Comparison, Request
from components import sanity, trained_here
from components.compare import Item
from components.plain import plain
from components.session import engine

SHUFFLED = "shuffled labels"


def panel(
    opened: Comparison, digest: str, table: ConceptTable, done: Sequence[Item], prefix: str
) -> None:
    """Explain heads that have forgotten what they learned."""
    if not layers(table):
        st.info(
            "This table has no label head, so there is nothing that could forget. Bring its head "
            "with it.",
            icon=":material/block:",
        )
        return
    sanity.panel(done, Forgetting(opened, digest, table), opened.key(), prefix)


class Forgetting:
    """The same sample and class, by another head."""

    model = "head"
    other_what = "other class"

    def __init__(self, opened: Comparison, digest: str, table: ConceptTable) -> None:
        self.opened, self.digest, self.table = opened, digest, table
        self.stages = layers(table)
        self.misled: str | None = None
        """Digest of the table with a head that was trained on shuffled labels."""

    def costly(self, item: Item) -> bool:
        return False

    def forgotten(self, item: Item, depth: int, seed: int) -> Request:
        moved = _stored(self.digest, depth, seed, self.table, self.opened.family)
        return self._request(item, self._label(item), moved)

    def other(self, item: Item) -> Request:
        return self._request(item, self._other(item), self.digest)

    def other_name(self, item: Item) -> str:
        return plain(self.table.class_names[self._other(item)])

    def controls(self, prefix: str) -> Mapping[str, str]:
        recipe = ConceptTarget.model_validate(self.opened.target).recipe
        trained = recipe is not None and "task_accuracy" in self.table.origin
        wanted = trained and st.toggle(
            "Shuffled labels",
            key=f"{prefix}.control",
            help="Also explain a head that was trained on shuffled labels, by the same recipe.",
        )
        if recipe is None or not wanted:
            return {}
        if st.session_state.get(f"{prefix}.asked") == self.opened.key():
            self.misled = self._trained(recipe, prefix)
        return {
            SHUFFLED: "Shuffled labels: the correlation with the explanation of a head trained on "
            "classes of other samples, of which nothing true can be learned."
        }

    def control(self, item: Item, column: str) -> Request | None:
        return None if self.misled is None else self._request(item, self._label(item), self.misled)

    def _trained(self, recipe: Recipe, prefix: str) -> str | None:
        """Digest of the table with a misled head; None while that is trained."""
        shuffled = ConceptTarget(recipe=recipe.model_copy(update={"labels": "shuffled"}))
        target = shuffled.model_dump(mode="json")
        asked = plan.train_request(self.opened.model_copy(update={"target": target}))
        there = trained_here.finished(asked, f"{prefix}.shuffled")
        if there is None:
            return None
        misled = plan.table_of(cast(ConceptExplanation, there[1]))
        return _with_head(self.digest, there[0], self.table, misled, self.opened.family)

    def _label(self, item: Item) -> int:
        return int(cast(ConceptExplanation, item.explanation).values["label"])

    def _other(self, item: Item) -> int:
        """The class after the explained one, the first after the last."""
        return (self._label(item) + 1) % len(self.table.class_names)

    def _request(self, item: Item, label: int, digest: str) -> Request:
        target = ConceptTarget.model_validate(item.request.target)
        target = target.model_copy(update={"label": label})
        return item.request.moved(digest, target.model_dump(mode="json"))


@st.cache_resource(max_entries=16, show_spinner=False)
def _with_head(
    whole: str,  # noqa: ARG001
    misled: str,  # noqa: ARG001
    _table: ConceptTable,
    _misled: ConceptTable,
    family: str,
) -> str:
    """Digest of a table with the head of another."""
    head = {name: a for name, a in _misled.arrays.items() if name.startswith("head/")}
    moved = dataclasses.replace(_table, arrays=_table.arrays | head, origin=_misled.origin)
    return engine().put_input(moved, family)


@st.cache_resource(max_entries=64, show_spinner=False)
def _stored(whole: str, depth: int, seed: int, _table: ConceptTable, family: str) -> str:  # noqa: ARG001
    """Digest of the table with a re-initialised head."""
    return engine().put_input(reinitialised(_table, depth, seed), family)
