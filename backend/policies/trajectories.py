"""A table of trajectories as an experience: episodes told apart, gaps found, states named."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from pydantic import JsonValue

from backend.errors import InputError, shown
from backend.names import listed
from backend.policies.columns import Columns, after
from backend.policies.explanation import Experience, Variable
from backend.tables.frame import Frame

MOST_LEVELS = 50
"""Values that a column of words, or the action, may take."""
MOST_VARIABLES = 60


@dataclasses.dataclass
class _Table:
    """Columns of the rows that are kept, in order of episode and step."""

    episodes: np.ndarray
    steps: np.ndarray
    states: np.ndarray
    next_states: np.ndarray | None
    actions: np.ndarray
    rewards: np.ndarray
    done: np.ndarray
    truncated: np.ndarray


def build(frame: Frame, columns: Columns) -> Experience:
    """The experience that a table holds.

    A state after a step is that of the next row of its episode, or of columns named `next ...`.
    Where a step is missing the episode is cut in two, and the last row of each part, after which no
    state is known, gives no transition; `origin["notes"]` says how many.

    Raises:
        InputError: a column is missing or cannot be read, or no transition is left.
    """
    _check(frame, columns)
    notes = list(frame.notes)
    variables, states = _states(frame, columns.states)
    follow = {after(name): name for name in frame.columns if after(name)}
    next_states = None
    if columns.states and all(name in follow for name in columns.states):
        named = Frame(frame.name, {n: frame.columns[follow[n]] for n in columns.states})
        next_states = _coded(named, columns.states, variables)
    names, actions = _actions(frame, columns.action)
    table = _Table(
        episodes=_episodes(frame, columns),
        steps=_steps(frame, columns),
        states=states,
        next_states=next_states,
        actions=actions,
        rewards=_number(frame, columns.reward),
        done=_number(frame, columns.done) > 0.5,
        truncated=_number(frame, columns.truncated) > 0.5,
    )
    if not columns.reward:
        notes.append("There is no column of rewards: they are read as 0.")
    table = _complete(table, notes)
    experience = _transitions(frame.name, table, variables, names, notes)
    if not len(experience):
        raise InputError(
            "No two steps follow one another, so there is no transition in it.",
            frame.name,
            "Check which columns are the episode and the step.",
        )
    origin: dict[str, JsonValue] = {
        "file": frame.name,
        "columns": columns.model_dump(mode="json"),
        "notes": list(notes),
    }
    return dataclasses.replace(experience, origin=origin)


def _check(frame: Frame, columns: Columns) -> None:
    if not columns.action:
        raise InputError("No column is the action.", frame.name, "Say which one holds the actions.")
    if not columns.states:
        raise InputError("No column is a state variable.", frame.name, "Choose one or more.")
    if len(columns.states) > MOST_VARIABLES:
        raise InputError(
            f"There are {len(columns.states)} state variables; at most {MOST_VARIABLES} are read.",
            frame.name,
            "Choose those that matter.",
        )
    every = [*columns.states, *(getattr(columns, r) for r in ("episode", "step", "action", "reward",
                                                              "done", "truncated"))]  # fmt: skip
    for name in every:
        if name and name not in frame.columns:
            raise InputError(f"There is no column '{shown(name)}'.", frame.name)
    given = [name for name in every if name]
    twice = sorted({name for name in given if given.count(name) > 1})
    if twice:
        raise InputError(f"Column {listed(twice)} has two roles.", frame.name, "Give it one.")


def _states(frame: Frame, names: tuple[str, ...]) -> tuple[tuple[Variable, ...], np.ndarray]:
    variables = []
    for name in names:
        cells = frame.columns[name]
        if frame.numeric(name):
            values = np.unique(cells[~np.isnan(cells)])
            two = len(values) == 2 and set(values) <= {0.0, 1.0}
            variables.append(Variable(name=shown(name, 80), kind="binary" if two else "numeric"))
            continue
        levels = sorted({str(cell) for cell in cells if cell != ""})
        if len(levels) > MOST_LEVELS:
            raise InputError(
                f"Column '{shown(name)}' holds {len(levels):,} different words; at most "
                f"{MOST_LEVELS} are read.",
                frame.name,
                "Is it a state variable? Leave it out, or write numbers.",
            )
        variables.append(Variable(name=shown(name, 80), kind="categorical", levels=tuple(levels)))
    found = tuple(variables)
    return found, _coded(frame, names, found)


def _coded(frame: Frame, names: tuple[str, ...], variables: tuple[Variable, ...]) -> np.ndarray:
    """[n, S] float64; NaN where a cell is empty."""
    parts = []
    for name, variable in zip(names, variables, strict=True):
        cells = frame.columns[name]
        if variable.kind != "categorical":
            if not frame.numeric(name):
                raise InputError(f"Column '{shown(name)}' holds words.", frame.name)
            if np.isinf(cells).any():
                raise InputError(
                    f"Column '{shown(name)}' holds an infinity.",
                    frame.name,
                    "Bring finite numbers.",
                )
            parts.append(cells.astype(np.float64))
            continue
        number = {level: float(k) for k, level in enumerate(variable.levels)}
        parts.append(np.array([number.get(str(cell), np.nan) for cell in cells]))
    return np.stack(parts, axis=1)


def _actions(frame: Frame, column: str) -> tuple[tuple[str, ...], np.ndarray]:
    """Names of the actions, and [n] float64 of which was taken; NaN where a cell is empty."""
    cells, numeric = frame.columns[column], frame.numeric(column)
    missing = frame.missing(column)
    if numeric and ((cells[~missing] % 1) != 0).any():
        raise InputError(
            f"Column '{shown(column)}' holds fractions: actions from a continuous range are not "
            "explained.",
            frame.name,
            "Bring one number or word for each kind of action.",
        )
    values = sorted({cell for cell in cells[~missing].tolist()})
    if not 1 <= len(values) <= MOST_LEVELS:
        raise InputError(
            f"Column '{shown(column)}' holds {len(values):,} different actions; 1 to {MOST_LEVELS} "
            "are read.",
            frame.name,
            "Is it the action? Bring one number or word for each kind of action.",
        )
    number = {value: float(k) for k, value in enumerate(values)}
    names = tuple(shown(f"{v:g}" if numeric else str(v), 40) for v in values)
    return names, np.array([number.get(cell, np.nan) for cell in cells.tolist()])


def _episodes(frame: Frame, columns: Columns) -> np.ndarray:
    """[n] int: which episode; without a column a new one begins where steps do not go on."""
    if columns.episode:
        cells = frame.columns[columns.episode]
        _, first, which = np.unique(cells.astype(str), return_index=True, return_inverse=True)
        order = np.argsort(np.argsort(first))
        return np.asarray(order[which])
    rows = len(frame)
    begins = np.zeros(rows, dtype=bool)
    if columns.step:
        begins[1:] = np.diff(_number(frame, columns.step)) <= 0
    elif columns.done or columns.truncated:
        ended = (_number(frame, columns.done) > 0.5) | (_number(frame, columns.truncated) > 0.5)
        begins[1:] = ended[:-1]
    return np.cumsum(begins)


def _steps(frame: Frame, columns: Columns) -> np.ndarray:
    if columns.step:
        cells = _number(frame, columns.step)
        if np.isnan(cells).any() or (cells % 1 != 0).any():
            raise InputError(
                f"Column '{shown(columns.step)}' is no count of steps.",
                frame.name,
                "Bring whole numbers, or choose no column: rows are then taken in their order.",
            )
        return cells
    episodes = _episodes(frame, columns)
    steps = np.zeros(len(frame))
    for episode in np.unique(episodes):
        rows = np.flatnonzero(episodes == episode)
        steps[rows] = np.arange(len(rows))
    return steps


def _number(frame: Frame, column: str) -> np.ndarray:
    """[n] float64 of a column; zeros where there is none; words such as true are 1."""
    if not column:
        return np.zeros(len(frame))
    cells = frame.columns[column]
    if frame.numeric(column):
        return cells.astype(np.float64)
    words = np.array([str(cell).lower() for cell in cells])
    if not np.isin(words, ["true", "false", "yes", "no", ""]).all():
        raise InputError(
            f"Column '{shown(column)}' holds words, no numbers.", frame.name, "Choose another one."
        )
    return np.isin(words, ["true", "yes"]).astype(np.float64)


def _complete(table: _Table, notes: list[str]) -> _Table:
    """The rows without an empty cell, by episode and step."""
    whole = ~(
        np.isnan(table.states).any(axis=1) | np.isnan(table.actions) | np.isnan(table.rewards)
    )
    if table.next_states is not None:
        whole &= ~np.isnan(table.next_states).any(axis=1)
    if not whole.all():
        notes.append(f"{int((~whole).sum()):,} rows with an empty cell are left out.")
    order = np.lexsort((table.steps, table.episodes))
    order = order[whole[order]]
    keys = np.stack([table.episodes[order], table.steps[order]], axis=1)
    if len(keys) > 1 and (np.diff(keys, axis=0) == 0).all(axis=1).any():
        row = int(np.flatnonzero((np.diff(keys, axis=0) == 0).all(axis=1))[0])
        raise InputError(
            f"Step {keys[row, 1]:g} is there twice in one episode.",
            todo="Check which columns are the episode and the step.",
        )
    fields: dict[str, Any] = {f.name: getattr(table, f.name) for f in dataclasses.fields(table)}
    kept: dict[str, Any] = {n: None if a is None else a[order] for n, a in fields.items()}
    return _Table(**kept)


def _transitions(
    name: str,
    table: _Table,
    variables: tuple[Variable, ...],
    actions: tuple[str, ...],
    notes: list[str],
) -> Experience:
    same = np.diff(table.episodes) == 0
    goes_on = np.concatenate([same & (np.diff(table.steps) == 1), [False]])
    gaps = int((same & (np.diff(table.steps) != 1)).sum())
    if gaps:
        notes.append(f"Steps are missing in {gaps:,} places: the episode is cut there.")
    part = np.concatenate([[0], np.cumsum(~goes_on[:-1])]).astype(int)
    kept = goes_on.copy()
    following = np.roll(table.states, -1, axis=0)
    if table.next_states is not None:
        following, kept = table.next_states, np.ones(len(kept), dtype=bool)
    left = int((~kept).sum())
    if left:
        notes.append(f"After {left:,} last steps no state is known: they give no transition.")
    ends = kept & ~(goes_on & np.roll(kept, -1))
    starts = np.searchsorted(part, part[kept], side="left")
    numbers = np.unique(part[kept], return_inverse=True)[1] if kept.any() else part[kept]
    done = table.done & kept
    return Experience(
        arrays={
            "states": table.states[kept].astype(np.float32),
            "actions": table.actions[kept].astype(np.int32),
            "rewards": table.rewards[kept].astype(np.float32),
            "next_states": following[kept].astype(np.float32),
            "terminated": done[kept].astype(np.uint8),
            "truncated": (ends & ~done)[kept].astype(np.uint8),
            "episodes": numbers.astype(np.int32),
            "steps": (np.flatnonzero(kept) - starts).astype(np.int32),
            "explored": np.zeros(int(kept.sum()), dtype=np.uint8),
        },
        title=shown(name),
        variables=variables,
        action_names=actions,
    )
