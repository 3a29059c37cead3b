"""Choose a model and explainers: the parts of a page that are the same in every family."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import streamlit as st

from backend.explainer import Explainer, Family
from backend.explanation import Choice, ModelRef, Precision
from backend.models import offered
from backend.settings import settings
from components.forms import form, seed_form
from components.session import engine

_HUB = "Hub id…"
_PRECISIONS: tuple[Precision, ...] = ("float32", "bfloat16", "float16")


def model(
    family: Family, prefix: str, made: Mapping[str, ModelRef] | None = None
) -> ModelRef | None:
    """Pick a preset, a folder the operator allowed, or a hub id; None until an id is typed.

    Args:
        made: models that were made on the page, by their titles.
    """
    refs = {_model_label(family, ref): ref for ref in offered(family, settings())}
    refs.update(made or {})
    options = [*refs, _HUB] if settings().hub != "off" else list(refs)
    picked = st.selectbox("Model", options, key=f"{prefix}.model", persist_state="session")
    hub_id = revision = ""
    if picked == _HUB:
        hub_id = st.text_input(
            "Hub id",
            key=f"{prefix}.hub",
            placeholder="organisation/name",
            help="A model with safetensors weights. No code from the hub is run.",
            persist_state="session",
        ).strip()
        revision = st.text_input(
            "Revision",
            key=f"{prefix}.revision",
            placeholder="main",
            help="A branch, a tag or, best for reproducing, a commit.",
            persist_state="session",
        ).strip()
    precision = st.selectbox(
        "Precision",
        _PRECISIONS,
        key=f"{prefix}.precision",
        help="What the model computes in. Scores are always summed in float32.",
        persist_state="session",
    )
    if picked == _HUB:
        if not re.fullmatch(r"[\w.-]+/[\w.-]+", hub_id):
            st.caption("Type an id such as `organisation/name`.")
            return None
        return ModelRef(source="hub", name=hub_id, revision=revision or None, precision=precision)
    ref = refs[picked].model_copy(update={"precision": precision})
    note = next((p.note for p in family.presets if ref.source == "preset" and p.id == ref.name), "")
    if note:
        st.caption(note)
    if ref.source == "preset" and settings().warm and not engine().workers():
        # The first explanation then waits for less: unpacking takes longer than choosing.
        engine().prepare(ref, family.id, "warm")
    return ref


def seed_model(family: Family, prefix: str, ref: ModelRef, title: str = "") -> None:
    """Set the widgets of `model` before they are drawn, as a permalink asks.

    Args:
        title: of a model that was made on the page.
    """
    if ref.source == "hub":
        st.session_state[f"{prefix}.model"] = _HUB
        st.session_state[f"{prefix}.hub"] = ref.name
        st.session_state[f"{prefix}.revision"] = ref.revision or ""
    else:
        st.session_state[f"{prefix}.model"] = title or _model_label(family, ref)
    st.session_state[f"{prefix}.precision"] = ref.precision


def _model_label(family: Family, ref: ModelRef) -> str:
    titles = {preset.id: preset.title for preset in family.presets}
    return titles.get(ref.name, ref.name) if ref.source == "preset" else f"{ref.name} (folder)"


def explainers(
    family: Family, prefix: str, role: str = "", default: Sequence[str] = ()
) -> tuple[Choice, ...]:
    """Pick explainers, each with its parameters in a form of its own.

    Args:
        role: offers those of this role only.
        default: those chosen on a fresh page; none takes the family's.
    """
    known = {cls.id: cls for cls in family.explainers if role in ("", cls.role)}
    key = f"{prefix}.explainers"
    st.session_state.setdefault(key, list(default or family.default))
    picked = st.multiselect(
        "Explainers",
        list(known),
        format_func=lambda name: known[name].title,
        key=key,
        persist_state="session",
    )
    choices = []
    for name in picked:
        with st.expander(known[name].title):
            about(known[name])
            values = form(known[name].Parameters, f"{prefix}.{name}")
        choices.append(Choice(explainer=name, parameters=values))
    return tuple(choices)


def about(explainer: type[Explainer]) -> None:
    """What a method is, where it comes from, and how to read it."""
    if explainer.how_to_read:
        st.caption(explainer.how_to_read)
    if explainer.reference:
        paper = explainer.reference
        st.caption(f"{paper.authors} ({paper.year}). [{paper.title}]({paper.link})")
    if explainer.reconstruction:
        st.caption(
            ":material/construction: Rebuilt from the paper's abstract: its full text could not "
            "be had, so details may differ from the authors' own."
        )


def seed_explainers(family: Family, prefix: str, choices: Sequence[Choice]) -> None:
    """Set the widgets of `explainers` before they are drawn, as a permalink asks."""
    known = {cls.id: cls for cls in family.explainers}
    present = [choice for choice in choices if choice.explainer in known]
    st.session_state[f"{prefix}.explainers"] = [choice.explainer for choice in present]
    for choice in present:
        seed_form(
            known[choice.explainer].Parameters, f"{prefix}.{choice.explainer}", choice.parameters
        )


def seed_number(prefix: str) -> int:
    """The seed of the explainers that draw random numbers."""
    return int(
        st.number_input(
            "Seed",
            min_value=0,
            max_value=2**32 - 1,
            step=1,
            value=0,
            key=f"{prefix}.seed",
            help="Only explainers and scores that draw random numbers use it.",
            persist_state="session",
        )
    )
