"""The prompts of a study of Tokens: which, and the answers to them before they are explained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import streamlit as st

from backend.errors import InputError
from backend.explanation import Comparison
from backend.study import Studied
from backend.tokens import plan, studied
from backend.tokens.explanation import TokenExplanation
from backend.tokens.prompt_sets import ABOUT, TITLES, PromptSet, bundled
from components import compare, jobs, prompt_file
from components.plain import plain
from components.session import engine

OWN = "own"
AHEAD = 8
"""Answers that are waited for at a time."""


def chosen(opened: Comparison | None, prefix: str) -> PromptSet | None:
    """Draw the choice of prompts; None while a file is missing or cannot be read.

    Args:
        opened: what the page shows; its prompts are used again where no others are brought.
    """
    titles = {**TITLES, OWN: "My own file"}
    picked = str(
        st.selectbox(
            "Prompts",
            list(titles),
            format_func=titles.__getitem__,
            key=f"{prefix}.prompts",
            persist_state="session",
        )
    )
    if picked != OWN:
        st.caption(ABOUT[picked])
        return bundled(picked)
    try:
        file = prompt_file.brought(prefix)
    except InputError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return None
    if file is None:
        found = None if opened is None else stored(opened.input)
        if found is not None and not found.name:
            st.caption(f":material/list: The prompts that are shown below: {plain(found.title)}.")
            return found
        return None
    read, name = file
    gold = sum(bool(one.prompt.gold) for one in read)
    st.caption(f"{len(read)} prompts, {gold} with marked evidence.")
    return PromptSet.of(read, name)


def seed(opened: Comparison, prefix: str) -> None:
    """Set the widget as an opened study has it."""
    found = stored(opened.input)
    st.session_state[f"{prefix}.prompts"] = (found.name if found else "") or OWN


def stored(digest: str) -> PromptSet | None:
    """A stored set of prompts, or None."""
    data = engine().store.get(digest, "input")
    try:
        return None if data is None else PromptSet.from_bytes(data)
    except InputError:
        return None


def prepared(opened: Comparison, most: int, seeds: int, prefix: str) -> Studied | None:
    """The study once every prompt has its answer; until then the progress is drawn."""
    name = f"{opened.key()}.{most}.{seeds}"
    held = st.session_state.get(f"{prefix}.studied")
    if held is not None and held[0] == name:
        made: Studied = held[1]
        return made
    prompts = stored(opened.input)
    if prompts is None:
        st.warning("The prompts are no longer stored. Bring them again.", icon=":material/history:")
        return None
    shown = studied.answered(opened, prompts, most, lambda one: engine().put_input(one, "tokens"))
    answers = _answers(shown, prefix)
    if answers is None:
        return None
    made = studied.studied(opened, prompts, shown, answers, seeds)
    st.session_state[f"{prefix}.studied"] = (name, made)
    return made


def _answers(shown: Sequence[Comparison], prefix: str) -> list[TokenExplanation] | None:
    """The answer to each prompt; None while one is to come, or where there is none."""
    found: list[TokenExplanation] = []
    for start in range(0, len(shown), AHEAD):
        part = shown[start : start + AHEAD]
        items = compare.items([plan.continuation_request(one) for one in part])
        found += [cast(TokenExplanation, one.explanation) for one in items if one.explanation]
        if len(found) == start + len(part):
            continue
        st.progress(len(found) / len(shown), text=f"{len(found)} of {len(shown)} answers")
        live = [one.job for one in items if one.live and not isinstance(one.job, str)]
        compare.cancel_button(items, f"{prefix}.cancel")
        if live:
            jobs.waiting(live[:1])
        compare.first_absent(items, "the answer to a prompt", f"{prefix}.answers")
        return None
    return found
