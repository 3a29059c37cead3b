"""Whether explanations depend on what a model has learned: the panel that families share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import streamlit as st

from backend.bootstrap import Interval
from backend.explanation import Request
from backend.sanity import FEWEST, HALF, Randomised, Verdict, correlation, randomised
from components import compare, jobs
from components.compare import Item
from components.figures import sanity
from components.session import theme_name

DRAWS = 5
VERDICTS: Mapping[Verdict, str] = {
    "depends": "depends on the model",
    "ignores": "ignores the model",
    "unclear": "not clear",
    "unknown": "–",
}


class Subject(Protocol):
    """One family's side: whose explanations are compared, and with which."""

    model: str
    """What forgets, e.g. "GNN"."""
    stages: tuple[str, ...]
    """What is re-initialised, one after the other, from the output down."""
    other_what: str
    """What else of the trained model is explained, e.g. "other class"."""

    def costly(self, item: Item) -> bool:
        """Whether the method takes long for each re-initialised model."""

    def forgotten(self, item: Item, depth: int, seed: int) -> Request:
        """The same explanation of a model whose first `depth` stages are drawn anew."""

    def other(self, item: Item) -> Request:
        """The trained model's explanation of that."""

    def other_name(self, item: Item) -> str:
        """Which one it is, with marks escaped."""

    def controls(self, prefix: str) -> Mapping[str, str]:
        """Draw what else can be measured; its columns, each with a sentence that explains it."""

    def control(self, item: Item, column: str) -> Request | None:
        """The explanation of a column; None while it cannot be asked for yet."""


def panel(done: Sequence[Item], subject: Subject, name: str, prefix: str) -> None:
    """Explain models that have forgotten what they learned, and another class, and compare.

    Args:
        done: finished explanations.
        name: of what is explained; another one starts afresh.
    """
    model = subject.model
    st.caption(
        f"The {model} is re-initialised from the output down and explained again. A method that "
        f"shows what the {model} learned cannot keep its ranking; one that does shows the input "
        "itself (Adebayo et al., 2018). Passing is necessary, and no proof of being right."
    )
    titles = {item.request.explainer: item.title for item in done}
    quick = [item.request.explainer for item in done if not subject.costly(item)]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.multiselect(
            "Methods",
            list(titles),
            default=quick,
            format_func=titles.__getitem__,
            key=f"{prefix}.methods",
            help="A method that is fitted to a model is fitted anew to each re-initialised one.",
        )
        draws = st.number_input(
            "Re-initialisations",
            min_value=1,
            max_value=20,
            value=DRAWS,
            key=f"{prefix}.draws",
            width=180,
            help=f"From {FEWEST} on there is a verdict.",
        )
        controls = subject.controls(prefix)
        if st.button("Measure", icon=":material/play_arrow:", key=f"{prefix}.start"):
            st.session_state[f"{prefix}.asked"] = name
    if st.session_state.get(f"{prefix}.asked") != name:
        st.info("Press **Measure**. Methods that learn take long.", icon=":material/timer:")
        return
    shown = [item for item in done if item.request.explainer in chosen]
    if not shown:
        st.info("Choose a method.", icon=":material/checklist:")
        return
    curves: dict[str, Randomised] = {}
    rows: list[dict[str, Any]] = []
    every: list[Item] = []
    forgotten = _drawn(shown, subject, int(draws))
    for number, item in enumerate(shown):
        drawn = [draw[number] for draw in forgotten]
        asked = {subject.other_what: subject.other(item)}
        asked |= {c: found for c in controls if (found := subject.control(item, c)) is not None}
        beside = dict(zip(asked, compare.items(list(asked.values())), strict=True))
        every += [one for row in drawn for one in row] + list(beside.values())
        trained = scores(item)
        assert trained is not None  # noqa: S101  it is done
        curve = randomised(subject.stages, trained, [[scores(one) for one in row] for row in drawn])
        curves[item.title] = curve
        columns = [subject.other_what, *controls]
        rows.append(_row(item.title, curve, trained, columns, beside))
    _table(rows, subject, shown[0], controls)
    live = [one.job for one in every if one.live and not isinstance(one.job, str)]
    if live:
        compare.cancel_button(every, f"{prefix}.cancel")
        jobs.waiting(live[:1])
    what = subject.other_what.removeprefix("other ")
    compare.first_absent(every, f"of another model or {what}", f"{prefix}.stopped")
    st.plotly_chart(
        sanity.curves(curves, model, theme_name()),
        theme=None,
        key=f"{prefix}.curves",
        alt=f"Rank correlation with the trained {model}'s explanation as it forgets",
    )


def scores(item: Item) -> np.ndarray | None:
    """[N] float64, or None where there is no explanation yet."""
    if item.explanation is None:
        return None
    return item.explanation.compared()


def _drawn(
    shown: Sequence[Item], subject: Subject, draws: int
) -> list[tuple[tuple[Item, ...], ...]]:
    """By draw and method the explanations at each depth.

    One draw after the other, so that few requests wait at a time, and within a draw one depth after
    the other, so that a model is loaded for all methods at once.
    """
    found = []
    for draw in range(draws):
        depths = range(1, len(subject.stages) + 1)
        at = [
            compare.items([subject.forgotten(item, depth, draw) for item in shown])
            for depth in depths
        ]
        found.append(tuple(zip(*at, strict=True)))
        if any(one.live or isinstance(one.job, str) for row in at for one in row):
            break
    return found


def _row(
    title: str,
    curve: Randomised,
    trained: np.ndarray,
    columns: Sequence[str],
    beside: Mapping[str, Item],
) -> dict[str, Any]:
    last = curve.means[-1]
    found = {name: scores(beside[name]) if name in beside else None for name in columns}
    return {
        "method": title,
        "verdict": VERDICTS[curve.verdict],
        "nothing learned": last.mean,
        "95 % interval": _ends(last),
        "draws": last.n,
        **{
            name: "" if values is None else _number(correlation(trained, values))
            for name, values in found.items()
        },
    }


def _ends(interval: Interval) -> str:
    if interval.low is None or interval.high is None:
        return ""
    return f"{interval.low:.2f} to {interval.high:.2f}"


def _number(value: float) -> str:
    return f"{value:.3f}" if np.isfinite(value) else "no ranking"


def _table(
    rows: Sequence[Mapping[str, Any]], subject: Subject, first: Item, controls: Mapping[str, str]
) -> None:
    number = st.column_config.NumberColumn(format="%.3f")
    st.dataframe(
        rows,
        hide_index=True,
        column_config={
            "nothing learned": number,
            "verdict": st.column_config.TextColumn(width=170),
        },
        alt="Sanity checks of each method",
    )
    said = [
        f"Nothing learned: Spearman's rank correlation with the explanation of a {subject.model} "
        f"whose weights are all drawn anew. The verdict is about {HALF}: the interval lies below "
        "it, above it, or around it.",
        f"{subject.other_what.capitalize()}: the correlation with the explanation of "
        f"{subject.other_name(first)}; near 1, the method does not tell them apart.",
        "Draws: re-initialisations that gave a ranking.",
        *controls.values(),
    ]
    st.caption(" ".join(said))
