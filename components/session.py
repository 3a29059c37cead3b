"""What the pages of one process share (the engine) and what one browser session holds (keys)."""

from __future__ import annotations

import uuid

import streamlit as st

from backend.bundle import Bundle
from backend.engine.engine import Engine
from backend.explanation import Explanation
from backend.settings import settings


@st.cache_resource(show_spinner=False)
def engine() -> Engine:
    """The one engine of this server process."""
    return Engine(settings())


def holder() -> str:
    """A name for this browser session, so that cancelling drops only its own hold on a job."""
    return str(st.session_state.setdefault("holder", uuid.uuid4().hex))


def theme_name() -> str:
    """ "light" or "dark", as the browser shows the app."""
    return "dark" if st.context.theme.type == "dark" else "light"


@st.cache_resource(max_entries=16, show_spinner=False)
def _kept(key: str) -> Explanation:
    found = engine().result(key)
    if found is None:
        raise LookupError(key)
    return found


def explanation(key: str) -> Explanation | None:
    """A stored explanation, or None; the last few stay decoded, as they never change."""
    try:
        return _kept(key)
    except LookupError:
        return None


def keep_input(digest: str, given: Bundle, family: str) -> None:
    """Store an input again that the store may have dropped since its digest was taken."""
    if not engine().store.has(digest, "input"):
        engine().put_input(given, family)


def forget(key: str) -> None:
    """Delete a stored explanation everywhere this process keeps it."""
    engine().store.delete(key, "explanation")
    _kept.clear()
