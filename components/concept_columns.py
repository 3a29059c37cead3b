"""Which column is what: a form that starts from the guess."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from backend.concepts.columns import ClassColumn, ConceptColumns, Mapping, Scale
from backend.concepts.guess import guess
from backend.tables.frame import Frame

EXCERPT_ROWS = 5
EXCERPT_COLUMNS = 60
_KEEP: dict[str, Any] = {"persist_state": "session"}
_PAIR = {"name": "Concept", "predicted": "Predicted column", "truth": "True column"}
_SCORE = {"name": "Class", "column": "Column of its score"}


def mapping(prefix: str, frame: Frame) -> Mapping:
    """The mapping of the columns, as guessed and as changed here."""
    state = f"{prefix}.mapping"
    names = tuple(frame.columns)
    known = st.session_state.get(state)
    if known is None or known["names"] != (frame.name, names):
        guessed = guess(frame)
        known = {"names": (frame.name, names), "guess": guessed, "base": guessed, "now": guessed}
        known["round"] = st.session_state.get(f"{prefix}.round", 0) + 1
        st.session_state[f"{prefix}.round"] = known["round"]
    key = f"{prefix}.map{known['round']}"
    if f"{key}.concepts" not in st.session_state:
        # A fresh page: the editors start from what they last said.
        known["base"] = known["now"]
    with st.expander("Columns", icon=":material/view_column:", expanded=not known["now"].concepts):
        known["now"] = _mapping(key, frame, known["base"])
        st.dataframe(
            pd.DataFrame({"Column": names, "Guess": [_reason(known["guess"], c) for c in names]}),
            hide_index=True,
            height=180,
        )
        excerpt = {c: frame.columns[c][:EXCERPT_ROWS] for c in names[:EXCERPT_COLUMNS]}
        st.caption("First rows")
        st.dataframe(pd.DataFrame(excerpt), hide_index=True)
    st.session_state[state] = known
    now: Mapping = known["now"]
    return now


def _reason(guessed: Mapping, column: str) -> str:
    return guessed.reasons.get(column, "not used")


def _mapping(key: str, frame: Frame, base: Mapping) -> Mapping:
    left, right = st.columns(2)
    with left:
        label = _one(f"{key}.label", "True class", frame, base.label)
        group = _one(f"{key}.group", "Known group", frame, base.group)
        scale = _scale(f"{key}.scale", "Predicted concepts are", base.scale)
    with right:
        prediction = _one(f"{key}.prediction", "Predicted class", frame, base.prediction)
        reference = _one(f"{key}.reference", "Name of the sample", frame, base.reference)
        class_scale = _scale(f"{key}.class_scale", "Scores of classes are", base.class_scale)
    pairs = _rows(f"{key}.concepts", _PAIR, frame, [c.model_dump() for c in base.concepts])
    scores = _rows(f"{key}.classes", _SCORE, frame, [c.model_dump() for c in base.classes])
    return Mapping(
        concepts=tuple(ConceptColumns(**row) for row in pairs),
        scale=scale,
        label=label,
        prediction=prediction,
        classes=tuple(ClassColumn(**row) for row in scores),
        class_scale=class_scale,
        group=group,
        reference=reference,
    )


def _one(key: str, label: str, frame: Frame, chosen: str | None) -> str | None:
    st.session_state.setdefault(key, chosen)
    found: str | None = st.selectbox(
        label, list(frame.columns), index=None, key=key, placeholder="none", **_KEEP
    )
    return found


def _scale(key: str, label: str, chosen: Scale) -> Scale:
    st.session_state.setdefault(key, chosen)
    words = {"probability": "probabilities", "logit": "logits"}
    found = st.segmented_control(
        label, list(words), format_func=lambda w: words[w], required=True, key=key, **_KEEP
    )
    return "logit" if found == "logit" else "probability"


def _rows(
    key: str, titles: dict[str, str], frame: Frame, rows: list[dict[str, Any]]
) -> list[dict[str, str]]:
    """An editable table of names and columns; a row that is not complete is left out."""
    options = list(frame.columns)
    edited = st.data_editor(
        pd.DataFrame(rows, columns=list(titles), dtype=object),
        key=key,
        num_rows="dynamic",
        hide_index=True,
        height=220 if len(rows) > 4 else "auto",
        column_config={
            field: st.column_config.TextColumn(title, required=True)
            if field == "name"
            else st.column_config.SelectboxColumn(title, options=options, required=True)
            for field, title in titles.items()
        },
    )
    found = edited.to_dict("records")
    return [
        {field: str(row[field]) for field in titles}
        for row in found
        if all(isinstance(row[field], str) and row[field].strip() for field in titles)
    ]
