"""Samples of a table on the screen: pictures with what is true and what was said, or rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from backend.concepts.explanation import ConceptTable

WIDTH = 76
"""Pixels of a thumbnail."""
PAGE = 24
EDGE = 4
"""Pixels around an enlarged picture."""


def caption(table: ConceptTable, sample: int) -> str:
    """What is true and what was predicted, in a few characters."""
    names = table.class_names
    true, said = (int(table.arrays[name][sample]) for name in ("labels", "predictions"))
    return names[true] if true == said else f"{names[true]} → {names[said]}"


def gallery(table: ConceptTable, samples: np.ndarray, key: str) -> None:
    """The samples a page at a time: pictures where there are some, else rows."""
    pages = max(1, -(-len(samples) // PAGE))
    at = 0
    if pages > 1:
        at = int(
            st.number_input(
                f"Page of {pages}",
                min_value=1,
                max_value=pages,
                value=1,
                key=f"{key}.page",
                width=160,
            )
        )
        at -= 1
    shown = samples[at * PAGE : (at + 1) * PAGE]
    if "images" not in table.arrays:
        st.dataframe(
            [row(table, int(i)) for i in shown], hide_index=True, alt="Members of the slice"
        )
        return
    st.image(
        [enlarged(table.arrays["images"][i]) for i in shown],
        caption=[caption(table, int(i)) for i in shown],
        width=WIDTH,
    )


def enlarged(picture: np.ndarray) -> np.ndarray:
    """A small picture [h, w, 3] as RGBA, made larger without blur: its pixels stay visible."""
    times = max(1, round(2 * WIDTH / picture.shape[1]))
    large = picture.repeat(times, axis=0).repeat(times, axis=1)
    solid = np.full((*large.shape[:2], 1), 255, dtype=np.uint8)
    # A clear edge keeps pictures apart that stand side by side.
    return np.pad(np.concatenate([large, solid], axis=2), ((EDGE, EDGE), (EDGE, EDGE), (0, 0)))


def row(table: ConceptTable, sample: int) -> dict[str, Any]:
    """One sample as a line of a table."""
    arrays, probabilities = table.arrays, table.probabilities[sample]
    line: dict[str, Any] = {"sample": sample}
    if table.references:
        line["reference"] = table.references[sample]
    line |= {
        "true": table.class_names[int(arrays["labels"][sample])],
        "predicted": table.class_names[int(arrays["predictions"][sample])],
    }
    wrong = np.flatnonzero((probabilities > 0.5) != (arrays["concepts"][sample] > 0))
    line["wrong concepts"] = ", ".join(table.concept_names[j] for j in wrong) or "none"
    line["true concepts"] = ", ".join(
        table.concept_names[j] for j in np.flatnonzero(arrays["concepts"][sample] > 0)
    )
    return line


def samples(table: ConceptTable, key: str) -> None:
    """What the model saw and said: all samples, or the wrong predictions only."""
    only = st.segmented_control(
        "Show", ("Wrong predictions", "All"), default="Wrong predictions", required=True, key=key
    )
    chosen = table.errors if only == "Wrong predictions" else np.arange(len(table))
    if not len(chosen):
        st.info("No prediction is wrong.", icon=":material/check_circle:")
        return
    gallery(table, chosen, f"{key}.{only}")
