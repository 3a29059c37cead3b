"""What a page shows is named by its URL: open it, keep it over page switches, share it."""

from __future__ import annotations

import re
from collections.abc import Callable

import streamlit as st

from backend.explanation import Comparison
from components.session import engine

PARAMETER = "c"


def show(comparison: Comparison, place: str = "") -> None:
    """Make a page show this comparison.

    Args:
        place: the page, where it is not the family's own.
    """
    place = place or comparison.family
    key = engine().put_comparison(comparison)
    st.session_state[f"shown.{place}"] = key
    st.session_state[f"seeded.{place}"] = key
    st.query_params[PARAMETER] = key


def named(key: str) -> Comparison | None:
    """The comparison of an address' key, or None where it is none or not in this library."""
    return engine().get_comparison(key) if re.fullmatch(r"[0-9a-f]{64}", key) else None


def shown(family: str, seed: Callable[[Comparison], None], place: str = "") -> Comparison | None:
    """The comparison this page shows, from the URL or from before the page was left.

    Args:
        family: the family of the page's comparisons.
        seed: sets the page's widgets from a comparison; called once for each that a link opens.
        place: the page, where it is not the family's own.
    """
    place = place or family
    key = st.query_params.get(PARAMETER) or st.session_state.get(f"shown.{place}")
    if not key:
        return None
    found = named(key)
    if found is None or found.family != family:
        st.warning(
            "This link names a result that is not in this library. It may have been deleted, or "
            "the link is incomplete. Choose an input below to start afresh.",
            icon=":material/link_off:",
        )
        return None
    st.session_state[f"shown.{place}"] = key
    st.query_params[PARAMETER] = key
    if st.session_state.get(f"seeded.{place}") != key:
        seed(found)
        st.session_state[f"seeded.{place}"] = key
    return found
