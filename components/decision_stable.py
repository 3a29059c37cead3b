"""How far each method's explanation of a decision stays when its seed, or the table, changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import streamlit as st

from backend.concepts.bootstrap_table import bootstrapped
from backend.concepts.explanation import ConceptExplanation, ConceptTable
from backend.explanation import Comparison, Explanation, Request
from backend.stability import Stability
from components import stable
from components.compare import Item
from components.decision_views import RANKED
from components.session import engine


def panel(opened: Comparison, table: ConceptTable, done: Sequence[Item], prefix: str) -> None:
    """Explain again with other seeds and among other samples, and compare."""
    stable.panel(done, Shaken(table), opened.key(), prefix)


class Shaken:
    """The same sample in a table whose other samples are drawn anew."""

    about = (
        "Bootstrap: the table's other samples drawn anew with replacement; they are what a sample "
        "is compared with, and what a stand-in for a missing label head is fitted to."
    )
    change = "bootstrap"
    share = 0.25
    ranked = RANKED

    def __init__(self, table: ConceptTable) -> None:
        self.table = table

    def shaken(self, item: Item, run: int) -> Request:
        request = item.request
        sample = int(cast(ConceptExplanation, item.explanation).values["sample"])
        digest = _drawn(request.input, sample, run, self.table, request.family)
        return request.moved(digest, {**request.target, "sample": sample})

    def aligned(self, found: Sequence[Explanation]) -> list[np.ndarray]:
        return [one.arrays["scores"].astype(np.float64) for one in found]

    def drawn(self, first: Item, runs: Sequence[Explanation], measured: Stability) -> None:
        """Nothing more: the bars of mean and spread are the concepts' own drawing."""


@st.cache_resource(max_entries=64, show_spinner=False)
def _drawn(
    whole: str,  # noqa: ARG001
    sample: int,
    seed: int,
    _table: ConceptTable,
    family: str,
) -> str:
    """Digest of the table with its samples drawn anew, stored."""
    return engine().put_input(bootstrapped(_table, seed, sample), family)
