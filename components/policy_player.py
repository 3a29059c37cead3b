"""The episode player: pictures, a slider that keys move, and what the agent might have done."""

from __future__ import annotations

from typing import cast

import numpy as np
import streamlit as st

from backend.explanation import Comparison
from backend.policies import plan
from backend.policies.explanation import Experience, PolicyExplanation, PolicyTarget, Variable
from backend.policies.moment import telling_step
from backend.policies.play_episode import frame
from components import trained_here
from components.figures import policy_actions
from components.plain import plain
from components.session import theme_name
from components.stepper import stepped

TICK = 0.25
"""Seconds from one picture to the next."""


def picked(opened: Comparison, digest: str, experience: Experience, prefix: str) -> PolicyTarget:
    """Show an episode, and let a person pick the moment and the actions that are explained."""
    asked = PolicyTarget.model_validate(plan.moment_of(opened))
    arrays = experience.arrays
    episodes = np.unique(arrays["episodes"])
    now = int(episodes[0]) if asked.episode is None else asked.episode
    left, right = st.columns([1, 1.25], gap="medium")
    with right:
        episode = stepped(f"Episode, 1 to {len(episodes)}", episodes, now, f"{prefix}.episode")
        steps = arrays["steps"][arrays["episodes"] == episode]
        telling = telling_step(experience, episode)
        explained = asked.step if asked.step is not None and episode == now else telling
        explained = int(np.clip(explained, steps.min(), steps.max()))
    with left:
        at = _player(opened, digest, experience, episode, explained, prefix)
    with right:
        _moment(experience, episode, at)
        action, instead = _actions(asked, experience, prefix)
        st.button(
            "Explain this moment",
            key=f"{prefix}.here",
            icon=":material/center_focus_strong:",
            disabled=asked.state is None and (episode, at) == (asked.episode, asked.step),
            on_click=_hold,
            args=(f"{prefix}.wanted", (episode, at)),
            help="Explanations below are of the moment that was asked for last.",
        )
        state = _state(asked, experience, experience.row(episode, at), prefix)
    wanted = st.session_state.pop(f"{prefix}.wanted", None)
    if wanted is None and asked.episode is None:
        wanted = (episode, telling)
    update = {"action": action, "instead": instead, "state": state}
    if wanted is not None:
        update |= {"episode": wanted[0], "step": wanted[1]}
        if asked.episode is not None:
            update["state"] = None
    return asked.model_copy(update=update)


def _state(
    asked: PolicyTarget, experience: Experience, row: int, prefix: str
) -> tuple[float, ...] | None:
    """The state set by hand, from that of the shown moment on; None where none is set."""
    key = f"{prefix}.set"
    with st.expander("Change the state", icon=":material/tune:"), st.form(key, border=False):
        values = [
            _value(variable, float(value), f"{key}.{row}.{i}")
            for i, (variable, value) in enumerate(
                zip(experience.variables, experience.arrays["states"][row], strict=True)
            )
        ]
        if st.form_submit_button("Explain this state", icon=":material/tune:"):
            return tuple(values)
    if asked.state is not None:
        said = ", ".join(
            f"{variable.name} = {_shown(variable, value)}"
            for variable, value in zip(experience.variables, asked.state, strict=False)
        )
        st.caption(f":material/tune: A state set by hand is explained: {plain(said)}.")
    return asked.state


def _value(variable: Variable, now: float, key: str) -> float:
    label = plain(f"{variable.name}, {variable.unit}" if variable.unit else variable.name)
    if variable.kind == "categorical":
        levels = range(len(variable.levels))
        return float(
            st.selectbox(label, levels, index=int(now), format_func=variable.levels.__getitem__,
                         key=key)
        )  # fmt: skip
    if variable.kind == "binary":
        return float(st.checkbox(label, value=bool(now), key=key))
    return float(st.number_input(label, value=now, format="%.4g", step=None, key=key))


def _shown(variable: Variable, value: float) -> str:
    return variable.levels[int(value)] if variable.levels else f"{value:.4g}"


def _hold(key: str, value: tuple[int, int]) -> None:
    st.session_state[key] = value


def _player(
    opened: Comparison,
    digest: str,
    experience: Experience,
    episode: int,
    explained: int,
    prefix: str,
) -> int:
    """The step that is shown."""
    rows = np.flatnonzero(experience.arrays["episodes"] == episode)
    steps = experience.arrays["steps"][rows]
    key = f"{prefix}.step.{episode}"
    if key not in st.session_state:
        st.session_state[key] = explained
    played: PolicyExplanation | None = None
    if experience.environment and "seeds" in experience.origin:
        request = plan.play_request(opened, digest, episode)
        found = trained_here.finished(request, f"{prefix}.play")
        played = None if found is None else cast(PolicyExplanation, found[1])
    else:
        st.caption("A table of trajectories has no pictures; its states are shown beside.")
    if len(steps) == 1:
        return int(steps[0])
    low, high = int(steps.min()), int(steps.max())
    return _scrubber(played, key, low, high)


def _scrubber(played: PolicyExplanation | None, key: str, low: int, high: int) -> int:
    place = st.empty()
    running = bool(st.session_state.get(f"{key}.playing"))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.button("", key=f"{key}.back", icon=":material/skip_previous:", on_click=_move,
                  args=(key, -1, low, high), help="One step back")  # fmt: skip
        st.button("", key=f"{key}.on", icon=":material/skip_next:", on_click=_move,
                  args=(key, 1, low, high), help="One step on")  # fmt: skip
        if played is not None:
            st.button(
                "Stop" if running else "Play",
                key=f"{key}.play",
                icon=":material/stop:" if running else ":material/play_arrow:",
                on_click=_toggle,
                args=(f"{key}.playing",),
            )
    at = int(st.slider("Step", low, high, key=key, help="Arrow keys move it, too."))
    if played is not None:
        _picture(place, played, at, running, key, low, high)
    return at


def _picture(
    place: st.delta_generator.DeltaGenerator,
    played: PolicyExplanation,
    at: int,
    running: bool,
    key: str,
    low: int,
    high: int,
) -> None:
    if not running:
        place.image(frame(played, at - low), width=380)
        return

    @st.fragment(run_every=TICK)
    def film() -> None:
        shown = int(st.session_state.get(f"{key}.film", at))
        st.image(frame(played, shown - low), width=380)
        st.caption(f"Step {shown} of {high}")
        st.session_state[f"{key}.film"] = shown + 1 if shown < high else low

    with place.container():
        film()


def _move(key: str, by: int, low: int, high: int) -> None:
    st.session_state[key] = int(np.clip(st.session_state[key] + by, low, high))


def _toggle(key: str) -> None:
    playing = not st.session_state.get(key)
    st.session_state[key] = playing
    step = key.removesuffix(".playing")
    if playing:
        st.session_state[f"{step}.film"] = st.session_state.get(step, 0)
    elif f"{step}.film" in st.session_state:
        st.session_state[step] = int(st.session_state.pop(f"{step}.film"))


def _moment(experience: Experience, episode: int, step: int) -> None:
    """State, action and reward of a step, and what else the agent might have done."""
    row = experience.row(episode, step)
    arrays = experience.arrays
    taken = experience.action_names[int(arrays["actions"][row])]
    random = " (drawn at random)" if arrays["explored"][row] else ""
    st.markdown(
        f"Step {step}: **{plain(taken)}**{random}, reward {float(arrays['rewards'][row]):.3g}"
    )
    st.plotly_chart(
        policy_actions.actions(experience, row, theme_name()),
        theme=None,
        key="policy.actions",
        alt="Probability or value of each action at this step",
    )


def _actions(
    asked: PolicyTarget, experience: Experience, prefix: str
) -> tuple[int | None, int | None]:
    """Which action is explained, and against which."""
    names = experience.action_names
    options = [-1, *range(len(names))]

    def box(label: str, now: int | None, first: str, key: str) -> int | None:
        found = st.selectbox(
            label,
            options,
            index=options.index(-1 if now is None or now >= len(names) else now),
            format_func=lambda a: first if a < 0 else names[a],
            key=f"{prefix}.{key}.{now}",
        )
        return None if found is None or found < 0 else int(found)

    with st.container(horizontal=True):
        action = box("Why this action", asked.action, "the agent's choice", "action")
        instead = box("and not", asked.instead, "its second choice", "instead")
    return action, None if instead is not None and instead == action else instead
