"""A study on the screen: its cases one after the other, as far as they are, and what is in the way.

What is done is in the store, so a study that is left, cancelled or broken off goes on where it was.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import streamlit as st

from backend.explanation import Explanation, Request
from backend.study import Case, Measured, Studied, Study, study
from components import compare, jobs
from components.compare import Item
from components.plain import plain

AHEAD = 4
"""Cases whose requests wait at a time."""


def measured(asked: Studied, name: str, prefix: str) -> list[Measured | None]:
    """What is there of each case; None of one that is still to come.

    While there is one, progress and a button to stop are drawn.

    Args:
        name: of the study; another one starts afresh.
    """
    done: dict[int, Measured] = _held(name, prefix)
    open_items: list[Item] = []
    waiting = 0
    if not st.session_state.get(f"{prefix}.stopped"):
        for number, case in enumerate(asked.cases):
            if number in done:
                continue
            items, found = _case(case)
            open_items += items
            if found is not None:
                done[number] = found
                continue
            waiting += 1
            if waiting == AHEAD:
                break
    _progress(asked, len(done), open_items, prefix)
    return [done.get(number) for number in range(len(asked.cases))]


def table(asked: Studied, there: Sequence[Measured | None], prefix: str) -> Study | None:
    """The study of the cases that are there; None of none. Made again only when one has come."""
    done = [number for number, one in enumerate(there) if one is not None]
    if not done:
        return None
    name, known = st.session_state[f"{prefix}.held"][0], st.session_state.get(f"{prefix}.table")
    if known is None or known[:2] != (name, len(done)):
        titles = [asked.cases[number].title for number in done]
        found = study(
            asked.methods, titles, [one for one in there if one], asked.metrics, asked.controls
        )
        known = (name, len(done), found)
        st.session_state[f"{prefix}.table"] = known
    made: Study = known[2]
    return made


def failures(found: Sequence[Measured | None], asked: Studied) -> list[str]:
    """Methods and inputs for which there is no explanation, in words."""
    missing = []
    for case, one in zip(asked.cases, found, strict=True):
        if one is None:
            continue
        names = [title for title, each in zip(asked.titles, one.asked, strict=True) if each is None]
        if names:
            missing.append(f"{case.title}: {', '.join(names)}")
    return missing


def _held(name: str, prefix: str) -> dict[int, Measured]:
    """Cases of this study that this session has seen to their end."""
    held = st.session_state.get(f"{prefix}.held")
    if held is None or held[0] != name:
        held = (name, {})
        st.session_state[f"{prefix}.held"] = held
        st.session_state.pop(f"{prefix}.stopped", None)
    found: dict[int, Measured] = held[1]
    return found


def _case(case: Case) -> tuple[tuple[Item, ...], Measured | None]:
    """The items of a case that are under way, and all of it once nothing is."""
    explained = compare.items(case.explained)
    if any(item.live or _refused(item) for item in explained):
        return explained, None
    by: dict[str, Explanation | None] = {
        _name(item.request): item.explanation for item in explained
    }
    # A score of an explanation that is not there cannot be had.
    scorable = [
        request
        for request in case.scores
        if request.subject is None or by.get(_name(request.subject)) is not None
    ]
    scored = compare.items(scorable)
    if any(item.live or _refused(item) for item in scored):
        return (*explained, *scored), None
    scores = {_name(item.request): item.explanation for item in scored}
    return (), Measured(
        asked=[by[_name(request)] for request in case.asked],
        again=[[by[_name(request)] for request in seeds] for seeds in case.again],
        scores=[scores.get(_name(request)) for request in case.scores],
    )


def _refused(item: Item) -> bool:
    """Whether there is no job yet, e.g. as the queue is full: it is asked for again."""
    return isinstance(item.job, str)


def _name(request: Request) -> str:
    return request.model_dump_json()


def _progress(asked: Studied, done: int, items: Sequence[Item], prefix: str) -> None:
    total = len(asked.cases)
    if done == total:
        return
    st.progress(done / total, text=f"{done} of {total} inputs")
    if st.session_state.get(f"{prefix}.stopped"):
        st.button(
            "Go on",
            icon=":material/play_arrow:",
            key=f"{prefix}.resume",
            on_click=_go_on,
            args=(prefix,),
        )
        return
    live = [item.job for item in items if item.live and not isinstance(item.job, str)]
    st.button(
        "Stop",
        icon=":material/stop_circle:",
        key=f"{prefix}.stop",
        on_click=_stop,
        args=([job.key for job in live], prefix),
        help="What is done stays; the study goes on from there.",
    )
    if live:
        jobs.waiting(list(itertools.islice(live, 1)))
        return
    refused = next((item.job for item in items if isinstance(item.job, str)), None)
    if refused is not None:
        st.warning(plain(refused), icon=":material/block:")


def _stop(keys: Sequence[str], prefix: str) -> None:
    st.session_state[f"{prefix}.stopped"] = True
    jobs.cancel(keys)


def _go_on(prefix: str) -> None:
    st.session_state.pop(f"{prefix}.stopped", None)
