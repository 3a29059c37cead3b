"""What a method with scales found: nested parts, what each carries, and how far to trust it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from components.compare import Item, pick
from components.figures import hierarchy
from components.graph_views import found, scaled
from components.plain import plain
from components.session import theme_name


def panel(items: Sequence[Item], prefix: str) -> None:
    """The hierarchy of one explanation with scales."""
    multi = scaled(items)
    if not multi:
        st.info(
            "None of the shown methods works at several scales; choose MSExplainer.",
            icon=":material/layers:",
        )
        return
    item = multi[0] if len(multi) == 1 else pick("Method", multi, f"{prefix}.method")
    shown = found(item)
    st.plotly_chart(
        hierarchy.scales(shown, theme_name()),
        theme=None,
        key=f"{prefix}.scales",
        alt="The key part at each scale",
    )
    left, right = st.columns(2, gap="medium")
    with left:
        st.plotly_chart(
            hierarchy.parts(shown, theme_name()),
            theme=None,
            key=f"{prefix}.parts",
            alt="The nested parts and the share of the decision each keeps",
        )
    with right:
        st.plotly_chart(
            hierarchy.carried(shown, theme_name()),
            theme=None,
            key=f"{prefix}.carried",
            alt="Share of the decision kept by the key part and lost with it",
        )
    _table(shown.values["scales"])
    for sentence in shown.values.get("guard", {}).get("report", ()):
        st.caption(f":material/shield: {plain(str(sentence))}")


def _table(scales: Sequence[dict[str, object]]) -> None:
    names = {
        "budget": "budget",
        "edges": "key edges",
        "joined": "edges that join",
        "kept": "probability, key part alone",
        "lost": "probability without it",
        "share_kept": "share of the decision kept",
        "share_lost": "share lost without it",
    }
    number = st.column_config.NumberColumn(format="%.3f")
    st.dataframe(
        [{title: scale.get(name) for name, title in names.items()} for scale in scales],
        hide_index=True,
        column_config={names[n]: number for n in ("kept", "lost", "share_kept", "share_lost")},
        alt="The scales in numbers",
    )
    st.caption(
        "All numbers are of graphs from which edges were deleted, with degrees computed anew; no "
        "soft masks. The key parts are nested, and key part and rest together are the whole graph."
    )
