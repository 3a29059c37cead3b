"""How far each method's explanation stays when its seed, or a few edges of the graph, change."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

from backend.explanation import Comparison, Request
from backend.graphs import plan
from backend.graphs.explanation import GraphExplanation, GraphSet, GraphTarget
from backend.graphs.noise import NOISE, aligned, noisy
from backend.graphs.plan import Sets
from backend.stability import FEWEST, MOST, OFTEN, TIGHT, Stability, stability
from components import compare, jobs
from components.compare import Item
from components.figures import graph
from components.figures.graph_parts import SHARE, percent
from components.graph_views import found, limits
from components.session import engine, theme_name

SEEDS, SHAKEN = "seeds", "noise"


@dataclasses.dataclass(frozen=True, eq=False)
class _Runs:
    """One method's explanation and its repetitions, those that are there."""

    first: Item
    others: Sequence[Item]

    @functools.cached_property
    def done(self) -> list[GraphExplanation]:
        return [found(item) for item in (self.first, *self.others) if item.explanation is not None]

    @functools.cached_property
    def measured(self) -> Stability:
        """The first one's edges are what is compared."""
        return stability(aligned(self.done), SHARE)


def panel(
    opened: Comparison, sets: Sets, graphs: GraphSet, done: Sequence[Item], prefix: str
) -> None:
    """Explain again with other seeds and on noisy copies of the graph, and compare."""
    st.caption(
        "Seeds: the same graph explained again and again; a method that learns, learns anew. "
        f"Noise: {percent(NOISE)} of the edges replaced, none of the known reason. "
        "A method can be stably wrong: stability is no proof of being right."
    )
    started = f"{prefix}.asked"
    with st.container(horizontal=True, vertical_alignment="bottom"):
        most = st.number_input(
            "Runs at most",
            min_value=2,
            max_value=30,
            value=MOST,
            key=f"{prefix}.most",
            width=160,
            help=f"From {FEWEST} runs on, a method stops where its overlap is known to "
            f"± {percent(TIGHT)}.",
        )
        if st.button("Measure", icon=":material/play_arrow:", key=f"{prefix}.start"):
            st.session_state[started] = opened.key()
    if st.session_state.get(started) != opened.key():
        st.info(
            "Press **Measure**. Methods that learn take that time again for each seed.",
            icon=":material/timer:",
        )
        return
    random = {choice.explainer for choice in plan.seeded(opened).choices}
    by_seed, by_noise = {}, {}
    for item in done:
        name = item.request.explainer
        if name in random:
            by_seed[name] = _runs(item, _of_seed(opened, sets, name), most)
        by_noise[name] = _runs(item, _of_noise(opened, sets, graphs, name), most)
    _table(done, by_seed, by_noise)
    every = [one for runs in (*by_seed.values(), *by_noise.values()) for one in runs.others]
    live = [item.job for item in every if item.live and not isinstance(item.job, str)]
    if live:
        compare.cancel_button(every, f"{prefix}.cancel")
        jobs.waiting(live[:1])
    compare.first_absent(every, "a further run", f"{prefix}.stopped")
    _drawings(list(by_seed.values()), limits(done), prefix)


def _runs(first: Item, request: Callable[[int], Request], most: int) -> _Runs:
    """Repetitions, one after another until their overlap is known or there are `most` runs."""
    size = min(FEWEST, most)
    runs = _Runs(first, compare.items([request(run) for run in range(1, size)]))
    while len(runs.done) == size < most and not runs.measured.enough:
        runs = _Runs(first, (*runs.others, *compare.items([request(size)])))
        size += 1
    return runs


def _of_seed(opened: Comparison, sets: Sets, explainer: str) -> Callable[[int], Request]:
    alone = plan.only(opened, explainer)

    def request(run: int) -> Request:
        (found,) = plan.requests(plan.at_seed(alone, run), sets)
        return found

    return request


def _of_noise(
    opened: Comparison, sets: Sets, graphs: GraphSet, explainer: str
) -> Callable[[int], Request]:
    target = GraphTarget.model_validate(opened.target)
    moved = target.model_copy(update={"graph": 0}).model_dump(mode="json")
    alone = plan.only(opened, explainer).model_copy(update={"target": moved})

    def request(run: int) -> Request:
        digest = _noisy(sets.explained, target.model_dump_json(), run - 1, graphs, opened.family)
        (found,) = plan.requests(alone, dataclasses.replace(sets, explained=digest))
        return found

    return request


@st.cache_resource(max_entries=64, show_spinner=False)
def _noisy(explained: str, target: str, seed: int, _graphs: GraphSet, family: str) -> str:  # noqa: ARG001
    """Digest of a noisy copy, stored."""
    asked = GraphTarget.model_validate_json(target)
    return engine().put_input(noisy(_graphs, asked, seed), family)


def _table(done: Sequence[Item], by_seed: dict[str, _Runs], by_noise: dict[str, _Runs]) -> None:
    rows = []
    for item in done:
        name = item.request.explainer
        seeds = by_seed.get(name)
        said = {f"{SEEDS}: runs": "deterministic"} if seeds is None else {}
        rows.append(
            {
                "method": item.title,
                **_cells(SEEDS, seeds),
                **said,
                **_cells(SHAKEN, by_noise[name]),
            }
        )
    number = st.column_config.NumberColumn(format="%.3f")
    names = list(rows[0]) if rows else []
    numbers = [name for name in names if name.endswith(("overlap", "correlation"))]
    wide = {f"{SEEDS}: runs": st.column_config.TextColumn(width=115)}
    st.dataframe(
        rows,
        hide_index=True,
        column_config={**dict.fromkeys(numbers, number), **wide},
        alt="Stability of each method",
    )
    st.caption(
        f"Overlap: how many of the {percent(SHARE)} of edges with the highest scores are the same, "
        "a mean over pairs of runs; ± half its 95 % interval, by the jackknife over runs. "
        "Correlation: Spearman's, over all edges in both graphs. "
        f"Stable: edges that are among the highest in at least {percent(OFTEN)} of the runs."
    )


def _cells(what: str, runs: _Runs | None) -> dict[str, Any]:
    if runs is None or len(runs.done) < 2:
        made = "" if runs is None else str(len(runs.done))
        return {
            f"{what}: runs": made,
            f"{what}: overlap": None,
            f"{what}: ±": "",
            f"{what}: correlation": None,
            f"{what}: stable": "",
        }
    measured = runs.measured
    return {
        f"{what}: runs": str(measured.runs),
        f"{what}: overlap": measured.overlap.mean,
        f"{what}: ±": "" if measured.half is None else f"{measured.half:.3f}",
        f"{what}: correlation": measured.correlation.mean,
        f"{what}: stable": f"{int(measured.stable.sum())} of {measured.top}",
    }


def _drawings(runs: Sequence[_Runs], ends: Mapping[str, float], prefix: str) -> None:
    """The mean over seeds of each method, what is not stable in it drawn faint.

    Args:
        ends: end of the scale of each unit.
    """
    ready = [one for one in runs if len(one.done) > 1]
    if not ready:
        return
    st.markdown("**What stays over seeds**")
    st.caption(
        "Colours: mean score over the runs. Edges that are not stable are faint; where all are, no "
        "edge is among the highest often enough to be relied on."
    )
    columns = st.columns(2)
    for number, one in enumerate(ready):
        with columns[number % 2], st.container(border=True):
            measured = one.measured
            st.markdown(f"**{one.first.title}**")
            st.caption(
                f"{int(measured.stable.sum())} of {measured.top} highest edges stable in "
                f"{measured.runs} runs, mean deviation {np.nanmean(measured.deviation):.3g}"
            )
            shown = mean(one.done, measured)
            limit = ends.get(str(shown.values["unit"])) or None
            st.plotly_chart(
                graph.figure(shown, theme_name(), limit=limit, scale=0),
                theme=None,
                key=f"{prefix}.drawn.{one.first.request.explainer}",
                alt=f"Mean scores by {one.first.title}, stable edges standing out",
            )


def mean(runs: Sequence[GraphExplanation], measured: Stability) -> GraphExplanation:
    """The mean of runs on one graph as an explanation whose key part is what is stable."""
    nodes = np.mean([one.arrays["node_scores"] for one in runs], axis=0)
    arrays = {
        **runs[0].arrays,
        "scores": measured.mean.astype(np.float32),
        "node_scores": nodes.astype(np.float32),
        "key": measured.stable[None].astype(np.uint8),
    }
    return dataclasses.replace(runs[0], arrays=arrays)
