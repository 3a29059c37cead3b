"""Which column of a table of trajectories is what: a guess by name, for a person to mend."""

from __future__ import annotations

from backend.explanation import Frozen
from backend.tables.frame import Frame

NEXT = "next "
_KNOWN: dict[str, frozenset[str]] = {
    "episode": frozenset({"episode", "episodes", "ep", "episode_id", "trajectory", "traj", "id"}),
    "step": frozenset({"step", "steps", "t", "time", "timestep", "time_step"}),
    "action": frozenset({"action", "actions", "a", "act"}),
    "reward": frozenset({"reward", "rewards", "r"}),
    "done": frozenset({"done", "dones", "terminal", "terminals", "terminated"}),
    "truncated": frozenset({"truncated", "timeout", "timeouts"}),
}


class Columns(Frozen):
    """Names of the columns; "" where there is none."""

    episode: str = ""
    step: str = ""
    action: str = ""
    reward: str = ""
    done: str = ""
    truncated: str = ""
    states: tuple[str, ...] = ()


def guess(frame: Frame) -> Columns:
    """The columns by their names: what has no known name and no "next" before it is a state."""
    found: dict[str, str] = {}
    for role, names in _KNOWN.items():
        for column in frame.columns:
            if column.strip().lower() in names and column not in found.values():
                found[role] = column
                break
    states = tuple(
        column for column in frame.columns if column not in found.values() and not after(column)
    )
    return Columns(states=states, **found)


def after(column: str) -> str:
    """The state column whose value after the step this one holds; "" where it holds none."""
    for prefix in ("next ", "next_"):
        if column.lower().startswith(prefix):
            return column[len(prefix) :]
    return ""
