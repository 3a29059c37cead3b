"""Take results away: figures, numbers, and the card with all it takes to reproduce them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, cast

import streamlit as st

from backend.explanation import Explanation, Request
from components.compare import Item, pick
from components.figures import render
from components.picture import Draw, picture
from components.plain import plain
from components.session import engine

SCORES = "Scores"
MIME = {
    "png": "image/png",
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
    "html": "text/html",
    "json": "application/json",
    "csv": "text/csv",
    "card": "text/html",
    "safetensors": "application/octet-stream",
}


class Files(Protocol):
    """What a family's explanations are written as: its module `files`."""

    def numbers(self, explanation: Any) -> bytes:
        """CSV."""

    def values(self, explanation: Any) -> bytes:
        """JSON."""

    def arrays(self, explanation: Any) -> bytes:
        """safetensors."""

    def card(self, explanation: Any, given: Any, picture: bytes) -> bytes:
        """The explanation card; `given` is the input."""

    def command(self, request: Request, given: Any) -> str:
        """The command line that gives the explanation again."""


def panel(
    compared: Sequence[Item],
    family: str,
    files: Files,
    prefix: str,
    more: Mapping[str, Mapping[str, Draw]] | None = None,
) -> None:
    """Pick a result, then download its figure, its numbers or its card.

    Args:
        more: further figures of an explainer, by its id and what each shows.
    """
    done = [item for item in compared if item.explanation is not None]
    if not done:
        st.info("Nothing to export yet.", icon=":material/download:")
        return
    item = pick("Result", done, f"{prefix}.which")
    theme = st.segmented_control(
        "Figure theme", ("light", "dark"), default="light", required=True, key=f"{prefix}.theme"
    )
    found = cast(Explanation, item.explanation)
    draw, shows = _which((more or {}).get(item.request.explainer, {}), prefix)
    given = engine().get_input(family, item.request.input)
    name = f"{item.request.explainer}-{found.source().key[:12]}"
    with st.container(horizontal=True):
        for kind, hint in render.capabilities().items():
            if kind != "json":
                make = partial(picture, found, kind, str(theme), draw)
                _button(f"{name}{shows}", kind, make, hint)
    with st.container(horizontal=True):
        _button(name, "csv", partial(files.numbers, found))
        _button(name, "json", partial(files.values, found))
        _button(name, "safetensors", partial(files.arrays, found))
        if given is not None:
            _button(
                name,
                "card",
                lambda: files.card(found, given, picture(found, "svg")),
                label="Explanation card",
            )
    hints = {hint for hint in render.capabilities().values() if hint}
    for hint in hints:
        st.caption(f":material/info: {plain(hint)}")
    if given is not None:
        st.caption("The command that reproduces this result:")
        st.code(files.command(found.source().request, given), language="bash", wrap_lines=True)


def _which(further: Mapping[str, Draw], prefix: str) -> tuple[Draw | None, str]:
    """The figure that is taken away, and what its file's name tells of it."""
    if not further:
        return None, ""
    shown = st.segmented_control(
        "Figure", (SCORES, *further), default=SCORES, required=True, key=f"{prefix}.figure"
    )
    if shown is None or shown == SCORES:
        return None, ""
    return further[shown], f"-{shown.lower().replace(' ', '-')}"


def _button(
    name: str, kind: str, make: Callable[[], bytes], hint: str = "", label: str = ""
) -> None:
    """A download whose file is made at the click, off the page's own thread."""
    ending = "html" if kind == "card" else kind
    stem = f"{name}-card" if kind == "card" else name
    st.download_button(
        label or kind.upper(),
        data=make,
        file_name=f"{stem}.{ending}",
        mime=MIME[kind],
        key=f"export.{name}.{kind}",
        icon=":material/download:",
        help=hint or None,
        on_click="ignore",
    )
