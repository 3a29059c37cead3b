"""How far each method's explanation stays when its seed, or a few edges of the graph, change."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import streamlit as st

from backend.explanation import Comparison
from backend.graphs import plan
from backend.graphs.explanation import GraphSet, GraphTarget
from backend.graphs.plan import Sets
from backend.graphs.stability import NOISE, SHARE, Stability, noisy, stability
from components import compare, jobs
from components.compare import Item
from components.graph_views import found
from components.session import engine


def panel(
    opened: Comparison, sets: Sets, graphs: GraphSet, done: Sequence[Item], prefix: str
) -> None:
    """Explain again with other seeds and on noisy copies of the graph, and compare."""
    st.caption(
        f"Seeds: the same graph explained {plan.STABILITY_SEEDS} times; a method that learns, "
        f"learns anew. Noise: {NOISE:.0%} of the edges replaced, none of the known reason. "
        "A method can be stably wrong: stability is no proof of being right."
    )
    started = f"{prefix}.asked"
    if st.button("Measure", icon=":material/play_arrow:", key=f"{prefix}.start"):
        st.session_state[started] = opened.key()
    if st.session_state.get(started) != opened.key():
        st.info(
            "Press **Measure**. Methods that learn take that time again for each seed.",
            icon=":material/timer:",
        )
        return
    seeds = _seeds(opened, sets)
    noise = _noise(opened, sets, graphs)
    rows, every = [], []
    for item in done:
        name = item.request.explainer
        again, shaken = seeds.get(name, []), noise.get(name, [])
        every += [*again, *shaken]
        rows.append(
            {
                "method": item.title,
                **_row("seeds", item, again, needed=bool(again)),
                **_row("noise", item, shaken, needed=True),
            }
        )
    number = st.column_config.NumberColumn(format="%.3f")
    names = [key for key in rows[0] if key != "method"] if rows else []
    st.dataframe(
        rows,
        hide_index=True,
        column_config=dict.fromkeys(names, number),
        alt="Stability of each method",
    )
    st.caption(
        f"Overlap: Jaccard index of the {SHARE:.0%} of edges with the highest scores, a mean over "
        "pairs. Correlation: Spearman's, over all edges in both graphs. Methods without chance "
        "have no seeds to differ by."
    )
    live = [item.job for item in every if item.live and not isinstance(item.job, str)]
    if live:
        compare.cancel_button(every, f"{prefix}.cancel")
        jobs.waiting(live[:1])


def _row(what: str, item: Item, others: Sequence[Item], *, needed: bool) -> dict[str, Any]:
    there = [found(other) for other in others if other.explanation is not None]
    measured = Stability(None, None, 0)
    if needed and there:
        measured = stability([found(item), *there])
    return {f"{what}: overlap": measured.overlap, f"{what}: correlation": measured.correlation}


def _seeds(opened: Comparison, sets: Sets) -> dict[str, list[Item]]:
    """Explanations at further seeds, by explainer; only of those that draw."""
    again: dict[str, list[Item]] = {}
    for offset in range(1, plan.STABILITY_SEEDS):
        other = plan.at_seed(plan.seeded(opened), offset)
        for item in compare.items(plan.requests(other, sets)):
            again.setdefault(item.request.explainer, []).append(item)
    return again


def _noise(opened: Comparison, sets: Sets, graphs: GraphSet) -> dict[str, list[Item]]:
    """Explanations of noisy copies, by explainer."""
    target = GraphTarget.model_validate(opened.target)
    shaken: dict[str, list[Item]] = {}
    for seed in range(plan.STABILITY_SEEDS - 1):
        digest = _noisy(sets.explained, target.model_dump_json(), seed, graphs, opened.family)
        alone = target.model_copy(update={"graph": 0}).model_dump(mode="json")
        other = opened.model_copy(update={"target": alone})
        copies = dataclasses.replace(sets, explained=digest)
        for item in compare.items(plan.requests(other, copies)):
            shaken.setdefault(item.request.explainer, []).append(item)
    return shaken


@st.cache_resource(max_entries=64, show_spinner=False)
def _noisy(explained: str, target: str, seed: int, _graphs: GraphSet, family: str) -> str:  # noqa: ARG001
    """Digest of a noisy copy, stored."""
    asked = GraphTarget.model_validate_json(target)
    return engine().put_input(noisy(_graphs, asked, seed), family)
