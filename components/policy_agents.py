"""Several agents side by side: what each does in the same state, why, and what it pursues."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import cast

import numpy as np
import streamlit as st

from backend.errors import InputError
from backend.explanation import Comparison, Request
from backend.policies import plan, read_agent
from backend.policies.causal_xrl import CausalXRL
from backend.policies.environment import OWN, find
from backend.policies.explanation import Experience, PolicyExplanation, PolicyTarget, Training
from backend.policies.structure import SURE
from backend.policies.structure_metrics import differing
from backend.settings import settings
from components import compare, policy_source, policy_views
from components.compare import Item
from components.figures import policy_bars
from components.forms import form
from components.plain import plain
from components.session import engine, theme_name

MOST = 4
"""Agents beside the explained one."""


@dataclasses.dataclass(frozen=True)
class Other:
    """An agent to set beside: how it is called, its input, and how it is trained if it is."""

    name: str
    input: str
    training: Training | None


@dataclasses.dataclass(frozen=True)
class Shown:
    """An agent with the experience it made and what explains its choice in the state."""

    name: str
    experience: Experience
    items: Sequence[Item]


def panel(opened: Comparison, experience: Experience, done: Sequence[Item], prefix: str) -> None:
    """Pick other agents of the environment, and see them beside the explained one."""
    if opened.model.name == OWN:
        st.info("A table has no environment for other agents to act in.", icon=":material/groups:")
        return
    ranked = policy_views.ranked(done)
    if not ranked:
        st.info("Add a method that scores state variables.", icon=":material/groups:")
        return
    st.caption(
        "Other agents of the same environment collect experience in the same way and are put into "
        "the same state. Each one's own choice there is explained, by the methods above."
    )
    others = _picked(opened, prefix)
    if not others:
        return
    state = cast(PolicyExplanation, ranked[0].explanation)
    shown = [Shown("the agent above", experience, done)]
    for number, other in enumerate(others):
        found = _explained(opened, other, state, f"{prefix}.{number}")
        if found is not None:
            shown.append(found)
    titles = [item.title for item in ranked]
    title = st.selectbox("Bars by", titles, key=f"{prefix}.by", width=320)
    explainer = ranked[titles.index(str(title))].request.explainer
    _beside(shown, explainer, prefix)
    _graphs(shown)


def _picked(opened: Comparison, prefix: str) -> list[Other]:
    key = f"{prefix}.others.{opened.model.name}"
    held: list[Other] = st.session_state.setdefault(key, [])
    environment = find(opened.model.name)
    with st.expander("Add an agent", icon=":material/add:", expanded=not held):
        left, right = st.columns(2, gap="medium")
        with left:
            st.markdown("**Train another one**")
            asked = Training.model_validate(form(Training, f"{prefix}.training"))
            if st.button("Train and add", key=f"{prefix}.add", disabled=len(held) >= MOST):
                name = f"seed {asked.seed}, length {asked.share:g}"
                _add(held, Other(name, engine().put_input(Experience.none(), "policies"), asked))
        with right:
            st.markdown("**Or bring one**")
            file = st.file_uploader(
                "Weights of a policy", type=["zip", "safetensors"], key=f"{prefix}.file"
            )
            if file is not None and st.button("Add it", key=f"{prefix}.bring"):
                try:
                    brought = read_agent.brought(
                        file.name, file.getvalue(), settings().max_table_mb
                    )
                except InputError as error:
                    st.error(plain(str(error)), icon=":material/error:")
                else:
                    _add(held, Other(file.name, engine().put_input(brought, "policies"), None))
            none = engine().put_input(Experience.none(), "policies")
            asked_for = PolicyTarget.model_validate(opened.target).training
            comes = environment.agent and (asked_for is not None or opened.input != none)
            if comes and st.button("Add the one that comes along", key=f"{prefix}.own"):
                _add(held, Other("the one that comes along", none, None))
    if held:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption("Beside it: " + "; ".join(plain(other.name) for other in held))
            if st.button("Remove all", key=f"{prefix}.clear", type="tertiary"):
                st.session_state[key] = []
                st.rerun()
    return held


def _add(held: list[Other], other: Other) -> None:
    if other not in held and len(held) < MOST:
        held.append(other)


def _explained(
    opened: Comparison, other: Other, state: PolicyExplanation, prefix: str
) -> Shown | None:
    """What there is of another agent; until it is there, its progress is drawn."""
    asked = PolicyTarget.model_validate(opened.target)
    target = asked.model_copy(update={"training": other.training})
    comparison = opened.model_copy(
        update={"input": other.input, "target": target.model_dump(mode="json")}
    )
    with st.container():
        st.markdown(f"**{plain(other.name)}**")
        prepared = policy_source.experience(comparison, prefix)
    if prepared is None:
        return None
    digest, experience = prepared
    there: list[Request] = [
        plan.moved(request, digest, plan.at_state(state, choice=False))
        for request in plan.requests(comparison, digest)
    ]
    items = compare.items(there)
    missing = [item for item in items if item.explanation is None]
    if missing:
        compare.grid(missing, lambda _: None, f"{prefix}.grid")
    return Shown(other.name, experience, [item for item in items if item.explanation is not None])


def _beside(shown: Sequence[Shown], explainer: str, prefix: str) -> None:
    found = [_of(one, explainer) for one in shown]
    there = [one for one in found if one is not None]
    if not there:
        return
    end = policy_bars.largest(there)
    columns = st.columns(min(len(shown), 3), gap="medium")
    for number, (one, explained) in enumerate(zip(shown, found, strict=True)):
        with columns[number % len(columns)], st.container(border=True):
            st.markdown(f"**{plain(one.name)}**")
            st.caption(_told(one.experience))
            if explained is None:
                st.caption("Being explained.")
                continue
            st.plotly_chart(
                policy_bars.bars(explained, theme_name(), limit=end),
                theme=None,
                key=f"{prefix}.bars.{number}",
                alt=f"Scores of the state variables, {one.name}",
            )
            causal = _of(one, CausalXRL.id)
            for kind in ("why", "pursues"):
                for text in [] if causal is None else causal.values["sentences"].get(kind, []):
                    st.caption(plain(text))


def _of(one: Shown, explainer: str) -> PolicyExplanation | None:
    for item in one.items:
        if item.request.explainer == explainer:
            return cast(PolicyExplanation, item.explanation)
    return None


def _told(experience: Experience) -> str:
    arrays = experience.arrays
    own = arrays["explored"] == 0
    agent = experience.origin.get("agent")
    said = ""
    if isinstance(agent, dict) and "mean_return" in agent:
        said = f"Return {float(str(agent['mean_return'])):,.0f}. "
    share = np.bincount(arrays["actions"][own], minlength=len(experience.action_names))
    parts = [
        f"{plain(name)} {part:.0%}"
        for name, part in zip(experience.action_names, share / max(1, share.sum()), strict=True)
    ]
    return f"{said}Its own actions: {', '.join(parts)}."


def _graphs(shown: Sequence[Shown]) -> None:
    """Which edges one agent's experience shows for sure and another's does not."""
    found = [(one.name, _of(one, CausalXRL.id)) for one in shown]
    first = found[0][1]
    if first is None:
        return
    rows = []
    for name, other in found[1:]:
        if other is None:
            continue
        (one, sure_one), (two, sure_two) = _edges(first), _edges(other)
        gone, new = differing(one, two, sure_one, sure_two)
        rows.append(
            {
                "agent": name,
                "edges": int(two.sum()),
                "only in the one above": _named(first, gone),
                "only in this one": _named(first, new),
            }
        )
    if rows:
        st.markdown("**Causal graphs** of what they experience, sure edges that the other lacks")
        st.dataframe(rows, hide_index=True, alt="Edges in which the agents' graphs differ")


def _edges(found: PolicyExplanation) -> tuple[np.ndarray, np.ndarray]:
    present: np.ndarray = found.arrays["graph/present"] > 0
    return present, np.asarray(found.arrays["graph/support"] >= SURE)


def _named(found: PolicyExplanation, edges: Sequence[tuple[int, int]]) -> str:
    told = found.values
    names = [f"{told['source_names'][i]} → {told['target_names'][j]}" for i, j in edges]
    return ", ".join(names) or "none"
