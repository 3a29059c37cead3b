"""The frame around every page: what the workers are doing, and a few lines of style."""

from __future__ import annotations

import streamlit as st

from components.session import engine

# Streamlit has no setting for these: narrow screens keep their width for the content.
_STYLE = """
<style>
.block-container { padding-top: 2.5rem; max-width: 1500px; }
@media (max-width: 640px) { .block-container { padding-left: 1rem; padding-right: 1rem; } }
</style>
"""


def sidebar() -> None:
    """Draw the part of the sidebar below the navigation."""
    st.html(_STYLE)
    with st.sidebar:
        _workers()


@st.fragment(run_every=5.0)
def _workers() -> None:
    workers = engine().workers()
    if not workers:
        st.caption("Worker not started; it starts with the first explanation.")
    for worker in workers:
        doing = "busy" if worker.current else worker.state
        st.caption(f":material/memory: {worker.device} · {doing}")


def step(number: int, title: str) -> None:
    """The heading of one of a page's four parts."""
    st.subheader(f"{number} · {title}", anchor=False)
