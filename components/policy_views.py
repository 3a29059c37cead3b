"""One choice of an agent: bars, the causal graph, paths, other states, and words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from backend.policies.causal_xrl import CausalXRL
from backend.policies.equations import UNKNOWN, known_edges
from backend.policies.explained import value_words
from backend.policies.explanation import Experience, PolicyExplanation
from backend.policies.policy_metrics import METRICS
from backend.policies.structure_metrics import scores
from backend.policies.supporting import supporting
from backend.policies.variable_faithfulness import OPERATOR
from components.agree import Ranked
from components.compare import Item
from components.figures import policy_bars, policy_graph, policy_paths, policy_terms
from components.judge import Board
from components.picture import Draw
from components.plain import plain
from components.session import theme_name

SHARED, OWN = "Shared", "Each its own"
MOST_ROWS = 200
QUESTIONS = {
    "why": "Why",
    "why_not": "Why not the other",
    "what_if": "What if",
    "pursues": "What it pursues",
}


def _curves(found: Mapping[str, Any], operator: str, theme: str) -> go.Figure:
    return policy_bars.curves(found, operator, theme)


BOARD = Board(
    metrics=METRICS,
    operators={OPERATOR: "Drawn anew"},
    curves=_curves,
    curves_alt="Probability of the action as variables are drawn anew and given back",
)


def _names(found: PolicyExplanation) -> list[str]:
    return [str(name) for name in found.values["variable_names"]]


RANKED = Ranked("state variable", _names)


def limits(items: Sequence[Item]) -> dict[str, float]:
    """The end of the shared axis for each unit: different units have no one axis."""
    shown = [cast(PolicyExplanation, item.explanation) for item in ranked(items)]
    units = dict.fromkeys(str(one.values["unit"]) for one in shown)
    return {
        unit: policy_bars.largest([one for one in shown if one.values["unit"] == unit])
        for unit in units
    }


FIGURES: dict[str, dict[str, Draw]] = {
    CausalXRL.id: {
        "Causal graph": policy_graph.graph,
        "Graph at this moment": lambda found, theme, title: policy_graph.graph(
            found, theme, title, local=True
        ),
        "Paths": policy_paths.paths,
        "Difference of paths": policy_paths.contrast,
    }
}
"""Figures of an explainer beside its bars, for export."""


def ranked(items: Sequence[Item]) -> list[Item]:
    """Those that score state variables."""
    return [item for item in items if item.explainer.role == "attribution"]


def panel(item: Item, ends: Mapping[str, float] | None) -> None:
    """One method's bars; each its own axis where there are no ends."""
    found = cast(PolicyExplanation, item.explanation)
    if found.values["kind"] == "terms":
        _terms(found, item)
        return
    end = None if ends is None else ends[str(found.values["unit"])]
    st.plotly_chart(
        policy_bars.bars(found, theme_name(), limit=end),
        theme=None,
        key=f"policy.{item.request.explainer}",
        alt=f"Scores of the state variables by {item.title}",
    )
    for text in found.values["sentences"].get("why", []):
        st.caption(plain(text))


def _terms(found: PolicyExplanation, item: Item) -> None:
    st.plotly_chart(
        policy_terms.terms(found, theme_name()),
        theme=None,
        key=f"policy.{item.request.explainer}",
        alt="How much more of each term of the reward the action brings",
    )
    for text in found.values["sentences"]["why"]:
        st.caption(plain(text))


def causal(compared: Sequence[Item]) -> PolicyExplanation | None:
    """The explanation of CausalXRL, once it is there."""
    for item in compared:
        if item.request.explainer == CausalXRL.id:
            if item.explanation is None:
                st.info("CausalXRL is not done yet, see above.", icon=":material/hub:")
            return cast(PolicyExplanation | None, item.explanation)
    st.info("Add CausalXRL to the explainers to see this.", icon=":material/hub:")
    return None


def words(found: PolicyExplanation) -> None:
    """Every answer in words; numbers in brackets are intervals."""
    for key, title in QUESTIONS.items():
        said = found.values["sentences"].get(key, [])
        if said:
            st.markdown(f"**{title}**")
            for text in said:
                st.markdown(f"- {plain(text)}")


def graph(found: PolicyExplanation, experience: Experience, prefix: str) -> None:
    """The causal graph, and the transitions behind the edge that is picked."""
    where = st.segmented_control(
        "Edges",
        ("Everywhere", "At this moment"),
        default="Everywhere",
        required=True,
        key=f"{prefix}.where",
        help="Everywhere: mean effects over visited states. At this moment: effects in the state "
        "that is explained; of the action, against the other one.",
    )
    local = where == "At this moment"
    edges = policy_graph.edges(found, local)
    if not edges:
        st.info("No edge was found.", icon=":material/hub:")
        return
    names = [policy_graph.name(found, edge) for edge in edges]
    clicked = _clicked(edges, f"{prefix}.chart")
    if clicked is not None:
        st.session_state[f"{prefix}.edge"] = names[clicked]
    if st.session_state.get(f"{prefix}.edge") not in names:
        st.session_state[f"{prefix}.edge"] = names[0]
    left, right = st.columns([1.35, 1], gap="medium")
    with right:
        picked = st.selectbox("Edge", names, key=f"{prefix}.edge")
        edge = edges[names.index(str(picked))]
        _edge(found, edge, experience)
    with left:
        st.plotly_chart(
            policy_graph.graph(found, theme_name(), local=local, chosen=(edge.source, edge.target)),
            theme=None,
            key=f"{prefix}.chart",
            on_select="rerun",
            selection_mode="points",
            alt="The causal graph: " + "; ".join(names),
        )
        st.caption(
            "Orange raises, blue lowers. Click the ring on an edge, or pick it from the list."
        )
        _against_equations(found)


def _against_equations(found: PolicyExplanation) -> None:
    """How well the graph has the edges of the environment's equations, where these are known."""
    truth = known_edges(str(found.values["environment"]))
    if truth is None:
        return
    arrays = found.arrays
    truth = np.where(arrays["graph/tested"] > 0, truth, UNKNOWN)
    told = scores(arrays["graph/present"] > 0, truth)
    st.caption(
        f"Against the environment's equations: F1 {told['f1']:.2f}, precision "
        f"{told['precision']:.2f}, recall {told['recall']:.2f}, {told['shd']:.0f} edges differ. "
        "What they say nothing about does not count."
    )


def fidelity(found: PolicyExplanation) -> None:
    """How well the causes of choices alone tell the next action."""
    told = found.values
    st.markdown("**The next action, from the causes alone**")
    rows = [
        (f"local causes, {told['named']:.1f} of {told['variables']} variables", told["causes"]),
        ("decision tree, all variables", told["tree"]),
        ("logistic regression, all variables", told["logistic"]),
        ("the most frequent action", told["always"]),
    ]
    st.dataframe(
        [{"predicted by": name, "held-out actions": f"{share:.1%}"} for name, share in rows],
        hide_index=True,
        width="content",
        alt="Share of held-out actions predicted",
    )
    st.caption(
        "Causes at a step: variables whose redrawing moves the choice there. A forest that sees "
        "nothing else predicts the action."
    )


def _clicked(edges: Sequence[policy_graph.Edge], key: str) -> int | None:
    """The edge that was clicked since the page last looked."""
    state: Any = st.session_state.get(key)
    points = state["selection"]["points"] if state else []
    pair = points[0].get("customdata") if points else None
    if not pair or st.session_state.get(f"{key}.seen") == pair:
        return None
    st.session_state[f"{key}.seen"] = pair
    ends = [[edge.source, edge.target] for edge in edges]
    return ends.index(list(pair)) if list(pair) in ends else None


def _edge(found: PolicyExplanation, edge: policy_graph.Edge, experience: Experience) -> None:
    told = found.values
    unit = [*told["units"], ""][edge.target]
    st.markdown(
        f"Effect **{edge.effect:.3g} {plain(unit)}** [{edge.low:.3g}, {edge.high:.3g}] · "
        f"{policy_graph.strength_name(found)} {edge.strength:.3g} · in {edge.support:.0%} of the "
        "bootstraps"
    )
    rows = supporting(experience, edge.source, edge.target, edge.effect)[:MOST_ROWS]
    st.caption(
        "The transitions that show it most: where both are far from their means, the effect's way."
    )
    st.dataframe(
        _transitions(found, edge, experience, rows),
        hide_index=True,
        height=260,
        alt="Transitions behind the edge",
    )


def _transitions(
    found: PolicyExplanation, edge: policy_graph.Edge, experience: Experience, rows: np.ndarray
) -> list[dict[str, object]]:
    told, arrays = found.values, experience.arrays
    count = len(told["variable_names"])
    source, target = told["source_names"][edge.source], told["target_names"][edge.target]

    def before(row: int) -> object:
        if edge.source == count:
            return experience.action_names[int(arrays["actions"][row])]
        value = float(arrays["states"][row, edge.source])
        return value_words(told, edge.source, value) if told["levels"][edge.source] else value

    def after(row: int) -> tuple[str, object]:
        if edge.target == count:
            return target, float(arrays["rewards"][row])
        value = float(arrays["next_states"][row, edge.target])
        if told["levels"][edge.target]:
            return f"next {target}", value_words(told, edge.target, value)
        return f"change of {target}", value - float(arrays["states"][row, edge.target])

    return [
        {
            "episode": int(arrays["episodes"][row]),
            "step": int(arrays["steps"][row]),
            source: before(row),
            **dict([after(row)]),
        }
        for row in rows.tolist()
    ]


def paths(found: PolicyExplanation, prefix: str) -> None:
    """What would have happened after either action."""
    what = st.segmented_control(
        "Show",
        ("Both paths", "Difference"),
        default="Both paths",
        required=True,
        key=f"{prefix}.what",
    )
    drawn = policy_paths.paths if what == "Both paths" else policy_paths.contrast
    st.plotly_chart(
        drawn(found, theme_name()),
        theme=None,
        key=f"{prefix}.chart",
        alt="Paths of the state variables after either action",
    )
    for key in ("why_not", "what_if"):
        for text in found.values["sentences"].get(key, []):
            st.caption(plain(text))
    with st.expander("How good the effect models are"):
        st.dataframe(
            [
                {
                    "next": one["target"],
                    "held-out R²": one["r2"],
                    "inside the 90 % interval": one["coverage"],
                }
                for one in found.values["errors"]
            ],
            hide_index=True,
            alt="Held-out error and calibration of the effect models",
        )


def other_states(found: PolicyExplanation) -> None:
    """States nearby in which the agent would have done the other thing."""
    told, arrays = found.values, found.arrays
    states, changed = arrays["counterfactuals/states"], arrays["counterfactuals/changed"] > 0
    instead = plain(told["action_names"][told["instead"]])
    if not len(states):
        st.info(f"In no visited state does the agent choose {instead}.", icon=":material/search:")
        return
    st.markdown(f"States near this one in which the agent chooses **{instead}**:")
    importance = arrays["counterfactuals/importance"]
    st.dataframe(
        [
            {
                name: f"{value_words(told, i, value)}{'  ←' if moved else ''}"
                for i, (name, value, moved) in enumerate(
                    zip(told["variable_names"], row, marks, strict=True)
                )
            }
            for row, marks in zip(states.tolist(), changed.tolist(), strict=True)
        ],
        hide_index=True,
        alt="Other states",
    )
    shares = (
        f"{plain(name)} {share:.0%}"
        for name, share in zip(told["variable_names"], importance, strict=True)
    )
    st.caption("An arrow marks what differs. Changed in: " + ", ".join(shares) + ".")


def pursuits(found: PolicyExplanation) -> None:
    """Regions of the state space and what choices rest on there."""
    for region in found.values["pursuits"]:
        with st.container(border=True):
            st.markdown(
                f"**{plain(region['rule'])}** · {region['share']:.0%} of the visited states"
            )
            named = [f"{plain(c['variable'])} ({c['share']:.0%})" for c in region["causes"]]
            causes = ", ".join(named)
            st.markdown(
                f"Choices rest on {causes or 'no variable'}; mostly **{plain(region['action'])}** "
                f"({region['action_share']:.0%})."
            )
            parts = [f"{plain(e['target'])} {e['effect']:+.3g}" for e in region["effects"]]
            if parts:
                st.caption("Against the mean of all actions it moves " + ", ".join(parts) + ".")
