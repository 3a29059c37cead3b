"""One slice at a time: its keywords, members and mistakes, and what setting a concept would do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from backend.concepts import intervene, membership
from backend.concepts.explanation import ConceptExplanation, ConceptTable
from backend.errors import VitrineError
from components import compare, slice_names
from components.compare import Item
from components.concept_gallery import gallery
from components.figures import slice_group, slices
from components.plain import plain
from components.session import theme_name
from components.slice_views import found

NO_KEYWORDS = "This method names no concepts; its mistakes and members have to speak."


@st.fragment
def panel(items: Sequence[Item], table: ConceptTable, comparison: str, prefix: str) -> None:
    """Pick a method and one of its slices, and see all there is to know about it.

    Args:
        comparison: key of what the page shows, for links back to it.
    """
    left, right = st.columns([1, 2])
    with left:
        item = compare.pick("Method", items, f"{prefix}.method")
    shown = found(item)
    slices_ = shown.values["slices"]
    key = shown.source().key
    chosen = f"{prefix}.slice.{key[:12]}"
    with right:
        place = st.selectbox(
            "Slice",
            range(len(slices_)),
            format_func=lambda i: _title(shown, key, i),
            key=chosen,
        )
    one = slices_[place]
    members = membership.members(shown, place)
    what, colon, why = one.get("reading", "").partition(":")
    told = f"**{what[0].upper()}{what[1:]}:** {plain(why)}" if colon else NO_KEYWORDS
    st.markdown(told)
    left, seen = st.columns([1.2, 1.3], gap="medium")
    with left:
        _keywords(shown, one)
        _mistakes(shown, one)
    with seen:
        st.markdown(f"**{len(members)} members**, the surest first")
        gallery(table, members, f"{prefix}.gallery.{key[:12]}.{place}")
        st.download_button(
            "Member list (CSV)",
            data=lambda: membership.numbers(table, shown, place),
            file_name=f"slice-{place + 1}-{key[:12]}.csv",
            mime="text/csv",
            icon=":material/download:",
            key=f"{prefix}.members",
            on_click="ignore",
        )
        slice_names.editor(key, place, comparison, chosen, f"{prefix}.name")
    digest = item.request.input
    intervention(table, digest, members, one, f"{prefix}.{key[:12]}.{place}")


def _title(shown: ConceptExplanation, key: str, place: int) -> str:
    one = shown.values["slices"][place]
    known = slice_names.find(key, place)
    words = known.name if known and known.name else slices.headline(shown, one, 3)
    return f"{place + 1} · {words} · {one['size']} members"


def _keywords(shown: ConceptExplanation, one: dict[str, Any]) -> None:
    if not one["keywords"]:
        return
    rows = [
        {
            "keyword": slices.word(shown, keyword),
            "predicted": keyword["predicted"],
            "true": keyword["true"],
            "weight": keyword["score"],
        }
        for keyword in one["keywords"]
    ]
    bar = st.column_config.ProgressColumn(min_value=0.0, max_value=1.0, format="%.2f")
    st.dataframe(
        rows,
        hide_index=True,
        column_config={
            "predicted": bar,
            "true": bar,
            "weight": st.column_config.NumberColumn(
                format="%.2f", help="Change of the membership when the concept is set, nats."
            ),
        },
        alt="Keywords of the slice",
    )
    st.caption(
        "Predicted and true: how often the members are said to have the concept, and how often "
        "they have it. ✗: mispredicted, the two lie on different sides of one half."
    )


def _mistakes(shown: ConceptExplanation, one: dict[str, Any]) -> None:
    names = shown.values["class_names"]
    st.dataframe(
        [
            {"true": names[a], "predicted": names[b], "members": n}
            for a, b, n in one["confusion"][:12]
        ],
        hide_index=True,
        alt="Confusion of the slice",
    )


@st.cache_resource(max_entries=8, show_spinner=False)
def _ready(digest: str, _table: ConceptTable) -> intervene.Ready:  # noqa: ARG001  the key
    return intervene.Ready.of(_table)


def intervention(
    table: ConceptTable, digest: str, members: np.ndarray, one: dict[str, Any], prefix: str
) -> None:
    """Set concepts to their true value, for the slice or for all, and see accuracy move."""
    st.markdown("**Intervene:** what would the model say if it knew these concepts?")
    suggested = [] if one.get("failing") is None else [one["failing"]]
    left, right = st.columns([2, 1])
    chosen = left.multiselect(
        "Concepts set to their true value",
        range(len(table.concept_names)),
        default=suggested,
        format_func=lambda j: table.concept_names[j],
        key=f"{prefix}.set",
    )
    whole = right.segmented_control(
        "For", ("This slice", "All samples"), default="This slice", required=True,
        key=f"{prefix}.for",
    )  # fmt: skip
    rows = None if whole == "All samples" else members
    try:
        ready = _ready(digest, table)
        if chosen:
            _outcome(intervene.intervene(table, chosen, rows, ready=ready))
        gains = sorted(intervene.each(table, rows, ready=ready), key=lambda gain: gain.concept)
    except VitrineError as error:
        st.warning(plain(str(error)), icon=":material/block:")
        return
    means = np.array([gain.gain.mean or 0.0 for gain in gains])
    ends = np.array([[gain.gain.low or m, gain.gain.high or m] for gain, m in zip(
        gains, means, strict=True
    )])  # fmt: skip
    where = "the slice" if rows is not None else "all samples"
    st.plotly_chart(
        slice_group.gains(
            table.concept_names,
            means,
            ends,
            "One concept at a time",
            [f"accuracy on {where}, 95 % bootstrap intervals"],
            theme_name(),
        ),
        theme=None,
        key=f"{prefix}.gains",
        alt="Change of task accuracy by concept",
    )
    st.caption(
        "Each bar: that concept alone is set to its true value. A long bar is where better "
        "concept predictions pay; no bar anywhere means the label head is at fault."
    )


def _outcome(outcome: intervene.Outcome) -> None:
    with st.container(horizontal=True, gap="medium"):
        for name, before, after, gain in (
            (f"These {outcome.rows:,} samples", outcome.before, outcome.after, outcome.gain),
            ("All samples", outcome.all_before, outcome.all_after, outcome.all_gain),
        ):
            ends = ""
            if gain.low is not None and gain.high is not None:
                ends = f"95 % interval of the change: {gain.low:+.1%} to {gain.high:+.1%}"
            st.metric(
                f"Accuracy, {name[0].lower()}{name[1:]}",
                f"{after:.1%}",
                f"{after - before:+.1%} from {before:.1%}",
                help=ends or None,
                border=True,
                width="content",
            )
    if outcome.gain.low is not None and outcome.gain.high is not None:
        st.caption(
            f"{outcome.fixed} fixed, {outcome.broken} broken. Change on these samples "
            f"{outcome.gain.mean:+.1%} [{outcome.gain.low:+.1%}, {outcome.gain.high:+.1%}]. "
            f"{outcome.caution}"
        )
