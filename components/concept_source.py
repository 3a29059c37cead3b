"""Bring a table of concept predictions: from a bundled model that is trained here, or one's own."""

from __future__ import annotations

import dataclasses
from typing import cast

import streamlit as st

from backend.concepts import plan
from backend.concepts.examples import EXAMPLES
from backend.concepts.explanation import ConceptExplanation, ConceptTable, ConceptTarget, Recipe
from backend.explanation import Comparison, ModelRef
from components import concept_upload, trained_here
from components.plain import plain
from components.session import engine, keep_input


@dataclasses.dataclass(frozen=True)
class Source:
    """What a person chose: a recipe for a bundled model, or a table of their own."""

    model: ModelRef
    table: ConceptTable
    """Of no samples where a model must be trained first."""
    recipe: Recipe | None


def given(
    preset: str, chosen: Recipe | None, opened: Comparison | None, prefix: str
) -> Source | None:
    """A few words about a bundled data set, or the upload; None until a table is read.

    Args:
        opened: what the page shows; its table is used again where no other is brought.
    """
    ref = ModelRef(name=preset)
    found = trained_here.of_preset(preset, EXAMPLES)
    if found is not None:
        st.markdown(f"**{found.title}**")
        st.write(found.about)
        return Source(ref, ConceptTable.none(), chosen)
    table = concept_upload.uploaded(prefix)
    if table is None and opened is not None and opened.model == ref:
        table = cast(ConceptTable | None, engine().get_input(opened.family, opened.input))
        if table is not None:
            st.caption(f":material/table: The table that is shown below: {plain(table.title)}.")
    return None if table is None else Source(ref, table, None)


def seed(opened: Comparison, prefix: str) -> None:
    """Set the widgets as an opened comparison has them."""
    st.session_state[f"{prefix}.model"] = opened.model.name
    asked = ConceptTarget.model_validate(opened.target)
    if asked.recipe is not None:
        trained_here.seed(asked.recipe, prefix)


def table(opened: Comparison, prefix: str) -> tuple[str, ConceptTable] | None:
    """The table a comparison is about and its digest; until it is there, its progress is drawn."""
    if ConceptTarget.model_validate(opened.target).recipe is None:
        found = engine().get_input(opened.family, opened.input)
        if found is None:
            st.warning("The table is no longer stored. Bring it again.", icon=":material/history:")
            return None
        return opened.input, cast(ConceptTable, found)
    trained = trained_here.finished(plan.train_request(opened), prefix)
    if trained is None:
        return None
    key, found = trained
    digest, made = _made(key, cast(ConceptExplanation, found), opened.family)
    keep_input(digest, made, opened.family)
    return digest, made


@st.cache_resource(max_entries=4, show_spinner=False)
def _made(key: str, _trained: ConceptExplanation, family: str) -> tuple[str, ConceptTable]:  # noqa: ARG001
    """The digest and the table of a training: hashed once, not whenever the page runs."""
    made = plan.table_of(_trained)
    return engine().put_input(made, family), made


def facts(found: ConceptTable) -> None:
    """The table in numbers."""
    arrays, errors = found.arrays, found.errors
    right = (arrays["logits"] > 0) == (arrays["concepts"] > 0)
    concepts = right.mean(axis=0)
    worst = int(concepts.argmin())
    cells = {
        "Samples": f"{len(found):,}",
        "Task accuracy": f"{1 - len(errors) / max(len(found), 1):.1%}",
        "Wrong predictions": f"{len(errors):,}",
        "Concept accuracy": f"{concepts.mean():.1%}",
        "Worst concept": f"{concepts[worst]:.1%}",
    }
    with st.container(horizontal=True, gap="medium"):
        for name, value in cells.items():
            hint = found.concept_names[worst] if name == "Worst concept" else None
            st.metric(name, value, help=hint, border=True, width="content")
    for note in cast(list[str], found.origin.get("notes") or []):
        st.caption(f":material/info: {plain(str(note))}")
