"""Bring graphs and the GNN that reads them: bundled and trained here, or one's own."""

from __future__ import annotations

import dataclasses
from typing import cast

import streamlit as st

from backend.errors import InputError
from backend.explanation import Comparison, ModelRef
from backend.graphs import plan
from backend.graphs.adopt import adopted
from backend.graphs.examples import EXAMPLES
from backend.graphs.explanation import GraphExplanation, GraphSet, GraphTarget, Pretrained, Recipe
from backend.graphs.plan import Sets
from components import graph_upload, trained_here
from components.plain import plain
from components.session import engine, keep_input

BUNDLED, BROUGHT = "Bundled graphs", "Graphs of my own"


@dataclasses.dataclass(frozen=True)
class Source:
    """What a person chose.

    Attributes:
        graphs: of no graphs where the bundled ones are explained.
        recipe: of a bundled GNN; None where the graphs come with their own.
    """

    model: ModelRef
    graphs: GraphSet
    recipe: Recipe | Pretrained | None


def given(
    preset: str, chosen: Recipe | Pretrained | None, opened: Comparison | None, prefix: str
) -> Source | None:
    """The bundled graphs in a few words, or an upload; None until there is something to explain.

    Args:
        opened: what the page shows; its graphs are used again where no others are brought.
    """
    ref = ModelRef(name=preset)
    found = trained_here.of_preset(preset, EXAMPLES)
    if found is not None:
        which = st.segmented_control(
            "Graphs",
            (BUNDLED, BROUGHT),
            default=BUNDLED,
            required=True,
            key=f"{prefix}.graphs",
            persist_state="session",
        )
        if which == BUNDLED:
            st.markdown(f"**{found.title}**")
            st.write(found.about)
            return Source(ref, GraphSet.none(), chosen)
    graphs = graph_upload.uploaded(prefix, with_weights=found is None)
    if graphs is None and opened is not None and opened.model == ref:
        graphs = cast(GraphSet | None, engine().get_input(opened.family, opened.input))
        if graphs is not None and not len(graphs):
            graphs = None
        if graphs is not None:
            st.caption(f":material/hub: The graphs shown below: {plain(graphs.title)}.")
    return None if graphs is None else Source(ref, graphs, chosen)


def seed(opened: Comparison, prefix: str) -> None:
    """Set the widgets as an opened comparison has them."""
    st.session_state[f"{prefix}.model"] = opened.model.name
    asked = GraphTarget.model_validate(opened.target)
    if asked.recipe is None:
        return
    trained_here.seed(asked.recipe, prefix)
    graphs = cast(GraphSet | None, engine().get_input(opened.family, opened.input))
    own = graphs is not None and len(graphs) > 0
    st.session_state[f"{prefix}.graphs"] = BROUGHT if own else BUNDLED


def sets(opened: Comparison, prefix: str) -> tuple[Sets, GraphSet] | None:
    """The sets a comparison rests on, and the explained one; until then, progress is drawn."""
    brought = cast(GraphSet | None, engine().get_input(opened.family, opened.input))
    if brought is None:
        st.warning(
            "These graphs are no longer stored. Bring them again.", icon=":material/history:"
        )
        return None
    if GraphTarget.model_validate(opened.target).recipe is None:
        return Sets(opened.input, opened.input), brought
    none = engine().put_input(GraphSet.none(), opened.family)
    there = trained_here.finished(plan.train_request(opened, none), prefix)
    if there is None:
        return None
    key, found = there
    trained, fitted = trained_set(key, cast(GraphExplanation, found), opened.family)
    keep_input(fitted, trained, opened.family)
    if not len(brought):
        return Sets(fitted, fitted), trained
    try:
        joined, explained = _adopted(opened.input, fitted, brought, trained, opened.family)
    except InputError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return None
    keep_input(explained, joined, opened.family)
    return Sets(explained, fitted), joined


@st.cache_resource(max_entries=4, show_spinner=False)
def trained_set(key: str, _found: GraphExplanation, family: str) -> tuple[GraphSet, str]:  # noqa: ARG001
    """A trained set and its digest, made once a training."""
    made = plan.set_of(_found)
    return made, engine().put_input(made, family)


@st.cache_resource(max_entries=4, show_spinner=False)
def _adopted(
    brought: str,  # noqa: ARG001  the key
    trained: str,  # noqa: ARG001  the key
    _brought: GraphSet,
    _trained: GraphSet,
    family: str,
) -> tuple[GraphSet, str]:
    """Brought graphs as a trained GNN reads them, and their digest."""
    made = adopted(_brought, _trained)
    return made, engine().put_input(made, family)
