"""Bring an agent's experience: from an environment, with an agent of one's own, or as a table."""

from __future__ import annotations

import dataclasses
from typing import cast

import streamlit as st

from backend.errors import InputError
from backend.explainer import Family
from backend.explanation import Comparison, Explanation, ModelRef, Request
from backend.policies import prepared, read_agent
from backend.policies.environment import OWN, find
from backend.policies.explanation import (
    Collecting,
    Experience,
    PolicyTarget,
    Training,
)
from backend.settings import settings
from components import policy_table, trained_here
from components.forms import form, seed_form
from components.held_file import held_file
from components.plain import plain
from components.session import engine, keep_input

ALONG, ANEW = "Comes along", "Train another"


@dataclasses.dataclass(frozen=True)
class Source:
    """What a person chose, and how its experience comes to be."""

    model: ModelRef
    given: Experience
    training: Training | None
    collecting: Collecting | None


def model(family: Family, prefix: str) -> str:
    """Pick an environment or what stands for one's own table; returns the preset's id."""
    titles = {preset.id: preset.title for preset in family.presets}
    picked = st.selectbox(
        "Agent and environment",
        list(titles),
        format_func=titles.__getitem__,
        key=f"{prefix}.model",
        persist_state="session",
    )
    note = next(preset.note for preset in family.presets if preset.id == picked)
    if note:
        st.caption(note)
    return str(picked)


def training(preset: str, prefix: str) -> tuple[Experience, Training | None]:
    """An agent of one's own, or how one is trained where none comes along."""
    if preset == OWN:
        return Experience.none(), None
    brought = _agent(prefix)
    if len(brought.arrays):
        return brought, None
    if find(preset).agent:
        which = st.segmented_control(
            "Agent",
            (ALONG, ANEW),
            default=ALONG,
            required=True,
            key=f"{prefix}.which",
            help="Another one is trained here by the environment's recipe; that takes minutes.",
            persist_state="session",
        )
        if which == ALONG:
            return brought, None
    with st.expander(Training.HEADING):
        return brought, Training.model_validate(form(Training, f"{prefix}.training"))


def given(
    preset: str,
    brought: Experience,
    trained: Training | None,
    opened: Comparison | None,
    prefix: str,
) -> Source | None:
    """How experience is collected, or the uploaded table; None until a table is read.

    Args:
        opened: what the page shows; its table is used again where no other is brought.
    """
    ref = ModelRef(name=preset)
    if preset != OWN:
        environment = find(preset)
        st.markdown(f"**{environment.title}**")
        names, actions = [v.name for v in environment.variables], environment.action_names
        st.caption(
            f"{len(names)} state variables: {plain(', '.join(names))}. "
            f"{len(actions)} actions: {plain(', '.join(actions))}."
        )
        with st.expander(Collecting.HEADING):
            asked = Collecting.model_validate(form(Collecting, f"{prefix}.collecting"))
        return Source(ref, brought, trained, asked)
    table = policy_table.uploaded(prefix)
    if table is None and opened is not None and opened.model == ref:
        table = cast(Experience | None, engine().get_input(opened.family, opened.input))
        if table is not None:
            st.caption(f":material/table: The table that is shown below: {plain(table.title)}.")
    return None if table is None else Source(ref, table, None, None)


def seed(opened: Comparison, prefix: str) -> None:
    """Set the widgets as an opened comparison has them."""
    st.session_state[f"{prefix}.model"] = opened.model.name
    asked = PolicyTarget.model_validate(opened.target)
    st.session_state[f"{prefix}.which"] = ALONG if asked.training is None else ANEW
    if asked.training is not None:
        seed_form(Training, f"{prefix}.training", asked.training.model_dump(mode="json"))
    if asked.collecting is not None:
        seed_form(Collecting, f"{prefix}.collecting", asked.collecting.model_dump(mode="json"))


def experience(opened: Comparison, prefix: str) -> tuple[str, Experience] | None:
    """The experience a comparison is about and its digest; until it is there, its progress."""
    given = cast(Experience | None, engine().get_input(opened.family, opened.input))
    if given is None:
        st.warning("The input is no longer stored. Bring it again.", icon=":material/history:")
        return None

    def finish(request: Request) -> Explanation | None:
        found = trained_here.finished(request, f"{prefix}.{request.explainer}")
        return None if found is None else found[1]

    def keep(made: Experience) -> str:
        digest, _ = _digest(_id(made), made, opened.family)
        keep_input(digest, made, opened.family)
        return digest

    return prepared.experience(opened, given, finish, keep)


def _id(made: Experience) -> int:
    """Explanations stay decoded, so that the arrays of one are the same objects on every run."""
    return id(next(iter(made.arrays.values()), None))


@st.cache_resource(max_entries=8, show_spinner=False)
def _digest(arrays: int, _made: Experience, family: str) -> tuple[str, Experience]:  # noqa: ARG001
    """Hashed once, not whenever the page runs; the experience beside it keeps the arrays alive."""
    return engine().put_input(_made, family), _made


def facts(found: Experience) -> None:
    """The experience in numbers."""
    arrays = found.arrays
    returns = [
        float(arrays["rewards"][arrays["episodes"] == episode].sum())
        for episode in sorted(set(arrays["episodes"].tolist()))[:400]
    ]
    agent = found.origin.get("agent")
    cells = {
        "Transitions": f"{len(found):,}",
        "Episodes": f"{len(returns):,}",
        "Return here": f"{sum(returns) / max(1, len(returns)):,.1f}",
        "Random actions": f"{float(arrays['explored'].mean()):.0%}",
    }
    if isinstance(agent, dict) and "mean_return" in agent:
        mean, spread = (float(str(agent[key])) for key in ("mean_return", "sd_return"))
        cells["Agent's return"] = f"{mean:,.0f} ± {spread:,.0f}"
    with st.container(horizontal=True, gap="medium"):
        for name, value in cells.items():
            st.metric(name, value, border=True, width="content")
    for note in cast(list[str], found.origin.get("notes") or []):
        st.caption(f":material/info: {plain(str(note))}")


def _agent(prefix: str) -> Experience:
    with st.expander("An agent of your own", icon=":material/attach_file:"):
        file = held_file(
            f"{prefix}.agent",
            "Weights of a policy (optional)",
            (".zip", ".safetensors"),
            "A zip that stable-baselines3 saved (PPO, A2C or DQN on plain states), or weights "
            "named 0.weight, 0.bias, 1.weight, ... as safetensors. Nothing in the file is run.",
            settings().max_table_mb,
        )
        if file is None:
            return Experience.none()
        try:
            return read_agent.brought(*file, settings().max_table_mb)
        except InputError as error:
            st.error(plain(str(error)), icon=":material/error:")
            return Experience.none()
