"""Bring a table of trajectories, and say which column is what."""

from __future__ import annotations

import streamlit as st

from backend.errors import InputError
from backend.policies import inputs, trajectories
from backend.policies.columns import Columns, after, guess
from backend.policies.explanation import Experience
from backend.settings import settings
from backend.tables.frame import Frame
from backend.tables.reading import ENDINGS
from components.held_file import File, held_file
from components.plain import plain

NONE = "–"
_ROLES = {
    "episode": (
        "Episode",
        "Tells episodes apart; without one, they begin where steps do.",
    ),
    "step": ("Step", "Counts the steps of an episode; without one, rows are taken in their order."),
    "action": ("Action", "What was done: a number or word for each kind of action."),
    "reward": ("Reward", "What the step brought."),
    "done": ("Ended", "1 where the environment ended the episode."),
    "truncated": ("Cut off", "1 where a limit of time cut the episode off."),
}
_TEMPLATE = """\
episode,step,position,velocity,action,reward,done
0,0,0.00,0.10,right,0,0
0,1,0.10,0.20,right,0,0
0,2,0.30,0.30,left,0,0
0,3,0.60,0.20,left,1,1
1,0,0.05,0.00,right,0,0
1,1,0.05,0.10,right,0,0
1,2,0.15,0.20,right,0,0
1,3,0.35,0.30,left,1,1
"""


def uploaded(prefix: str) -> Experience | None:
    """The table as the widgets have it; None while there is none, with the reason shown."""
    file = held_file(
        f"{prefix}.table",
        "A table of trajectories",
        ENDINGS,
        "A row a step: its episode and number, the state variables before it, the action, the "
        "reward, and whether the episode ended.",
        settings().max_table_mb,
    )
    st.download_button(
        "Template (.csv)",
        _TEMPLATE.encode(),
        "trajectories.csv",
        "text/csv",
        icon=":material/download:",
        key=f"{prefix}.template",
        on_click="ignore",
        type="tertiary",
    )
    if file is None:
        st.caption("Bring a table, or fill in the template.")
        return None
    try:
        frame = _frame(*file)
        found = _built(file, _columns(frame, prefix).model_dump_json())
    except InputError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return None
    st.caption(
        f":material/check: {len(found):,} transitions, {len(found.variables)} state variables, "
        f"{len(found.action_names)} actions."
    )
    return found


@st.cache_resource(max_entries=4, show_spinner="Reading the table")
def _frame(name: str, data: bytes) -> Frame:
    return inputs.read(name, data, settings())


@st.cache_resource(max_entries=4, show_spinner="Reading the table")
def _built(file: File, columns: str) -> Experience:
    return trajectories.build(_frame(*file), Columns.model_validate_json(columns))


def _columns(frame: Frame, prefix: str) -> Columns:
    guessed, names = guess(frame), list(frame.columns)
    key = f"{prefix}.columns.{frame.name}.{len(names)}"
    with st.expander("Columns", expanded=not guessed.action):
        chosen = {}
        for role, (title, about) in _ROLES.items():
            options = [NONE, *names]
            now = getattr(guessed, role) or NONE
            picked = st.selectbox(
                title, options, index=options.index(now), help=about, key=f"{key}.{role}"
            )
            chosen[role] = "" if picked == NONE else str(picked)
        others = [n for n in names if n not in chosen.values() and not after(n)]
        states = st.multiselect(
            "State variables",
            others,
            default=[n for n in guessed.states if n in others],
            key=f"{key}.states.{'.'.join(chosen.values())}",
        )
    return Columns(states=tuple(states), **chosen)
