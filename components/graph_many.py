"""The chosen methods over many graphs or nodes of the set: a table with intervals."""

from __future__ import annotations

from typing import Any

import streamlit as st

from backend.control import won_by_control, words
from backend.explanation import Comparison, Explanation
from backend.graphs import items, plan, set_table
from backend.graphs.explanation import GraphSet
from backend.graphs.graph_metrics import METRICS
from backend.graphs.plan import Sets
from components import compare, jobs
from components.greyed import greyed
from components.plain import plain

ITEMS = 20
RANDOM = "random"


def panel(opened: Comparison, sets: Sets, graphs: GraphSet, prefix: str) -> None:
    """Ask over how many items, run, and show each method's means."""
    what = "graphs" if graphs.task == "graph" else "nodes"
    most = len(items.to_score(graphs, items.count(graphs)))
    st.caption(
        f"One {what[:-1]} is an anecdote. Here each method explains many, of the test {what} first "
        "those with a known reason, and every explanation is scored like the one above."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        count = int(
            st.number_input(
                f"How many {what}", 1, most, min(ITEMS, most), key=f"{prefix}.count.{most}"
            )
        )
        if st.button("Score", icon=":material/play_arrow:", key=f"{prefix}.start"):
            st.session_state[f"{prefix}.asked"] = _asked(opened, sets, count)
    if st.session_state.get(f"{prefix}.asked") != _asked(opened, sets, count):
        st.info(
            "Press **Score**; a method takes from a second to a minute.", icon=":material/timer:"
        )
        return
    scored = compare.items(plan.suite_requests(opened, sets, count))
    names = [*(_title(choice.explainer) for choice in plan.suite_choices(opened)), RANDOM]
    done: dict[str, Explanation] = {}
    for name, item in zip(names, scored, strict=True):
        if item.explanation is not None:
            done[name] = item.explanation
        elif isinstance(item.job, str):
            st.warning(f"{plain(name)}: {plain(item.job)}", icon=":material/block:")
        elif not item.live:
            jobs.outcome(item.job, item.request, f"{prefix}.{item.job.key}")
    if done:
        table(set_table.scores(done), prefix)
    live = [item.job for item in scored if item.live and not isinstance(item.job, str)]
    if live:
        compare.cancel_button(scored, f"{prefix}.cancel")
        jobs.waiting(live[:1])


def table(rows: list[dict[str, Any]], prefix: str) -> None:
    """Means with intervals, and the AUC by predicted class."""
    lines = []
    for row in rows:
        line: dict[str, Any] = {"method": row["explainer"]}
        for metric in METRICS:
            mean, ends = row[metric.id], row["interval"].get(metric.id)
            text = "–" if mean is None else f"{mean:.3f}"
            line[metric.title] = text + (f" [{ends[0]:.3f}, {ends[1]:.3f}]" if ends else "")
        line |= {"seconds each": f"{row['seconds']:.3f}", "items": row["items"]}
        lines.append(line)
    titles = {metric.id: metric.title for metric in METRICS}
    won = won_by_control({row["explainer"]: row for row in rows}, _controls(), METRICS)
    st.dataframe(
        greyed(lines, columns={titles[name] for name in won}),
        hide_index=True,
        key=f"{prefix}.table",
        alt="Scores over many graphs",
    )
    for said in words(won, titles):
        st.caption(f"Greyed: {plain(said)}")
    st.caption(
        "Means with 95 % bootstrap intervals over the items. Seconds: an explanation, one after "
        "the other, without what a method learned beforehand."
    )
    classes = {name for row in rows for name in row["by_class"]}
    if len(classes) > 1 and any(v is not None for row in rows for v in row["by_class"].values()):
        st.markdown("**Known reason (AUC) by predicted class**")
        st.dataframe(
            [{"method": row["explainer"], **row["by_class"]} for row in rows],
            hide_index=True,
            column_config={name: st.column_config.NumberColumn(format="%.3f") for name in classes},
            alt="Known reason by predicted class",
        )
        st.caption("A class that is decided by an absence has nothing in the graph to find.")
    for row in rows:
        if row["skipped"]:
            first = next(iter(row["skipped"].values()))
            st.caption(f"{row['explainer']}: {len(row['skipped'])} left out. {plain(first)}")


def _asked(opened: Comparison, sets: Sets, count: int) -> tuple[object, ...]:
    return (sets.explained, count, opened.seed, opened.choices)


def _controls() -> set[str]:
    """Names of the rows that know nothing."""
    from backend.catalogue import catalogue

    return {RANDOM, *(cls.title for cls in catalogue()["graphs"].explainers if cls.control)}


def _title(explainer: str) -> str:
    from backend.catalogue import catalogue

    return catalogue()["graphs"].find(explainer).title
