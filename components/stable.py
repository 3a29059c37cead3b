"""How far explanations stay when a seed, or a little of the input, changes: shared by families."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import streamlit as st

from backend.bootstrap import Interval
from backend.catalogue import draws
from backend.explanation import Explanation, Request
from backend.stability import FEWEST, MOST, OFTEN, TIGHT, Stability, stability
from components import compare, jobs
from components.agree import Ranked
from components.compare import Item
from components.figures import spread
from components.figures.graph_parts import percent
from components.session import theme_name

SEEDS, DETERMINISTIC = "seeds", "deterministic"


class Subject(Protocol):
    """One family's side: what is changed, and how explanations are laid over each other."""

    about: str
    """What the change is, in a sentence."""
    change: str
    """The change in a word, a column's name."""
    ranked: Ranked
    share: float
    """Of the positions, those that count as highest."""

    def shaken(self, item: Item, run: int) -> Request:
        """The same explanation of the input with the change numbered `run`, from 0."""

    def aligned(self, found: Sequence[Explanation]) -> list[np.ndarray]:
        """[N] scores of each, for the positions of the first; NaN where it has no such one."""

    def drawn(self, first: Item, runs: Sequence[Explanation], measured: Stability) -> None:
        """Draw the mean of runs on one input, what is not stable standing back."""


@dataclasses.dataclass(frozen=True)
class Beside:
    """One more number of runs over the change, that a family has of its own.

    Attributes:
        name: of the column, behind the change's.
        cell: what stands in it, of the first run and those there are of the change.
        said: what it is, in a sentence.
    """

    name: str
    cell: Callable[[Sequence[Explanation]], str]
    said: str


class Measured(Protocol):
    """What is known of some runs."""

    @property
    def enough(self) -> bool:
        """Whether further runs would hardly change it."""


M = TypeVar("M", bound=Measured)


@dataclasses.dataclass(frozen=True, eq=False)
class Runs(Generic[M]):
    """One method's explanation and its repetitions, those that are there."""

    first: Item
    others: Sequence[Item]
    measure: Callable[[Sequence[Explanation]], M]

    @functools.cached_property
    def done(self) -> list[Explanation]:
        """The first and every repetition that is there."""
        found = (item.explanation for item in (self.first, *self.others))
        return [one for one in found if one is not None]

    @functools.cached_property
    def measured(self) -> M:
        """What is known of those that are there."""
        return self.measure(self.done)


def panel(
    done: Sequence[Item], subject: Subject, name: str, prefix: str, beside: Beside | None = None
) -> None:
    """Explain again with other seeds and with a little of the input changed, and compare.

    Args:
        done: finished explanations.
        name: of what is explained; another one starts afresh.
        beside: one more number over the change.
    """
    st.caption(
        "Seeds: the same input explained again and again; a method that learns, learns anew. "
        f"{subject.about} A method can be stably wrong: stability is no proof of being right."
    )
    most = asked(name, "Methods that learn take that time again for each seed.", prefix)
    if most is None:
        return
    ranked = [item for item in done if item.explainer.role == "attribution"]
    if not ranked:
        st.info("Stability is of explainers that rank.", icon=":material/join_inner:")
        return

    def measure(runs: Sequence[Explanation]) -> Stability:
        return stability(subject.aligned(runs), subject.share)

    by_seed: dict[str, Runs[Stability]] = {}
    by_change: dict[str, Runs[Stability]] = {}
    for item in ranked:
        explainer = item.request.explainer
        if draws(item.request):
            by_seed[explainer] = repeated(item, item.request.at_seed, measure, most)
        by_change[explainer] = repeated(item, _shaken(item, subject), measure, most)
    _table(ranked, by_seed, by_change, subject, beside)
    pending(
        [one for runs in (*by_seed.values(), *by_change.values()) for one in runs.others], prefix
    )
    _drawings(list(by_seed.values()), "seeds", subject, f"{prefix}.seeds")
    _drawings(list(by_change.values()), subject.change, subject, f"{prefix}.change")


def asked(name: str, cost: str, prefix: str) -> int | None:
    """How many runs at most; None until a person has asked for them.

    Args:
        cost: what the person should know before.
    """
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
            st.session_state[started] = name
    if st.session_state.get(started) != name:
        st.info(f"Press **Measure**. {cost}", icon=":material/timer:")
        return None
    return int(most)


def pending(every: Sequence[Item], prefix: str) -> None:
    """What is still to come, the way to stop it, and what went wrong."""
    live = [item.job for item in every if item.live and not isinstance(item.job, str)]
    if live:
        compare.cancel_button(every, f"{prefix}.cancel")
        jobs.waiting(live[:1])
    compare.first_absent(every, "a further run", f"{prefix}.stopped")


def _shaken(item: Item, subject: Subject) -> Callable[[int], Request]:
    return lambda run: subject.shaken(item, run - 1)


def repeated(
    first: Item,
    request: Callable[[int], Request],
    measure: Callable[[Sequence[Explanation]], M],
    most: int,
) -> Runs[M]:
    """Repetitions, one after another until enough is known or there are `most` runs.

    Args:
        request: of the run with a number from 1.
        measure: what is known of some runs, the first of them unchanged.
    """
    size = min(FEWEST, most)
    runs = Runs(first, compare.items([request(run) for run in range(1, size)]), measure)
    while len(runs.done) == size < most and not runs.measured.enough:
        runs = Runs(first, (*runs.others, *compare.items([request(size)])), measure)
        size += 1
    return runs


def _table(
    done: Sequence[Item],
    by_seed: dict[str, Runs[Stability]],
    by_change: dict[str, Runs[Stability]],
    subject: Subject,
    beside: Beside | None,
) -> None:
    rows = []
    for item in done:
        changed = by_change[item.request.explainer]
        row = {"method": item.title, **seed_cells(item, by_seed, _cells)}
        row |= _cells(subject.change, changed)
        if beside is not None:
            row[f"{subject.change}: {beside.name}"] = beside.cell(changed.done)
        rows.append(row)
    number = st.column_config.NumberColumn(format="%.3f")
    numbers = [name for name in rows[0] if name.endswith("correlation")]
    wide = {name: st.column_config.TextColumn(width=115) for name in (SEEDS, f"{SEEDS}: runs")}
    st.dataframe(
        rows,
        hide_index=True,
        column_config={**dict.fromkeys(numbers, number), **wide},
        alt="Stability of each method",
    )
    what = f"{subject.ranked.what}s"
    st.caption(
        f"Overlap: how many of the {percent(subject.share)} of {what} with the highest scores are "
        "the same, a mean over pairs of runs; ± half its 95 % interval, by the jackknife over "
        "runs. "
        f"Correlation: Spearman's, over all {what} in both. "
        f"Stable: {what} that are among the highest in at least {percent(OFTEN)} of the runs."
        + ("" if beside is None else f" {beside.said}")
    )


def seed_cells(
    item: Item,
    by_seed: Mapping[str, Runs[M]],
    cells: Callable[[str, Runs[M] | None], dict[str, Any]],
) -> dict[str, Any]:
    """A method's cells over seeds; one column says it all where no method draws.

    Args:
        by_seed: of the methods that draw.
        cells: those of some runs.
    """
    if not by_seed:
        return {SEEDS: DETERMINISTIC}
    runs = by_seed.get(item.request.explainer)
    said = {f"{SEEDS}: runs": DETERMINISTIC} if runs is None else {}
    return {**cells(SEEDS, runs), **said}


def give_or_take(mean: Interval, half: float | None) -> str:
    """A mean and half the width of its interval, where they are known."""
    if mean.mean is None:
        return ""
    return f"{mean.mean:.3f}" + ("" if half is None else f" ± {half:.3f}")


def _cells(what: str, runs: Runs[Stability] | None) -> dict[str, Any]:
    if runs is None or len(runs.done) < 2:
        made = "" if runs is None else str(len(runs.done))
        return {
            f"{what}: runs": made,
            f"{what}: overlap": "",
            f"{what}: correlation": None,
            f"{what}: stable": "",
        }
    measured = runs.measured
    return {
        f"{what}: runs": str(measured.runs),
        f"{what}: overlap": give_or_take(measured.overlap, measured.half),
        f"{what}: correlation": measured.correlation.mean,
        f"{what}: stable": f"{int(measured.stable.sum())} of {measured.top}",
    }


def _drawings(runs: Sequence[Runs[Stability]], over: str, subject: Subject, prefix: str) -> None:
    """Mean and spread of each method, and the mean on what it explains."""
    ready = [one for one in runs if len(one.done) > 1]
    if not ready:
        return
    what = subject.ranked.what
    st.markdown(f"**What stays over {over}**")
    st.caption(
        f"Each {what}'s mean score over the runs, and one standard deviation to either side. "
        f"{what.capitalize()}s that are not stable are pale; where all are, none is among the "
        "highest often enough to be relied on."
    )
    columns = st.columns(2)
    for number, one in enumerate(ready):
        with columns[number % 2], st.container(border=True):
            measured = one.measured
            st.markdown(f"**{one.first.title}**")
            st.caption(
                f"{int(measured.stable.sum())} of {measured.top} highest {what}s stable in "
                f"{measured.runs} runs, mean deviation {np.nanmean(measured.deviation):.3g}"
            )
            if over == SEEDS:
                subject.drawn(one.first, one.done, measured)
            names = subject.ranked.names(one.first.explanation)
            st.plotly_chart(
                spread.spread(names, measured, theme_name(), what),
                theme=None,
                key=f"{prefix}.spread.{one.first.request.explainer}",
                alt=f"Mean and spread of the scores by {one.first.title}",
            )
