"""Whether each method's explanation depends on what the GNN has learned."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import streamlit as st

from backend.bootstrap import Interval
from backend.explanation import Comparison, Request
from backend.graphs import plan
from backend.graphs.explanation import (
    GraphExplanation,
    GraphSet,
    GraphTarget,
    Recipe,
    prefixed,
)
from backend.graphs.noise import alone
from backend.graphs.plan import Sets
from backend.graphs.reinitialised import layers, reinitialised
from backend.sanity import FEWEST, HALF, Randomised, Verdict, correlation, randomised
from components import compare, jobs, trained_here
from components.compare import Item
from components.figures import sanity
from components.graph_pick import name_of
from components.graph_views import found
from components.plain import plain
from components.session import engine, theme_name

DRAWS = 5
_SHUFFLED = (
    " Shuffled labels: the correlation with the explanation of a GNN trained on labels of other "
    "graphs, of which nothing true can be learned."
)
VERDICTS: Mapping[Verdict, str] = {
    "depends": "depends on the model",
    "ignores": "ignores the model",
    "unclear": "not clear",
    "unknown": "–",
}


def panel(
    opened: Comparison, sets: Sets, graphs: GraphSet, done: Sequence[Item], prefix: str
) -> None:
    """Explain GNNs that have forgotten what they learned, and another class, and compare."""
    st.caption(
        "The GNN is re-initialised from the output down and explained again. A method that shows "
        "what the GNN learned cannot keep its ranking; one that does shows the graph itself "
        "(Adebayo et al., 2018). Passing is necessary, and no proof of being right."
    )
    titles = {item.request.explainer: item.title for item in done}
    quick = [item.request.explainer for item in done if not plan.learns(type(item.explainer))]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.multiselect(
            "Methods",
            list(titles),
            default=quick,
            format_func=titles.__getitem__,
            key=f"{prefix}.methods",
            help="A method that is fitted to a GNN is fitted anew to each re-initialised one.",
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
        recipe = GraphTarget.model_validate(opened.target).recipe
        control = isinstance(recipe, Recipe) and st.toggle(
            "Shuffled labels",
            key=f"{prefix}.control",
            help="Also explain a GNN that was trained on shuffled labels, by the same recipe.",
        )
        if st.button("Measure", icon=":material/play_arrow:", key=f"{prefix}.start"):
            st.session_state[f"{prefix}.asked"] = opened.key()
    if st.session_state.get(f"{prefix}.asked") != opened.key():
        st.info("Press **Measure**. Methods that learn take long.", icon=":material/timer:")
        return
    assert graphs.architecture is not None  # noqa: S101  it was explained
    misled = _misled(opened, prefix) if control else None
    stages = layers(graphs.architecture)
    shown = [item for item in done if item.request.explainer in chosen]
    curves: dict[str, Randomised] = {}
    rows, every = [], []
    for item in shown:
        asked = _Asked(opened, sets, graphs, item)
        drawn = _drawn(asked, len(stages), int(draws))
        (other,) = compare.items([asked.other()])
        every += [one for row in drawn for one in row] + [other]
        chance = None
        if misled is not None:
            (shuffled,) = compare.items([asked.misled(misled)])
            every.append(shuffled)
            chance = _scores(shuffled)
        trained = _scores(item)
        assert trained is not None  # noqa: S101  it is done
        curve = randomised(stages, trained, [[_scores(one) for one in row] for row in drawn])
        curves[item.title] = curve
        row = _row(item.title, curve, trained, _scores(other))
        if control:
            row["shuffled labels"] = "" if chance is None else _number(correlation(trained, chance))
        rows.append(row)
    if not rows:
        st.info("Choose a method.", icon=":material/checklist:")
        return
    _table(rows, graphs, shown[0])
    live = [one.job for one in every if one.live and not isinstance(one.job, str)]
    if live:
        compare.cancel_button(every, f"{prefix}.cancel")
        jobs.waiting(live[:1])
    _stopped(every, prefix)
    st.plotly_chart(
        sanity.curves(curves, theme_name()),
        theme=None,
        key=f"{prefix}.curves",
        alt="Rank correlation with the trained GNN's explanation as layers are re-initialised",
    )


def _misled(opened: Comparison, prefix: str) -> GraphSet | None:
    """The set of a GNN trained on shuffled labels; None while it is trained."""
    target = GraphTarget.model_validate(opened.target)
    assert isinstance(target.recipe, Recipe)  # noqa: S101  the caller looked
    recipe = target.recipe.model_copy(update={"labels": "shuffled"})
    shuffled = target.model_copy(update={"recipe": recipe}).model_dump(mode="json")
    none = engine().put_input(GraphSet.none(), opened.family)
    asked = plan.train_request(opened.model_copy(update={"target": shuffled}), none)
    there = trained_here.finished(asked, f"{prefix}.shuffled")
    return None if there is None else plan.set_of(cast(GraphExplanation, there[1]))


def _drawn(asked: _Asked, stages: int, draws: int) -> list[tuple[Item, ...]]:
    """One draw after the other, so that few requests wait at a time."""
    found: list[tuple[Item, ...]] = []
    for draw in range(draws):
        requests = [asked.forgotten(depth, draw) for depth in range(1, stages + 1)]
        found.append(compare.items(requests))
        if any(one.live or isinstance(one.job, str) for one in found[-1]):
            break
    return found


class _Asked:
    """The requests of one method: the same graph and class, another GNN; and another class."""

    def __init__(self, opened: Comparison, sets: Sets, graphs: GraphSet, item: Item) -> None:
        self.family, self.sets, self.graphs = opened.family, sets, graphs
        self.learns = plan.learns(type(item.explainer))
        self.target = GraphTarget.model_validate(opened.target)
        self.label = int(found(item).values["label"])
        self.alone = plan.only(opened, item.request.explainer)

    def forgotten(self, depth: int, seed: int) -> Request:
        """The explanation of a GNN whose first `depth` layers from the output are drawn anew."""
        only = self.target.model_dump_json()
        explained = _stored(self.sets.explained, only, depth, seed, self.graphs, self.family)
        fitted = explained
        if self.learns:
            learned = cast(GraphSet, engine().get_input(self.family, self.sets.fitted))
            fitted = _stored(self.sets.fitted, "", depth, seed, learned, self.family)
        moved = self.target.model_copy(update={"graph": 0, "label": self.label})
        return self._request(moved, Sets(explained, fitted))

    def misled(self, by: GraphSet) -> Request:
        """The explanation of a GNN that was trained on shuffled labels."""
        one = alone(self.graphs, self.target)
        one = dataclasses.replace(one, arrays=one.arrays | prefixed(by.weights()))
        explained = engine().put_input(one, self.family)
        fitted = engine().put_input(by, self.family) if self.learns else explained
        moved = self.target.model_copy(update={"graph": 0, "label": self.label})
        return self._request(moved, Sets(explained, fitted))

    def other(self) -> Request:
        """The explanation of another class by the trained GNN."""
        target = self.target.model_copy(update={"label": other_class(self.graphs, self.label)})
        return self._request(target, self.sets)

    def _request(self, target: GraphTarget, sets: Sets) -> Request:
        asked = self.alone.model_copy(update={"target": target.model_dump(mode="json")})
        (request,) = plan.requests(asked, sets)
        return request


def other_class(graphs: GraphSet, label: int) -> int:
    """The class after this one, the first after the last."""
    classes = graphs.architecture.classes if graphs.architecture else 2
    return (label + 1) % classes


@st.cache_resource(max_entries=256, show_spinner=False)
def _stored(
    whole: str,  # noqa: ARG001  the key
    target: str,
    depth: int,
    seed: int,
    _graphs: GraphSet,
    family: str,
) -> str:
    """Digest of a set, or of the target's graph alone, with a re-initialised GNN."""
    graphs = alone(_graphs, GraphTarget.model_validate_json(target)) if target else _graphs
    return engine().put_input(reinitialised(graphs, depth, seed), family)


def _scores(item: Item) -> np.ndarray | None:
    if item.explanation is None:
        return None
    return cast(GraphExplanation, item.explanation).arrays["scores"].astype(np.float64)


def _row(
    title: str, curve: Randomised, trained: np.ndarray, other: np.ndarray | None
) -> dict[str, Any]:
    last = curve.means[-1]
    return {
        "method": title,
        "verdict": VERDICTS[curve.verdict],
        "nothing learned": last.mean,
        "95 % interval": _ends(last),
        "draws": last.n,
        "other class": "" if other is None else _number(correlation(trained, other)),
    }


def _ends(interval: Interval) -> str:
    if interval.low is None or interval.high is None:
        return ""
    return f"{interval.low:.2f} to {interval.high:.2f}"


def _number(value: float) -> str:
    return f"{value:.3f}" if np.isfinite(value) else "no ranking"


def _table(rows: Sequence[Mapping[str, Any]], graphs: GraphSet, first: Item) -> None:
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
    other = name_of(graphs, other_class(graphs, int(found(first).values["label"])))
    st.caption(
        "Nothing learned: Spearman's rank correlation with the explanation of a GNN whose weights "
        f"are all drawn anew. The verdict is about {HALF}: the interval lies below it, above it, "
        f"or around it. Other class: the correlation with the explanation of {plain(other)}; near "
        "1, the method does not tell classes apart. Draws: re-initialisations that gave a ranking."
        + (_SHUFFLED if "shuffled labels" in rows[0] else "")
    )


def _stopped(every: Sequence[Item], prefix: str) -> None:
    """The first explanation that did not come, with the way to try again."""
    for number, item in enumerate(every):
        if item.explanation is None and not item.live:
            st.caption(f"{item.title}, of a re-initialised GNN:")
            compare.absent(item, f"{prefix}.stopped.{number}")
            return
