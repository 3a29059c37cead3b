"""How far methods agree on one input: matrix, consensus, and what they rank differently."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import streamlit as st

from backend import agreement, consensus
from backend.explanation import Explanation
from components.compare import Item
from components.figures import scores
from components.frame import wide
from components.plain import plain
from components.session import theme_name

MEASURES: Mapping[str, agreement.Measure] = {
    "Rank correlation (Spearman)": "spearman",
    "Top-k overlap": "overlap",
    "Sign agreement": "sign",
}
MOST_APART = 10
"""Positions listed of those about which methods disagree."""


@dataclasses.dataclass(frozen=True)
class Ranked:
    """What a family's attributions rank: a word for one of them, and the name of each."""

    what: str
    names: Callable[[Any], Sequence[str]]
    signed: Callable[[Any], bool] = lambda _: True
    drawn: Callable[[Item, str], None] | None = None
    """Draws an item's explanation by itself on one colour scale, under a key."""
    listed: bool = True
    """Whether single ones are worth a list; pixels are not."""


def agree(compared: Sequence[Item], ranked: Ranked, prefix: str) -> None:
    """How far the methods agree, and for two of them what they rank differently."""
    done = [
        item
        for item in compared
        if item.explanation is not None and item.explainer.role == "attribution"
    ]
    if len(done) < 2:
        st.info("Agreement needs two finished explainers.", icon=":material/join_inner:")
        return
    names = [item.title for item in done]
    maps = [item.explanation.compared() for item in done if item.explanation]
    signed = [ranked.signed(item.explanation) for item in done]
    found = agreement.agreement(names, maps, signed=signed)
    kind = st.segmented_control(
        "Measure", list(MEASURES), default=next(iter(MEASURES)), required=True,
        key=f"{prefix}.measure",
    )  # fmt: skip
    measure = MEASURES[str(kind)]
    event = wide(f"{prefix}.matrix").plotly_chart(
        scores.agreement(
            names,
            found.matrix(measure),
            theme=theme_name(),
            title=str(kind),
            ends=found.ends(measure),
        ),
        theme=None,
        key=f"{prefix}.matrix",
        on_select="rerun",
        selection_mode="points",
        alt=f"Agreement of the methods: {kind}",
    )
    st.caption(
        f"Below a number, or where you point: its 95 % interval, as though the {ranked.what}s were "
        "drawn independently. Over many inputs, a study has intervals that do not suppose that."
    )
    for reason in sorted({why for (of, *_), why in found.reasons.items() if of == measure}):
        st.caption(f"Not defined: {plain(reason)}")
    _apart(done, ranked, prefix)
    if ranked.listed:
        _differences(done, event, ranked, prefix)


def _apart(done: Sequence[Item], ranked: Ranked, prefix: str) -> None:
    """Where the methods disagree: the spread of their ranks, drawn on what they explain."""
    joint = next((item for item in done if item.request.explainer == consensus.ID), None)
    if joint is None:
        st.info(
            "Add **Consensus** to the explainers for the mean of their rankings, scored like any "
            "method, and a map of where they disagree.",
            icon=":material/join_inner:",
        )
        return
    whole = cast(Explanation, joint.explanation)
    apart = whole.arrays["disagreement"]
    st.markdown(f"**Where {len(whole.values['members'])} methods disagree**")
    st.caption(
        f"Standard deviation of a {ranked.what}'s rank over the methods, from 0, where all put it "
        "at one place, to 0.5, where half put it first and half last."
    )
    if ranked.drawn is not None:
        ranked.drawn(dataclasses.replace(joint, explanation=disagreement(whole)), f"{prefix}.apart")
    if not ranked.listed:
        return
    words, scored = ranked.names(whole), whole.arrays["scores"]
    order = np.argsort(-np.nan_to_num(apart, nan=-1.0), kind="stable")[:MOST_APART]
    st.dataframe(
        [
            {
                ranked.what: words[p],
                "position": int(p),
                "disagreement": float(apart[p]),
                "mean rank": float(scored[p]),
            }
            for p in order.tolist()
            if np.isfinite(apart[p])
        ],
        hide_index=True,
        column_config=dict.fromkeys(
            ("disagreement", "mean rank"), st.column_config.NumberColumn(format="%.3f")
        ),
        alt=f"The {ranked.what}s about which the methods disagree most",
    )


def disagreement(joint: Explanation) -> Explanation:
    """A consensus with its disagreement in the place of its scores."""
    arrays = {**joint.arrays, "scores": joint.arrays["disagreement"]}
    return dataclasses.replace(joint, arrays=arrays)


def _differences(done: Sequence[Item], event: Any, ranked: Ranked, prefix: str) -> None:
    names = [item.title for item in done]
    clicked = [p for p in event.selection.points if p.get("customdata")] if event else []
    first, second = names[0], names[1]
    if clicked:
        first, second = clicked[0]["customdata"][:2]
    left, right = st.columns(2)
    a = left.selectbox(
        "Compare", names, index=names.index(first), key=f"{prefix}.a.{first}.{second}"
    )
    b = right.selectbox(
        "with", names, index=names.index(second), key=f"{prefix}.b.{first}.{second}"
    )
    if a == b:
        st.caption("Choose two different methods, or click a cell of the matrix.")
        return
    one, other = (cast(Explanation, done[names.index(n)].explanation) for n in (a, b))
    x, y = one.arrays["scores"], other.arrays["scores"]
    differing = agreement.differing(x, y, 10)
    if not differing:
        st.caption(f"These two rank all {ranked.what}s alike.")
        return
    st.caption(
        f"What these two rank most differently ({ranked.what}s); a click on the matrix picks the "
        "pair."
    )
    words = ranked.names(one)
    st.dataframe(
        [
            {
                ranked.what: words[p],
                "position": p,
                f"rank by {a}": _rank(x, p),
                f"rank by {b}": _rank(y, p),
                f"score by {a}": float(x[p]),
                f"score by {b}": float(y[p]),
            }
            for p in differing
        ],
        hide_index=True,
        alt=f"Ranked differently by {a} and {b}",
    )


def _rank(values: np.ndarray, position: int) -> int:
    return int(np.sum(values > values[position])) + 1
