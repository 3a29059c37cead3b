"""A file of prompts that a person brings: its upload, and the column of a table."""

from __future__ import annotations

import streamlit as st

from backend.settings import settings
from backend.tokens import inputs
from backend.tokens.entries import Brought


def brought(prefix: str) -> tuple[tuple[Brought, ...], str] | None:
    """The prompts of the file and its name; None while there is none.

    Raises:
        InputError: it cannot be used; the text says where and what to do.
    """
    file = st.file_uploader(
        "A file of prompts",
        type=[ending[1:] for ending in inputs.ENDINGS],
        key=f"{prefix}.file",
        max_upload_size=max(1, round(settings().max_upload_mb)),
        help="In .json and .jsonl a prompt may mark its evidence (`gold`) and give the answer to "
        "explain (`answer`); in .csv a column `answer` does.",
    )
    if file is None:
        return None
    data, column = file.getvalue(), None
    if file.name.lower().endswith(".csv"):
        column = st.selectbox("Column", inputs.columns(file.name, data), key=f"{prefix}.column")
    return inputs.brought(file.name, data, settings(), column), file.name
