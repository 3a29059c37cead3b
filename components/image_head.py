"""A head of one's own: the classes of the pictures' folders, in place of the model's."""

from __future__ import annotations

from typing import cast

import streamlit as st

from backend import made
from backend.errors import InputError, ModelError
from backend.explainer import Family
from backend.explanation import Comparison, ModelRef, Request
from backend.images import head, headed
from backend.images.explanation import ImageExplanation, Photos
from backend.images.fit_head import FitHead
from backend.models import config, find_folder
from backend.settings import settings
from components import trained_here
from components.plain import plain
from components.session import engine


def fitted(
    base: ModelRef | None, given: Photos | None, family: Family, prefix: str
) -> ModelRef | None:
    """The model with a head fitted on the folders where that is asked for, else as it is.

    None while the head is fitted, with the progress or the fault drawn.
    """
    if base is None or given is None or not _can(base, given, family):
        return base
    asked = st.toggle(
        "Classes of my folders",
        key=f"{prefix}.head",
        help="Fit a linear head that tells your folders apart; the rest of the model stays.",
        persist_state="session",
    )
    if not asked:
        return base
    request = Request(
        family=family.id,
        explainer=FitHead.id,
        model=base,
        input=engine().put_input(given, family.id),
    )
    got = trained_here.finished(request, f"{prefix}.head")
    if got is None:
        return None
    key, found = got
    values = found.values
    st.caption(
        f"{len(values['classes'])} classes. Of pictures left out {values['accuracy']:.0%} are "
        f"judged rightly; always the largest class would be {values['majority']:.0%}."
    )
    try:
        _make(key, base, family, cast(ImageExplanation, found))
    except (ModelError, OSError, ValueError) as error:
        st.error(plain(f"The head could not be kept: {error}"), icon=":material/error:")
        return None
    return ModelRef(source="made", name=key, precision=base.precision)


def known(opened: Comparison | None, family: Family, prefix: str) -> dict[str, ModelRef]:
    """The models made so far that this session has shown, by title."""
    found: dict[str, ModelRef] = st.session_state.setdefault(f"{prefix}.made", {})
    if opened is not None and opened.model.source == "made":
        found[title(opened.model, family)] = opened.model.model_copy(
            update={"precision": "float32"}
        )
    return found


def title(ref: ModelRef, family: Family) -> str:
    """A model that was made, by its classes."""
    try:
        names = (config(ref, family, settings()) or {}).get("id2label", {})
    except ModelError:
        return "A head that is no longer kept"
    return f"Head for {', '.join(list(names.values())[:4])}{', …' if len(names) > 4 else ''}"


def _can(base: ModelRef, given: Photos, family: Family) -> bool:
    try:
        head.check(given)
        known = config(base, family, settings())
    except (InputError, ModelError):
        return False
    return base.source != "made" and FitHead().supports(known or {}, given) is None


def _make(key: str, base: ModelRef, family: Family, found: ImageExplanation) -> None:
    source = find_folder(base, family, settings())
    if source is None:
        raise ModelError(f"{base.label()} is no longer there.")
    values, arrays = found.values, found.arrays
    parts = (values["classes"], values["layer"], arrays["weight"], arrays["bias"])
    made.make(
        key,
        settings(),
        lambda folder: headed.write(source, folder, *parts, architecture=values["architecture"]),
    )
