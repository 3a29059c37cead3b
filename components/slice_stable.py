"""Which slices come back when a method is run with another seed, or on other samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import streamlit as st

from backend.catalogue import draws
from backend.concepts.bootstrap_table import bootstrapped, drawn
from backend.concepts.explanation import ConceptTable
from backend.concepts.slice_stability import BACK, SliceStability, Slicing, slice_stability
from backend.explanation import Comparison, Explanation, Request
from backend.stability import OFTEN
from components import stable
from components.compare import Item
from components.figures import slices
from components.figures.graph_parts import percent
from components.session import engine
from components.slice_views import found
from components.stable import SEEDS, Runs

BOOTSTRAP = "bootstrap"


def panel(opened: Comparison, table: ConceptTable, done: Sequence[Item], prefix: str) -> None:
    """Slice again with other seeds and on bootstrapped tables, and compare."""
    st.caption(
        "Seeds: the same table sliced again. Bootstrap: the table's samples drawn anew with "
        "replacement. Slices that come back are there; whether they mean something, known groups "
        "or a look at their members must say."
    )
    most = stable.asked(opened.key(), "Each run takes as long as the one above.", prefix)
    if most is None:
        return
    again = Resampled(table)
    by_seed: dict[str, Runs[SliceStability]] = {}
    by_bootstrap: dict[str, Runs[SliceStability]] = {}
    for item in done:
        name = item.request.explainer
        if draws(item.request):
            by_seed[name] = stable.repeated(item, item.request.at_seed, again.measured, most)
        by_bootstrap[name] = stable.repeated(item, again.request(item), again.measured, most)
    _table(done, by_seed, by_bootstrap)
    every = [*by_seed.values(), *by_bootstrap.values()]
    stable.pending([one for runs in every for one in runs.others], prefix)
    for item in done:
        _slices(
            item, by_seed.get(item.request.explainer), by_bootstrap[item.request.explainer], prefix
        )


class Resampled:
    """A table and its bootstraps."""

    def __init__(self, table: ConceptTable) -> None:
        self.table = table
        self.rows: dict[str, np.ndarray] = {}
        """Of a bootstrapped table, by its digest, the samples it is made of."""

    def request(self, item: Item) -> Callable[[int], Request]:
        """The same slicing of the table's bootstrap of a number from 1."""

        def asked(run: int) -> Request:
            digest = _stored(item.request.input, run - 1, self.table, item.request.family)
            self.rows[digest] = drawn(len(self.table), run - 1)
            return item.request.moved(digest, item.request.target)

        return asked

    def measured(self, runs: Sequence[Explanation]) -> SliceStability:
        """How alike slicings are, of the table or its bootstraps."""
        return slice_stability(
            [
                Slicing.of(
                    one.arrays["errors"],
                    one.arrays["slices"],
                    self.rows.get(one.source().request.input),
                )
                for one in runs
            ]
        )


@st.cache_resource(max_entries=32, show_spinner=False)
def _stored(whole: str, seed: int, _table: ConceptTable, family: str) -> str:  # noqa: ARG001
    """Digest of a bootstrapped table, stored."""
    return engine().put_input(bootstrapped(_table, seed), family)


def _table(
    done: Sequence[Item],
    by_seed: dict[str, Runs[SliceStability]],
    by_bootstrap: dict[str, Runs[SliceStability]],
) -> None:
    rows = []
    for item in done:
        bootstrap = _cells(BOOTSTRAP, by_bootstrap[item.request.explainer])
        seeds = stable.seed_cells(item, by_seed, _cells)
        rows.append({"method": item.title, **seeds, **bootstrap})
    st.dataframe(rows, hide_index=True, alt="Stability of each slicing")
    st.caption(
        "Agreement: adjusted Rand index, a mean over pairs of runs (1: the same slices, 0: as by "
        "chance); ± half its 95 % interval, by the jackknife over runs. Stable: slices of the "
        f"first run that come back, with an overlap above {percent(BACK)}, in at least "
        f"{percent(OFTEN)} of the others."
    )


def _cells(what: str, runs: Runs[SliceStability] | None) -> dict[str, Any]:
    known = runs is not None and len(runs.done) > 1
    measured = runs.measured if runs is not None and known else None
    return {
        f"{what}: runs": "" if runs is None else str(len(runs.done)),
        f"{what}: agreement": ""
        if measured is None
        else stable.give_or_take(measured.agreement, measured.half),
        f"{what}: stable": ""
        if measured is None
        else f"{int(measured.stable.sum())} of {len(measured.stable)}",
    }


def _slices(
    item: Item,
    seeds: Runs[SliceStability] | None,
    bootstrap: Runs[SliceStability],
    prefix: str,
) -> None:
    """Every slice of a method, and how often it comes back."""
    shown = found(item)
    over = {SEEDS: seeds, BOOTSTRAP: bootstrap}
    known = {n: runs.measured for n, runs in over.items() if runs and len(runs.done) > 1}
    if not known:
        return
    rows = []
    for number, one in enumerate(shown.values["slices"]):
        row: dict[str, Any] = {
            "slice": f"{number + 1} · {slices.headline(shown, one)}",
            "samples": int((shown.arrays["slices"] == number).sum()),
            "stable": all(bool(measured.stable[number]) for measured in known.values()),
        }
        for name, measured in known.items():
            row[f"{name}: overlap"] = _known(measured.overlap[number])
            row[f"{name}: comes back"] = _known(measured.back[number])
        rows.append(row)
    columns = cast(list[str], list(rows[0])) if rows else []
    st.markdown(f"**{item.title}**")
    st.dataframe(
        rows,
        hide_index=True,
        column_config={
            name: st.column_config.NumberColumn(
                format="percent" if name.endswith("back") else "%.2f"
            )
            for name in columns
            if ":" in name
        },
        key=f"{prefix}.slices.{item.request.explainer}",
        alt=f"How often each slice of {item.title} comes back",
    )


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
