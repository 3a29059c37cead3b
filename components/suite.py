"""Score explainers over many prompts: generated ones with planted evidence, or a person's own."""

from __future__ import annotations

from typing import Any

import streamlit as st

from backend.errors import InputError
from backend.explainer import Family
from backend.explanation import Choice, ModelRef
from backend.settings import settings
from backend.tokens import needles, suite
from components import jobs, prompt_file, suite_results, suite_run
from components.plain import plain
from components.suite_run import Running

GENERATED, FILE = "Planted needles", "My own file"
SIZES = (256, 512, 1024, 2048, 4096)
_KEEP: dict[str, Any] = {"persist_state": "session"}


def panel(family: Family, model: ModelRef | None, prefix: str) -> None:
    """Choose prompts and explainers, run the suite, and see its table and figure.

    Args:
        model: the model whose explainers are scored; None while none is chosen.
        prefix: makes the widgets' keys and the session's suite unique.
    """
    titles = {cls.id: cls.title for cls in family.explainers if cls.role == "attribution"}
    left, right = st.columns([1.4, 1], gap="medium")
    with right:
        chosen, conditions = _conditions(titles, prefix)
    with left:
        cases, title = _cases(conditions["seed"], prefix)
    ready = model is not None and bool(cases) and bool(chosen)
    pressed = st.button(
        f"Score {len(cases)} prompt{'' if len(cases) == 1 else 's'}" if cases else "Score",
        type="primary",
        icon=":material/play_arrow:",
        disabled=not ready,
        key=f"{prefix}.start",
        help=None if ready else "Choose a model, prompts and at least one explainer.",
    )
    place = f"{prefix}.running"
    if pressed and model is not None:
        choices = suite.lean([Choice(explainer=name) for name in chosen], family)
        asked = suite.Conditions(model=model, choices=choices, **conditions)
        _replace(place, Running(cases, asked, title))
    running: Running | None = st.session_state.get(place)
    if running is not None:
        _show(running, titles, prefix)


def _replace(place: str, new: Running) -> None:
    """Start a suite in place of the one before, whose jobs nobody waits for any more."""
    before: Running | None = st.session_state.get(place)
    if before is not None and before.state == "running":
        suite_run.stop(before)
    st.session_state[place] = new


def _cases(seed: int, prefix: str) -> tuple[tuple[suite.Case, ...], str]:
    """The prompts the widgets name, and what they are called; none while something is missing."""
    source = st.segmented_control(
        "Prompts",
        (GENERATED, FILE),
        default=GENERATED,
        required=True,
        key=f"{prefix}.source",
        **_KEEP,
    )
    try:
        return _uploaded(prefix) if source == FILE else _generated(seed, prefix)
    except InputError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return (), ""


def _generated(seed: int, prefix: str) -> tuple[tuple[suite.Case, ...], str]:
    kinds = st.multiselect(
        "Kinds",
        needles.KINDS,
        default=list(needles.KINDS),
        format_func=needles.TITLES.__getitem__,
        key=f"{prefix}.kinds",
        help="What is hidden in the text and asked at its end: a code, one of several codes, all "
        "codes of one key, or the variables that hold a value.",
        **_KEEP,
    )
    most = settings().max_tokens
    sizes = st.multiselect(
        "Prompt lengths (tokens)",
        [size for size in SIZES if size <= most],
        default=[size for size in suite.DEFAULT_SIZES if size <= most],
        key=f"{prefix}.sizes",
        **_KEEP,
    )
    items = int(
        st.number_input(
            "Prompts of each kind and length",
            1,
            100,
            value=suite.DEFAULT_ITEMS,
            key=f"{prefix}.items",
            **_KEEP,
        )
    )
    if not kinds or not sizes:
        st.caption("Choose at least one kind and one length.")
        return (), ""
    return suite.generated(kinds, sizes, items, seed), GENERATED


def _uploaded(prefix: str) -> tuple[tuple[suite.Case, ...], str]:
    file = prompt_file.brought(prefix)
    if file is None:
        return (), ""
    found, name = file
    gold = sum(bool(one.prompt.gold) for one in found)
    answers = sum(one.answer is not None for one in found)
    st.caption(
        f"{len(found)} prompts: {gold} with marked evidence (the others have no recovery), "
        f"{answers} with an answer (for the others the model's own is explained)."
    )
    return suite.of_file(found), name


def _conditions(titles: dict[str, str], prefix: str) -> tuple[list[str], dict[str, int]]:
    """The chosen explainers, and the numbers all prompts share."""
    key = f"{prefix}.explainers"
    st.session_state.setdefault(key, list(suite.first_choice(titles)))
    chosen = st.multiselect(
        "Explainers",
        list(titles),
        format_func=titles.__getitem__,
        key=key,
        help="With their default settings. The first is compared with each of the others.",
        **_KEEP,
    )
    curves = st.number_input(
        "RISE and MAS up to (tokens)",
        0,
        settings().max_tokens,
        value=min(suite.CURVES_UP_TO, settings().max_tokens),
        key=f"{prefix}.curves",
        help="Longer prompts have recovery alone: RISE and MAS take 21 passes of the model a "
        "prompt and explainer.",
        **_KEEP,
    )
    seed = st.number_input("Seed", 0, 2**32 - 1, value=0, key=f"{prefix}.seed", **_KEEP)
    return chosen, {"curves_up_to": int(curves), "seed": int(seed)}


def _show(running: Running, titles: dict[str, str], prefix: str) -> None:
    """Progress, then what is measured so far."""
    more = suite_run.advance(running)
    done, count = running.measured, len(running.cases)
    if running.state == "running":
        st.progress(done / count, text=f"{plain(running.title)}: prompt {done + 1} of {count}")
        st.button(
            "Cancel",
            key=f"{prefix}.cancel",
            icon=":material/stop_circle:",
            on_click=suite_run.stop,
            args=(running,),
        )
    elif running.state == "stopped":
        if running.error:
            st.error(plain(running.error), icon=":material/error:")
        else:
            st.info(f"Stopped after {done} of {count} prompts.", icon=":material/cancel:")
        st.button(
            "Continue",
            key=f"{prefix}.continue",
            icon=":material/play_arrow:",
            on_click=suite_run.resume,
            args=(running,),
        )
    if running.found:
        suite_results.show(running, titles, prefix)
    if more:
        st.rerun()
    _wait(running)


def _wait(running: Running) -> None:
    if running.state != "running":
        return
    if running.waiting:
        jobs.waiting(running.waiting[:1])
    else:  # the model has just been fetched
        st.rerun()
