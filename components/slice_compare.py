"""Two slicings beside each other: which slice is which, and who moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import streamlit as st

from backend.concepts.explanation import ConceptExplanation
from backend.concepts.match_slices import match
from backend.errors import VitrineError
from components.compare import Item
from components.figures import slice_group, slices
from components.frame import wide
from components.plain import plain
from components.session import engine, explanation, theme_name
from components.slice_views import found

MOST_STORED = 50
"""Newest library entries that are looked at for slicings of the same table."""


def panel(items: Sequence[Item], prefix: str) -> None:
    """Pick two slicings: of this page, or of the library on the same table."""
    runs = {item.title: found(item) for item in items} | _stored(items)
    if len(runs) < 2:
        st.info(
            "Comparing needs two slicings of this table: add a method, or run one with another "
            "seed; earlier runs in the library are offered here.",
            icon=":material/compare_arrows:",
        )
        return
    left, right = st.columns(2)
    names = list(runs)
    first = left.selectbox("Compare", names, index=0, key=f"{prefix}.first")
    other = right.selectbox("with", names, index=1, key=f"{prefix}.other")
    if first == other:
        st.caption("Choose two different slicings.")
        return
    _matched(first, runs[first], other, runs[other], prefix)


def _matched(
    first: str, one: ConceptExplanation, other: str, two: ConceptExplanation, prefix: str
) -> None:
    try:
        matched = match(one, two)
    except VitrineError as error:
        st.warning(plain(str(error)), icon=":material/block:")
        return
    st.caption(
        f"Adjusted Rand index {matched.ari:.2f} over {matched.samples} samples in both (1: the "
        f"same slices, 0: as by chance); {len(matched.moved)} samples are not in the counterpart "
        "of their slice."
    )
    wide(f"{prefix}.cross").plotly_chart(
        slice_group.crossed(
            matched.table,
            [f"{i + 1} · {slices.headline(one, s)}" for i, s in enumerate(one.values["slices"])],
            [str(j + 1) for j in range(matched.table.shape[1])],
            f"{first} against {other}",
            ["cells: members in both slices"],
            theme_name(),
            (f"slice of {other}", f"slice of {first}"),
        ),
        theme=None,
        key=f"{prefix}.cross",
        alt=f"Members shared by the slices of {first} and {other}",
    )
    st.dataframe(
        [
            {
                f"slice of {first}": f"{pair.first + 1} · "
                + slices.headline(one, one.values["slices"][pair.first]),
                f"slice of {other}": f"{pair.other + 1} · "
                + slices.headline(two, two.values["slices"][pair.other]),
                "shared": pair.shared,
                "overlap": pair.overlap,
            }
            for pair in matched.pairs
        ],
        hide_index=True,
        column_config={"overlap": st.column_config.NumberColumn(format="%.2f")},
        alt="Slices that belong together",
    )
    st.caption("Overlap: members in both over members in either.")


def _stored(items: Sequence[Item]) -> dict[str, ConceptExplanation]:
    """Slicings of the same table in the library that are not on this page."""
    shown = {found(item).source().key for item in items}
    table = items[0].request.input
    known = {item.request.explainer: item.title for item in items}
    runs = {}
    for entry in engine().store.entries("explanation", "concepts")[:MOST_STORED]:
        if entry.key in shown or not _slices(str(entry.meta.get("explainer", ""))):
            continue
        stored = explanation(entry.key)
        if stored is None or stored.source().request.input != table:
            continue
        request = stored.source().request
        title = known.get(request.explainer, request.explainer)
        settings = ", ".join(f"{k} {v}" for k, v in request.parameters.items())
        runs[f"{title}, seed {request.seed} ({settings[:60]}) {entry.key[:6]}"] = cast(
            ConceptExplanation, stored
        )
    return runs


def _slices(explainer: str) -> bool:
    from backend.catalogue import catalogue

    try:
        return catalogue()["concepts"].find(explainer).role == "slicing"
    except KeyError:
        return False
