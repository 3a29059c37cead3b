"""Stored explanations: list, filter, open, compare, pin, delete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import streamlit as st

from backend.catalogue import catalogue, find
from backend.engine.store import Entry
from backend.errors import VitrineError
from backend.explanation import Choice, Comparison, Explanation, Request
from components.figures import figure
from components.permalink import PARAMETER
from components.plain import plain
from components.session import engine, explanation, forget, theme_name


def attributions(family: str | None = None) -> list[Entry]:
    """Stored explanations a person asked for, newest first: no preparations, no scores."""
    roles = {(one.id, cls.id): cls.role for one in catalogue().values() for cls in one.explainers}
    entries = engine().store.entries("explanation", family)
    shown = [e for e in entries if (e.family, e.meta.get("explainer")) in roles]
    return sorted(shown, key=lambda entry: entry.created, reverse=True)


def recent(count: int) -> None:
    """The newest stored explanations, each a link."""
    entries = attributions()[:count]
    if not entries:
        st.caption("Nothing yet. What you explain is kept here, also after a restart.")
    for entry in entries:
        st.button(
            f"{_title(entry)} · {plain(entry.title)}",
            key=f"recent.{entry.key}",
            type="tertiary",
            icon=":material/history:",
            on_click=_remember,
            args=(entry.key,),
        )
    _go()


def table(entries: Sequence[Entry], key: str) -> list[Entry]:
    """Draw the entries as a table with selectable rows and return the selected ones."""
    rows = [
        {
            "family": catalogue()[entry.family].title,
            "explainer": _title(entry),
            "input": entry.title,
            "model": entry.meta.get("model", ""),
            "created": _when(entry.created),
            "size (kB)": round(entry.size / 1000),
            "pinned": entry.pinned,
        }
        for entry in entries
    ]
    event: Any = st.dataframe(
        rows,
        hide_index=True,
        key=key,
        on_select="rerun",
        selection_mode="multi-row",
        alt="Stored explanations",
    )
    return [entries[i] for i in event.selection.rows if i < len(entries)]


def actions(selected: Sequence[Entry]) -> None:
    """What can be done with the selected entries."""
    with st.container(horizontal=True):
        st.button(
            "Open",
            icon=":material/open_in_new:",
            disabled=len(selected) != 1,
            on_click=_remember,
            args=(selected[0].key,) if len(selected) == 1 else (),
        )
        pinned = bool(selected) and all(entry.pinned for entry in selected)
        st.button(
            "Unpin" if pinned else "Pin",
            icon=":material/keep:",
            disabled=not selected,
            help="A pinned result stays when the library runs out of space.",
            on_click=_pin,
            args=(selected, not pinned),
        )
        st.button(
            "Delete",
            icon=":material/delete:",
            disabled=not selected,
            on_click=_delete,
            args=(selected,),
        )
    _go()


def comparison_of(request: Request) -> Comparison:
    """The page state that shows one explanation, with those that it brings together."""
    shown = (*request.members, request)
    return Comparison(
        family=request.family,
        model=request.model,
        input=request.input,
        target=request.target,
        choices=tuple(Choice(explainer=one.explainer, parameters=one.parameters) for one in shown),
        seed=request.seed,
    )


def one(entry: Entry, draw: Callable[[Any, str], None]) -> None:
    """Draw one stored explanation under a line that says what it is.

    Args:
        draw: draws an explanation of the entry's family; takes it and a key for its widgets.
    """
    found = explanation(entry.key)
    if found is None:
        st.warning("This result is no longer stored.", icon=":material/history:")
        return
    request = found.source().request
    line = f"{find(request).title} · {request.model.label()} · seed {request.seed}"
    st.markdown(f"**{plain(line)}**")
    st.caption(plain(entry.title))
    draw(found, entry.key)


def _title(entry: Entry) -> str:
    name = str(entry.meta.get("explainer", ""))
    known = {cls.id: cls.title for cls in catalogue()[entry.family].explainers}
    return known.get(name, name)


def _when(created: float) -> datetime:
    return datetime.fromtimestamp(created, UTC)


def _remember(key: str) -> None:
    st.session_state["library.open"] = key


def _go() -> None:
    """Switch to the family's page where a button asked for it; not possible in its callback."""
    key = st.session_state.pop("library.open", None)
    found = explanation(key) if key else None
    if found is None:
        return
    comparison = comparison_of(found.source().request)
    key = engine().put_comparison(comparison)
    st.session_state[f"shown.{comparison.family}"] = key
    st.switch_page(f"pages/{comparison.family}.py", query_params={PARAMETER: key})


def _pin(entries: Sequence[Entry], pinned: bool) -> None:
    for entry in entries:
        engine().store.pin(entry.key, "explanation", pinned)


def _delete(entries: Sequence[Entry]) -> None:
    for entry in entries:
        try:
            forget(entry.key)
        except VitrineError as error:
            st.toast(plain(str(error)))


def draw(found: Explanation, key: str) -> None:
    """An explanation as its figure, for families that have nothing better for the library."""
    try:
        shown = figure(found, theme_name())
    except TypeError as error:
        st.info(plain(str(error)), icon=":material/info:")
        return
    st.plotly_chart(shown, theme=None, key=f"stored.{key}", alt="The stored explanation")
    source = found.source()
    st.caption(f"{source.seconds:.2f} s · {source.created} · key {source.key[:12]}…")
