"""What explainers by concepts rest on: the classes of the pictures, waited for, and a pool."""

from __future__ import annotations

from typing import cast

import streamlit as st

from backend.errors import InputError
from backend.explanation import Comparison, Explanation
from backend.images import plan
from backend.images.explanation import ImageExplanation, Photos
from backend.images.grounds import grounds
from backend.images.plan import Grounds
from components import trained_here
from components.plain import plain
from components.session import engine


def found(opened: Comparison, photos: Photos, prefix: str) -> Grounds | None:
    """The grounds; None while the pictures are classified, with the progress or the fault drawn."""
    got = trained_here.finished(plan.classify_request(opened), f"{prefix}.classes")
    if got is None:
        return None
    key, classes = got
    try:
        return _grounds((opened.input, key), opened, photos, classes)
    except InputError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return None


# The page runs twice a second while something is under way, and a pool is many photos.
@st.cache_resource(max_entries=16, show_spinner=False)
def _grounds(
    key: tuple[str, str],  # noqa: ARG001
    _opened: Comparison,
    _photos: Photos,
    _classes: Explanation,
) -> Grounds:
    return grounds(engine(), _opened, _photos, cast(ImageExplanation, _classes))
