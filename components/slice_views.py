"""The views of slices: one panel a method, known groups, and how the slices were found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import streamlit as st

from backend.concepts import plan, slice_metrics, slice_table
from backend.concepts.explanation import ConceptExplanation, ConceptTable
from backend.explanation import Comparison
from components import compare, jobs
from components.compare import Item
from components.concept_source import table as prepared
from components.figures import slice_group, slices
from components.frame import wide
from components.judge import Board, scoreboard
from components.plain import plain
from components.session import theme_name

BOARD = Board(metrics=slice_metrics.METRICS, title="Recovery of known groups")
SEEDS = 5


def found(item: Item) -> ConceptExplanation:
    """The explanation of a finished item."""
    return cast(ConceptExplanation, item.explanation)


def panel(item: Item, largest: int) -> None:
    """The overview of one method."""
    shown = found(item)
    st.plotly_chart(
        slices.overview(shown, theme_name(), most=largest),
        theme=None,
        key=f"slices.{item.request.explainer}",
        alt=f"Slices found by {item.title}",
    )
    stability = shown.values.get("stability")
    if stability and stability["mean"] is not None:
        st.caption(
            f"Stability: mean adjusted Rand index {stability['mean']:.2f} over "
            f"{len(stability['pairs'])} pairs of fits with different seeds (1: the same slices "
            "each time, 0: as by chance)."
        )


def largest(items: Sequence[Item]) -> int:
    """Members of the largest slice, for one scale over all panels."""
    return max((s["size"] for item in items for s in found(item).values["slices"]), default=1)


def how(items: Sequence[Item], prefix: str) -> None:
    """How the slices came to be, for methods that can tell."""
    told = {item.title: slices.plots(found(item), theme_name()) for item in items}
    able = [item for item in items if told[item.title]]
    if not able:
        st.info("Add CB-SLICE to see how its slices came to be.", icon=":material/account_tree:")
        return
    item = able[0] if len(able) == 1 else compare.pick("Method", able, f"{prefix}.method")
    for i, plot in enumerate(told[item.title]):
        st.plotly_chart(plot.figure, theme=None, key=f"{prefix}.{i}", alt=plot.title)
        st.caption(plot.how_to_read)
    _blame(found(item), prefix)


def _blame(shown: ConceptExplanation, prefix: str) -> None:
    """Simpler readings beside ECTP: correlation with task errors, and concept scores on errors."""
    arrays, names = shown.arrays, shown.values["concept_names"]
    columns = {
        "correlation with task errors": "pearson",
        "precision on errors": "concept_precision",
        "recall on errors": "concept_recall",
        "F1 on errors": "concept_f1",
    }
    there = {title: name for title, name in columns.items() if name in arrays}
    if not there:
        return
    kept = set(arrays["kept"].tolist())
    rows = []
    for j, name in enumerate(names):
        line: dict[str, Any] = {"concept": name, "kept": j in kept}
        line |= {title: float(arrays[array][j]) for title, array in there.items()}
        rows.append(line)
    number = st.column_config.NumberColumn(format="%.3f")
    st.dataframe(
        rows,
        hide_index=True,
        key=f"{prefix}.blame",
        column_config=dict.fromkeys(there, number),
        alt="Concepts by simpler readings",
    )


def groups(opened: Comparison, items: Sequence[Item], table: ConceptTable, prefix: str) -> None:
    """How well each method recovers groups that are known, for this model or over seeds."""
    if "groups" not in table.arrays:
        st.info(
            "This table names no groups. With a group column, the methods are scored by how well "
            "their slices recover the groups that fail.",
            icon=":material/group_work:",
        )
        return
    trained = opened.target.get("recipe") is not None
    over = st.segmented_control(
        "Score over",
        ("This model", f"{SEEDS} seeds"),
        default="This model",
        required=True,
        key=f"{prefix}.over",
        help="Each seed trains its own model and splits its errors anew, for every method alike."
        if trained
        else "Each seed splits the same errors anew.",
    )
    if over == "This model":
        _one(items, prefix)
        _crossed(items, table, prefix)
    else:
        _seeds(opened, prefix)


def _one(items: Sequence[Item], prefix: str) -> None:
    subjects = tuple(item.request for item in items)
    asked = list(plan.score_requests(subjects, lambda _: "slicing"))
    if asked:
        asked.append(asked[0].model_copy(update={"subject": None}))
    about: list[Item | None] = [*items, None]
    names = [item.title if item else "random" for item in about]
    scored = compare.items(asked)
    scoreboard(list(zip(names, scored, about, strict=True)), BOARD, prefix)
    for score in scored:
        left = score.explanation.values["left_out"] if score.explanation else {}
        if left:
            listed = ", ".join(f"{name} ({n})" for name, n in left.items())
            st.caption(f"Left out, with too few errors: {plain(listed)}.")
            break
    known = {item.request.explainer: {0: s} for item, s in zip(items, scored, strict=False)}
    known.setdefault("random", {0: scored[-1]})
    _remarks(_rows(known), items)


def _rows(scored: dict[str, dict[int, Item]]) -> list[slice_table.Row]:
    done = {
        name: {
            seed: item.explanation.values
            for seed, item in by_seed.items()
            if item.explanation is not None
        }
        for name, by_seed in scored.items()
    }
    return slice_table.rows({name: values for name, values in done.items() if values})


def _remarks(table: Sequence[slice_table.Row], items: Sequence[Item]) -> None:
    titles = {item.request.explainer: item.title for item in items}
    for remark in slice_table.remarks(table, titles):
        st.caption(f":material/info: {plain(remark)}")


def _crossed(items: Sequence[Item], table: ConceptTable, prefix: str) -> None:
    item = compare.pick("Groups in the slices of", items, f"{prefix}.crossed")
    shown = found(item)
    errors, assigned = shown.arrays["errors"], shown.arrays["slices"]
    known = table.arrays["groups"][errors]
    present = [a for a in range(len(table.group_names)) if (known == a).any()]
    count = len(shown.values["slices"])
    counts = np.array([np.bincount(assigned[known == a], minlength=count) for a in present])
    marked = [
        f"★ {table.group_names[a]}" if table.group_names[a] in table.planted
        else table.group_names[a]
        for a in present
    ]  # fmt: skip
    wide(f"{prefix}.cross").plotly_chart(
        slice_group.crossed(
            counts.reshape(len(present), count),
            marked,
            [str(i + 1) for i in range(count)],
            "Known groups in the slices",
            ["★ made to fail"] if table.planted else [],
            theme_name(),
            ("slice", "group"),
        ),
        theme=None,
        key=f"{prefix}.cross",
        alt="Known groups in the slices",
    )


def _seeds(opened: Comparison, prefix: str) -> None:
    """The same over several seeds: models are trained, sliced and scored one after the other."""
    scored: dict[str, dict[int, Item]] = {}
    for offset in range(SEEDS):
        one = plan.at_seed(opened, offset)
        there = prepared(one, f"{prefix}.{offset}")
        if there is None:
            st.caption(f"{offset} of {SEEDS} seeds are done.")
            break
        subjects = plan.requests(one, there[0])
        scores = compare.items(plan.score_requests(subjects, lambda _: "slicing"))
        for subject, score in zip(subjects, scores, strict=True):
            scored.setdefault(subject.explainer, {})[offset] = score
    table = _rows(scored)
    if table:
        _over_seeds(table)
    live = [s.job for by in scored.values() for s in by.values() if s.live]
    if live:
        compare.cancel_button([s for by in scored.values() for s in by.values()], f"{prefix}.stop")
        jobs.waiting([job for job in live[:1] if not isinstance(job, str)])


def _over_seeds(table: Sequence[slice_table.Row]) -> None:
    lines = []
    for row in table:
        line: dict[str, Any] = {"method": _title(row.explainer)}
        for metric in slice_metrics.METRICS:
            mean, ends = row.metrics[metric.id], row.intervals.get(metric.id)
            text = "–" if mean is None else f"{mean:.3f}"
            line[metric.title] = text + (f" [{ends[0]:.3f}, {ends[1]:.3f}]" if ends else "")
        line["seeds"] = max((len(v) for v in row.by_seed.values()), default=0)
        lines.append(line)
    st.dataframe(lines, hide_index=True, alt="Recovery of groups over seeds")
    st.caption("Means over the seeds with 95 % bootstrap intervals.")
    titles = {row.explainer: _title(row.explainer) for row in table}
    for remark in slice_table.remarks(table, titles):
        st.caption(f":material/info: {plain(remark)}")


def _title(explainer: str) -> str:
    from backend.catalogue import catalogue

    return catalogue()["concepts"].find(explainer).title
