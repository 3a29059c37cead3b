"""Bring a table of predictions: its columns, its label head, its pictures."""

from __future__ import annotations

from typing import Any

import streamlit as st

from backend.concepts import heads, inputs, tabular, thumbnails
from backend.concepts.columns import Mapping
from backend.concepts.explanation import Bottleneck, ConceptTable
from backend.errors import InputError
from backend.settings import settings
from backend.tables.frame import Frame
from components.concept_columns import mapping
from components.held_file import File, held_file
from components.plain import plain

AUTOMATIC = "automatic"
_KEEP: dict[str, Any] = {"persist_state": "session"}
_TEMPLATE = """\
image,label,prediction,place,prob_red,true_red,prob_round,true_round,prob_stem,true_stem
0.png,apple,apple,table,0.97,1,0.97,1,0.88,1
1.png,apple,apple,table,0.91,1,0.94,1,0.73,1
2.png,apple,brick,floor,0.95,1,0.21,1,0.08,1
3.png,apple,apple,table,0.12,0,0.96,1,0.90,1
4.png,apple,brick,floor,0.88,1,0.34,1,0.15,0
5.png,apple,apple,table,0.83,1,0.89,1,0.12,0
6.png,brick,brick,floor,0.92,1,0.04,0,0.02,0
7.png,brick,brick,floor,0.79,1,0.11,0,0.03,0
8.png,brick,apple,table,0.94,1,0.67,0,0.05,0
9.png,brick,brick,floor,0.35,0,0.02,0,0.01,0
10.png,brick,brick,floor,0.90,1,0.05,0,0.04,0
11.png,brick,apple,table,0.86,1,0.58,0,0.61,0
"""


def template() -> bytes:
    """A small table as .csv, with each kind of column that is read."""
    return _TEMPLATE.encode()


def uploaded(prefix: str) -> ConceptTable | None:
    """The table as the widgets have it; None while there is none, with the reason shown."""
    file = held_file(
        f"{prefix}.table",
        "A table of predictions",
        inputs.ENDINGS,
        "A row a sample: the predicted and the true value of each concept, the true class and the "
        "predicted one.",
        settings().max_table_mb,
    )
    st.download_button(
        "Template (.csv)",
        template(),
        "concepts.csv",
        "text/csv",
        icon=":material/download:",
        key=f"{prefix}.template",
        on_click="ignore",
        type="tertiary",
    )
    if file is None:
        st.caption("Bring a table, or fill in the template.")
        return None
    try:
        frame = _frame(*file)
        columns = mapping(prefix, frame)
        head, images, bottleneck = _beside(prefix)
        table = _table(file, columns.model_dump_json(), bottleneck, head, images)
    except InputError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return None
    _say(table)
    return table


@st.cache_resource(max_entries=4, show_spinner="Reading the table")
def _frame(name: str, data: bytes) -> Frame:
    return inputs.read(name, data, settings())


@st.cache_resource(max_entries=4, show_spinner="Reading the table")
def _table(
    file: File, columns: str, bottleneck: Bottleneck | None, head: File | None, images: File | None
) -> ConceptTable:
    table = tabular.build(_frame(*file), Mapping.model_validate_json(columns), bottleneck)
    if head is not None:
        read = heads.read(*head, table, settings())
        table = heads.attach(table, read, bottleneck, head[0])
    if images is not None:
        table = thumbnails.attach(table, *images, settings())
    return table


def _beside(prefix: str) -> tuple[File | None, File | None, Bottleneck | None]:
    """The optional files, and what the label head reads."""
    with st.expander("Label head and pictures", icon=":material/attach_file:"):
        head = held_file(
            f"{prefix}.head",
            "Label head (optional)",
            heads.ENDINGS,
            "The layers between concepts and classes. Without it a linear head is fitted to the "
            "predictions where a method needs one.",
            settings().max_table_mb,
        )
        images = held_file(
            f"{prefix}.images",
            "Pictures (optional)",
            (".zip",),
            "PNG and JPEG files, each named after its sample's reference or row.",
            settings().max_table_mb,
        )
        chosen = st.segmented_control(
            "The label head reads",
            (AUTOMATIC, "hard", "soft"),
            default=AUTOMATIC,
            required=True,
            key=f"{prefix}.bottleneck",
            help="hard: concepts thresholded at one half. soft: their logits. automatic: what fits "
            "a label head better, else hard.",
            **_KEEP,
        )
    kinds: dict[str, Bottleneck | None] = {"hard": "hard", "soft": "soft"}
    return head, images, kinds.get(str(chosen))


def _say(table: ConceptTable) -> None:
    st.caption(
        f"{len(table):,} samples, {len(table.concept_names):,} concepts, "
        f"{len(table.class_names):,} classes; {len(table.errors):,} predicted wrongly."
    )
    notes = table.origin.get("notes")
    if isinstance(notes, list) and notes:
        st.info(
            "\n".join(f"- {plain(str(note))}" for note in notes), icon=":material/sticky_note_2:"
        )
