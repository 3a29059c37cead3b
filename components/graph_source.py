"""Bring graphs and the GNN that reads them: bundled and trained here, or one's own."""

from __future__ import annotations

import dataclasses
from typing import cast

import streamlit as st

from backend.engine.job import Job
from backend.errors import InputError
from backend.explainer import Family
from backend.explanation import Comparison, ModelRef
from backend.graphs import plan
from backend.graphs.adopt import adopted
from backend.graphs.examples import EXAMPLES, OWN, Example
from backend.graphs.explanation import GraphExplanation, GraphSet, GraphTarget, Recipe
from backend.graphs.plan import Sets
from components import graph_upload, jobs
from components.forms import form, seed_form
from components.plain import plain
from components.session import engine, explanation, keep_input

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
    recipe: Recipe | None


def model(family: Family, prefix: str) -> str:
    """Pick a bundled data set or one's own GNN; returns the preset's id."""
    titles = {preset.id: preset.title for preset in family.presets}
    picked = st.selectbox(
        "Model",
        list(titles),
        format_func=titles.__getitem__,
        key=f"{prefix}.model",
        on_change=_follow,
        args=(prefix,),
        persist_state="session",
    )
    note = next(preset.note for preset in family.presets if preset.id == picked)
    if note:
        st.caption(note)
    return str(picked)


def recipe(preset: str, prefix: str) -> Recipe | None:
    """How a bundled GNN is trained; None where there is none to train."""
    found = _example(preset)
    if found is None:
        return None
    if f"{prefix}.recipe.kind" not in st.session_state:
        seed_form(Recipe, f"{prefix}.recipe", found.recipe.model_dump(mode="json"))
    with st.expander("How it is trained"):
        return Recipe.model_validate(form(Recipe, f"{prefix}.recipe"))


def given(
    preset: str, chosen: Recipe | None, opened: Comparison | None, prefix: str
) -> Source | None:
    """The bundled graphs in a few words, or an upload; None until there is something to explain.

    Args:
        opened: what the page shows; its graphs are used again where no others are brought.
    """
    ref = ModelRef(name=preset)
    found = _example(preset)
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
    seed_form(Recipe, f"{prefix}.recipe", asked.recipe.model_dump(mode="json"))
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
    request = plan.train_request(opened, none)
    job = jobs.hold(request)
    if isinstance(job, str):
        st.error(plain(job), icon=":material/error:")
        return None
    if not job.finished:
        _progress(job, prefix)
        return None
    found = explanation(job.key)
    if job.state != "done" or found is None:
        jobs.outcome(job, request, f"{prefix}.train")
        return None
    trained, fitted = _trained(job.key, cast(GraphExplanation, found), opened.family)
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
def _trained(key: str, _found: GraphExplanation, family: str) -> tuple[GraphSet, str]:  # noqa: ARG001
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


def _progress(job: Job, prefix: str) -> None:
    st.button(
        "Cancel",
        key=f"{prefix}.train.cancel",
        icon=":material/stop_circle:",
        on_click=jobs.cancel,
        args=([job.key],),
    )
    jobs.waiting([job])


def _example(preset: str) -> Example | None:
    if preset == OWN:
        return None
    return next((entry for entry in EXAMPLES if entry.model == preset), None)


def _follow(prefix: str) -> None:
    """Another model comes with its own recipe."""
    found = _example(st.session_state[f"{prefix}.model"])
    if found is not None:
        seed_form(Recipe, f"{prefix}.recipe", found.recipe.model_dump(mode="json"))
