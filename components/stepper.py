"""One widget that steps through the items of a list, wherever the shown one came from."""

from __future__ import annotations

import numpy as np
import streamlit as st


def stepped(label: str, among: np.ndarray, now: int, key: str) -> int:
    """The chosen one of some items; one widget, to be clicked quickly.

    Args:
        among: ascending. now: the item that is shown, from which a step starts.
    """
    state, shown = st.session_state, f"{key}.shown"
    if key not in state or state.get(shown) != now:
        state[key] = int(np.searchsorted(among, now).clip(0, len(among) - 1)) + 1
    at = st.number_input(label, min_value=1, max_value=len(among), key=key)
    state[shown] = int(among[int(at) - 1])
    return int(state[shown])
