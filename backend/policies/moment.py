"""Which moment of an experience is explained: its state, the action, and what it is set against."""

from __future__ import annotations

import dataclasses

import numpy as np

from backend.errors import InputError, shown
from backend.policies.agent import agent_of
from backend.policies.explanation import Experience, PolicyTarget

NEAR = 200
"""Transitions near a state that tell what else is done there, where no agent is known."""


@dataclasses.dataclass(frozen=True, eq=False)
class Moment:
    """One moment of an experience.

    Attributes:
        episode, step, row: where in the experience; None where the state was set by hand.
        state: [S] float32.
        action: the action that is explained. instead: the one it is set against.
        probabilities: [A] float64 of the agent at the state; None without an agent.
    """

    episode: int | None
    step: int | None
    row: int | None
    state: np.ndarray
    action: int
    instead: int
    probabilities: np.ndarray | None


def moment(experience: Experience, target: PolicyTarget) -> Moment:
    """The moment that a target asks for.

    Without an action in the target it is the agent's most probable one, or without an agent the
    recorded one; without a contrast, the agent's second choice, or what is most often done instead
    in the recorded states nearest to this one.

    Raises:
        InputError: there are no transitions, no such episode, step or action, or the state set by
            hand is none of this environment's.
    """
    if not len(experience):
        raise InputError(
            "There are no transitions yet.", todo="Collect some, or bring a table of trajectories."
        )
    if target.state is None:
        at = _row(experience, target)
        row: int | None = at
        state = experience.arrays["states"][at].astype(np.float32)
    else:
        row, state = None, _given(experience, target.state)
    agent = agent_of(experience)
    probabilities = None if agent is None else agent.probabilities(state[None])[0]
    taken = _frequencies(experience, state) if probabilities is None else probabilities
    action = target.action
    if action is None:
        recorded = row is not None and probabilities is None
        action = int(experience.arrays["actions"][row]) if recorded else int(taken.argmax())
    instead = target.instead
    if instead is None:
        others = np.array(taken, dtype=np.float64)
        others[min(action, len(others) - 1)] = -1
        instead = int(others.argmax())
    for number in (action, instead):
        if number >= len(experience.action_names):
            last = len(experience.action_names) - 1
            raise InputError(f"There is no action {number}.", todo=f"Choose from 0 to {last}.")
    if action == instead and len(experience.action_names) > 1:
        name = shown(experience.action_names[action])
        raise InputError(f"The action {name} is set against itself.", todo="Choose another one.")
    arrays = experience.arrays
    return Moment(
        episode=None if row is None else int(arrays["episodes"][row]),
        step=None if row is None else int(arrays["steps"][row]),
        row=row,
        state=state,
        action=action,
        instead=instead,
        probabilities=probabilities,
    )


def _row(experience: Experience, target: PolicyTarget) -> int:
    episodes, steps = experience.arrays["episodes"], experience.arrays["steps"]
    episode = int(episodes[0]) if target.episode is None else target.episode
    there = steps[episodes == episode]
    if not len(there):
        known = np.unique(episodes)
        raise InputError(
            f"There is no episode {episode}.", todo=f"Choose from {known[0]} to {known[-1]}."
        )
    step = telling_step(experience, episode) if target.step is None else target.step
    if step not in there:
        raise InputError(
            f"Episode {episode} has no step {step}.",
            todo=f"Choose from {there.min()} to {there.max()}.",
        )
    return experience.row(episode, step)


def telling_step(experience: Experience, episode: int) -> int:
    """The step in the middle half of an episode at which the agent is most decided.

    That is where the two highest outputs are furthest apart; without an agent it is the middle.
    """
    rows = np.flatnonzero(experience.arrays["episodes"] == episode)
    steps = experience.arrays["steps"][rows]
    agent, count = agent_of(experience), len(rows)
    if agent is None or len(experience.action_names) < 2:
        return int(steps[count // 2])
    half = rows[count // 4 : max(count // 4 + 1, 3 * count // 4)]
    outputs = np.sort(agent.outputs(experience.arrays["states"][half]), axis=1)
    best = int((outputs[:, -1] - outputs[:, -2]).argmax())
    return int(experience.arrays["steps"][half[best]])


def _given(experience: Experience, state: tuple[float, ...]) -> np.ndarray:
    count = len(experience.variables)
    if len(state) != count:
        raise InputError(
            f"The state has {len(state)} numbers.",
            todo=f"It needs {count}: {shown(', '.join(experience.names), 200)}.",
        )
    for value, variable in zip(state, experience.variables, strict=True):
        if not np.isfinite(value):
            raise InputError("A finite number is needed.", shown(variable.name))
        if variable.kind == "categorical" and (
            value != int(value) or not 0 <= value < len(variable.levels)
        ):
            last = len(variable.levels) - 1
            raise InputError(
                f"{value:g} is not one of its values.",
                shown(variable.name),
                f"Give a whole number from 0 to {last}.",
            )
    return np.array(state, dtype=np.float32)


def _frequencies(experience: Experience, state: np.ndarray) -> np.ndarray:
    """[A] float64: how often each action was taken in the recorded states nearest to this one."""
    states = experience.arrays["states"].astype(np.float64)
    spread = states.std(axis=0)
    apart = (((states - state) / np.where(spread > 0, spread, 1)) ** 2).sum(axis=1)
    near = np.argsort(apart, kind="stable")[:NEAR]
    counts = np.bincount(experience.arrays["actions"][near], minlength=len(experience.action_names))
    return np.asarray(counts / counts.sum())
