"""The frame around every page: what the workers are doing, and a few lines of style."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.pages_manager import PagesManager

from components.session import engine

# Streamlit has no setting for these: narrow screens keep their width for the content.
_STYLE = """
<style>
.block-container { padding-top: 2.5rem; max-width: 1500px; }
@media (max-width: 640px) {
  .block-container { padding-left: 1rem; padding-right: 1rem; }
  [class*="st-key-wide-"] { overflow-x: auto; }
  [class*="st-key-wide-"] > * { min-width: 640px; }
}
</style>
"""

_AGAIN = st.components.v2.component(
    "vitrine_load_again",
    js="""
export default function () {
  window.location.reload()
}
""",
)


def inside() -> None:
    """Make sure that a page runs inside `app.py`, whichever address was opened first.

    Until any session has called `st.navigation`, Streamlit takes the files in `pages/` for pages
    of its own kind and runs them without `app.py`. That is ended for good here; the browser then
    loads the address again.
    """
    if not st.session_state.get("framed"):
        # What `st.navigation` does too, which would here change the address as well.
        PagesManager.uses_pages_directory = False
        _AGAIN(key="again", data={})
        st.stop()


def sidebar() -> None:
    """Draw the part of the sidebar below the navigation."""
    st.session_state["framed"] = True
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


def wide(key: str) -> DeltaGenerator:
    """A container for a chart of many columns: narrow screens scroll it instead of squeezing it."""
    return st.container(key=f"wide-{key}")


def step(number: int, title: str) -> None:
    """The heading of one of a page's four parts."""
    st.subheader(f"{number} · {title}", anchor=False)
