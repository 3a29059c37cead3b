"""Names and pins of slices: what a person calls one, kept beside its result in the store."""

from __future__ import annotations

import dataclasses
import json

import streamlit as st

from backend.bundle import digest
from components.permalink import PARAMETER
from components.plain import plain
from components.session import engine

KIND = "slicename"
LONGEST = 60
"""Characters of a name."""
_CHANGED = "slicename.changed"


@dataclasses.dataclass(frozen=True)
class Named:
    """A slice that has a name or is pinned."""

    explanation: str
    place: int
    """0 is the first in its ranking."""
    name: str
    comparison: str
    pinned: bool


def _key(explanation: str, place: int) -> str:
    return digest(b"slice", explanation.encode(), str(place).encode())


def find(explanation: str, place: int) -> Named | None:
    """What is known of a slice, or None."""
    data = engine().store.get(_key(explanation, place), KIND)
    return None if data is None else Named(**json.loads(data))


def put(named: Named) -> None:
    """Keep a slice's name and pin; a pinned one keeps its result in the store too."""
    store = engine().store
    key = _key(named.explanation, named.place)
    if not named.name and not named.pinned:
        store.delete(key, KIND)
    else:
        data = json.dumps(dataclasses.asdict(named)).encode()
        store.put(key, KIND, data, family="concepts", title=named.name)
    store.pin(key, KIND, named.pinned)
    kept = any(other.explanation == named.explanation for other in pinned())
    store.pin(named.explanation, "explanation", kept)


def pinned() -> list[Named]:
    """Every pinned slice, newest first."""
    store = engine().store
    found = []
    for entry in store.entries(KIND, "concepts"):
        data = store.get(entry.key, KIND) if entry.pinned else None
        if data is not None:
            found.append(Named(**json.loads(data)))
    return found


def editor(explanation: str, place: int, comparison: str, chosen: str, prefix: str) -> None:
    """A field for the name and a toggle for the pin.

    Args:
        chosen: key of the widget that picks the slice by its place.
    """
    known = find(explanation, place) or Named(explanation, place, "", comparison, pinned=False)
    key = f"{prefix}.{explanation[:12]}.{place}"
    name_column, pin_column = st.columns([3, 1], vertical_alignment="bottom")
    known = dataclasses.replace(known, comparison=comparison)
    name_column.text_input(
        "Name of this slice",
        value=known.name,
        max_chars=LONGEST,
        key=f"{key}.name",
        placeholder="e.g. faint stripes on water",
        on_change=_keep,
        args=(known, key, chosen),
    )
    pin_column.toggle(
        "Pin",
        value=known.pinned,
        key=f"{key}.pin",
        help="A pinned slice is listed on this page, and its result stays in the library.",
        on_change=_keep,
        args=(known, key, chosen),
    )
    if st.session_state.pop(_CHANGED, False):
        st.rerun()  # the list of pinned slices lies outside this fragment


def _keep(known: Named, key: str, chosen: str) -> None:
    """Store what the widgets say, before the options that carry the name are drawn again."""
    state = st.session_state
    put(dataclasses.replace(known, name=state[f"{key}.name"].strip(), pinned=state[f"{key}.pin"]))
    # The chosen option has other words now, and the browser knows options by their words.
    state[chosen] = known.place
    state[_CHANGED] = True


def listed() -> None:
    """The pinned slices, each a link to where it was found."""
    found = pinned()
    if not found:
        return
    with st.expander(f"Pinned slices ({len(found)})", icon=":material/keep:"):
        for one in found:
            title = one.name or f"Slice {one.place + 1}"
            address = f"/concepts?{PARAMETER}={one.comparison}"
            st.markdown(f"[{plain(title)}]({address}) · slice {one.place + 1}")
