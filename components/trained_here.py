"""Bundled data whose model is trained here: pick it, say how it is trained, wait for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st
from pydantic import BaseModel

from backend.examples import Example
from backend.explainer import Family
from backend.explanation import Explanation, Request
from components import jobs
from components.forms import form, seed_form
from components.plain import plain
from components.session import explanation

Examples = Sequence[Example[Any]]


def model(family: Family, examples: Examples, prefix: str) -> str:
    """Pick a bundled data set or what stands for one's own; returns the preset's id."""
    titles = {preset.id: preset.title for preset in family.presets}
    picked = st.selectbox(
        "Model",
        list(titles),
        format_func=titles.__getitem__,
        key=f"{prefix}.model",
        on_change=_follow,
        args=(examples, prefix),
        persist_state="session",
    )
    note = next(preset.note for preset in family.presets if preset.id == picked)
    if note:
        st.caption(note)
    return str(picked)


def recipe(preset: str, examples: Examples, prefix: str) -> Any | None:
    """How a bundled model is trained, as its form has it; None where there is none to train."""
    found = of_preset(preset, examples)
    if found is None:
        return None
    kind: type[BaseModel] = type(found.recipe)
    if f"{prefix}.recipe.{next(iter(kind.model_fields))}" not in st.session_state:
        seed(found.recipe, prefix)
    with st.expander(getattr(kind, "HEADING", "How it is trained")):
        return kind.model_validate(form(kind, f"{prefix}.recipe"))


def seed(asked: BaseModel, prefix: str) -> None:
    """Set the form of `recipe` before it is drawn."""
    seed_form(type(asked), f"{prefix}.recipe", asked.model_dump(mode="json"))


def of_preset(preset: str, examples: Examples) -> Example[Any] | None:
    """The example of a preset; None for the one that stands for one's own."""
    return next((entry for entry in examples if entry.model == preset), None)


def finished(request: Request, prefix: str) -> tuple[str, Explanation] | None:
    """A training's key and result; until it is there, its progress or its fault is drawn."""
    job = jobs.hold(request)
    if isinstance(job, str):
        st.error(plain(job), icon=":material/error:")
        return None
    if not job.finished:
        jobs.cancellable(job, f"{prefix}.train")
        return None
    found = explanation(job.key)
    if job.state != "done" or found is None:
        jobs.outcome(job, request, f"{prefix}.train")
        return None
    return job.key, found


def _follow(examples: Examples, prefix: str) -> None:
    """Another model comes with its own recipe."""
    found = of_preset(st.session_state[f"{prefix}.model"], examples)
    if found is not None:
        seed(found.recipe, prefix)
