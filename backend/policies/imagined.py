"""Paths that the effect models imagine, with a band that holds whole paths, and the true ones.

The band around a path is made by split conformal prediction (Lei et al., JASA 2018): on held-out
stretches of H steps the models follow the recorded actions; the error of every variable is divided
by its mean at that step, and the 95 % quantile over stretches of the largest of these ratios says
how wide the band is everywhere.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from backend.errors import InputError
from backend.policies.acting import Acting
from backend.policies.effects import EffectModels
from backend.policies.environment import find
from backend.policies.explanation import Experience

COVERED = 0.95
MOST_STRETCHES = 400
FEWEST_STRETCHES = 20


@dataclasses.dataclass(frozen=True, eq=False)
class Path:
    """Attributes:
    expected, low, high: [H + 1, S + 1], the state at each step, then the reward so far.
    """

    expected: np.ndarray
    low: np.ndarray
    high: np.ndarray


def band(
    models: EffectModels, horizon: int, generator: np.random.Generator
) -> tuple[np.ndarray, int]:
    """[H + 1, S + 1] half-widths that hold 95 % of held-out paths whole, and from how many.

    Half-widths are infinite where there are too few held-out stretches to say.
    """
    transitions = models.transitions
    starts = _stretches(models, horizon)
    starts = generator.permutation(starts)[:MOST_STRETCHES]
    size = len(transitions.variables) + 1
    if len(starts) < FEWEST_STRETCHES:
        return np.full((horizon + 1, size), np.inf), len(starts)
    states = transitions.states[starts]
    said, true = np.zeros(len(starts)), np.zeros(len(starts))
    errors = np.zeros((horizon + 1, len(starts), size))
    for step in range(horizon):
        rows = starts + step
        states, rewards = models.follow(states, transitions.actions[rows])
        said, true = said + rewards, true + transitions.rewards[rows]
        errors[step + 1, :, :-1] = np.abs(states - transitions.next_states[rows])
        errors[step + 1, :, -1] = np.abs(said - true)
    scale = errors.mean(axis=1) + 1e-6 * np.abs([*transitions.states.std(axis=0), 1.0])
    # What never moves is never missed: its band has no width.
    ratios = (errors / np.where(scale > 0, scale, 1.0)[:, None]).max(axis=(0, 2))
    level = min(1.0, np.ceil((len(ratios) + 1) * COVERED) / len(ratios))
    widths = scale * np.quantile(ratios, level)
    widths[0] = 0
    return widths, len(starts)


def imagine(
    models: EffectModels, agent: Acting, state: np.ndarray, action: int, widths: np.ndarray
) -> Path:
    """The path from a state [S] on: the action is taken first, then the agent chooses."""
    horizon, size = len(widths) - 1, len(state) + 1
    states = np.repeat(state[None].astype(float), len(models.models), axis=0)
    totals, alive = np.zeros(len(states)), np.ones(len(states), dtype=bool)
    found = np.zeros((horizon + 1, len(states), size))
    found[0, :, :-1] = states
    for step in range(horizon):
        going = np.flatnonzero(alive)
        taken = np.full(len(states), action)
        if step and len(going):  # asked once: a forest that stands in takes its time
            taken[going] = agent.act(states[going])
        for number in going:
            one, own = states[[number]], taken[[number]]
            after, reward = models.follow(one, own, model=int(number))
            states[number], totals[number] = after[0], totals[number] + reward[0]
        alive &= ~models.ended(states)
        found[step + 1, :, :-1], found[step + 1, :, -1] = states, totals
    low = np.minimum(found.min(axis=1), found[:, 0] - widths)
    high = np.maximum(found.max(axis=1), found[:, 0] + widths)
    return Path(found[:, 0], low, high)


def true_path(
    experience: Experience, agent: Acting, state: np.ndarray, action: int, horizon: int
) -> np.ndarray | None:
    """[H' + 1, S + 1] of the true environment, shorter where the episode ends; None where none is
    known or it cannot be put into a state.
    """
    if not experience.environment or not find(experience.environment).settable:
        return None
    from backend.policies.world import World

    with World(find(experience.environment)) as world:
        try:
            now = world.set_state(state)
        except InputError:
            return None
        total, found = 0.0, [np.array([*now, 0.0])]
        for step in range(horizon):
            taken = action if step == 0 else int(agent.act(now[None])[0])
            outcome = world.step(taken)
            now, total = outcome.state, total + outcome.reward
            found.append(np.array([*now, total]))
            if outcome.terminated:
                break
    return np.stack(found)


def contrast(path: Path, other: Path) -> Path:
    """One path less another; the half-widths of both are added."""
    difference = path.expected - other.expected
    below = (path.expected - path.low) + (other.high - other.expected)
    above = (path.high - path.expected) + (other.expected - other.low)
    return Path(difference, difference - below, difference + above)


def _stretches(models: EffectModels, horizon: int) -> np.ndarray:
    """Rows from which on `horizon` held-out rows follow one another."""
    transitions = models.transitions
    good = transitions.held.copy()
    joined = transitions.follows & good
    for step in range(1, horizon):
        good[:-step] &= joined[step:]
        good[-step:] = False
    return np.flatnonzero(good)
