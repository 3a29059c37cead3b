"""Bring pictures: bundled photos, or one's own."""

from __future__ import annotations

from typing import cast

import streamlit as st

from backend.errors import InputError
from backend.explanation import Comparison
from backend.images import inputs
from backend.images.examples import EXAMPLES, OFFERED, photos
from backend.images.explanation import Photos
from backend.settings import settings
from components.plain import plain
from components.session import engine

BUNDLED, OWN = "Bundled photos", "My own"


def given(opened: Comparison | None, prefix: str, *, many: bool = False) -> Photos | None:
    """Draw the choice of pictures; None while one's own are missing or cannot be read.

    Args:
        opened: what the page shows; its pictures are used again where no others are brought.
        many: whether all bundled photos are meant, not one.
    """
    source = st.segmented_control(
        "Pictures",
        (BUNDLED, OWN),
        default=BUNDLED,
        required=True,
        key=f"{prefix}.source",
        persist_state="session",
    )
    return _own(opened, prefix) if source == OWN else _bundled(prefix, many)


def seed(opened: Comparison, prefix: str) -> None:
    """Set the widgets as an opened comparison has them."""
    found = cast(Photos | None, engine().get_input(opened.family, opened.input))
    known = {one.id for one in OFFERED}
    name = found.example if found else ""
    st.session_state[f"{prefix}.source"] = BUNDLED if name else OWN
    if name in known:
        st.session_state[f"{prefix}.photo"] = name


def _bundled(prefix: str, many: bool) -> Photos | None:
    if many:
        st.caption(f"{len(EXAMPLES)} photos of several kinds.")
        return _read(tuple(photo.id for photo in EXAMPLES))
    titles = {one.id: one.title for one in OFFERED}
    picked = str(
        st.selectbox(
            "Photo",
            list(titles),
            format_func=titles.__getitem__,
            key=f"{prefix}.photo",
            persist_state="session",
        )
    )
    found = _read((picked,))
    st.caption(next(one.about for one in OFFERED if one.id == picked))
    if found is not None:
        _look(found)
    return found


def _look(found: Photos) -> None:
    """The picture, or of several how many they are."""
    if len(found) == 1:
        st.image(found.image(0), width=220)
    else:
        st.caption(f"{len(found)} pictures.")


def _read(names: tuple[str, ...]) -> Photos | None:
    try:
        return _photos(names)
    except InputError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return None


@st.cache_resource(max_entries=16, show_spinner=False)
def _photos(names: tuple[str, ...]) -> Photos:
    return photos(names, settings())


def _own(opened: Comparison | None, prefix: str) -> Photos | None:
    files = st.file_uploader(
        "Pictures, or a zip of them",
        type=[ending[1:] for ending in (*inputs.readable(), inputs.ZIP)],
        accept_multiple_files=True,
        key=f"{prefix}.files",
        max_upload_size=max(1, round(settings().max_unpacked_mb)),
        help="PNG, JPEG, WebP, TIFF, BMP, GIF or AVIF; a zip may hold folders, which are classes.",
    )
    if not files:
        found = None if opened is None else engine().get_input(opened.family, opened.input)
        if isinstance(found, Photos) and not found.example:
            st.caption(f":material/image: The pictures that are shown below: {plain(found.title)}.")
            return found
        return None
    try:
        found = inputs.read([(file.name, file.getvalue()) for file in files], settings())
    except InputError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return None
    _look(found)
    return found
