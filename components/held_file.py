"""A brought file that stays when its page is left, which the upload widget itself does not do."""

from __future__ import annotations

import streamlit as st

from components.plain import plain

File = tuple[str, bytes]
"""Name and content."""


def held_file(
    key: str, label: str, endings: tuple[str, ...], about: str, most_mb: float
) -> File | None:
    """Draw an upload widget and return the file that was brought last, or None.

    Args:
        endings: of file names that are taken, each with its dot.
        about: the widget's help.
        most_mb: a larger file is refused by the browser already.
    """
    held = f"{key}.held"

    def hold() -> None:
        file = st.session_state.get(key)
        st.session_state[held] = None if file is None else (file.name, file.getvalue())

    shown = st.file_uploader(
        label,
        type=[ending.removeprefix(".") for ending in endings],
        key=key,
        max_upload_size=max(1, round(most_mb)),
        help=about,
        on_change=hold,
    )
    found: File | None = st.session_state.get(held)
    if shown is None and found is not None:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"Still here: {plain(found[0])}")
            st.button("Remove", key=f"{key}.remove", type="tertiary", on_click=hold)
    return found
