"""The causal graph at one state: what moving each source would do there, by every model."""

from __future__ import annotations

import dataclasses

import numpy as np

from backend.policies.effects import EffectModels

INTERVAL = (2.5, 97.5)
NOTHING = 1e-3
"""Of the target's deviation: an effect that is smaller is drawn as none."""


@dataclasses.dataclass(frozen=True, eq=False)
class LocalGraph:
    """Effects [S + 1, S + 1] at a state, sources by targets, and their 95 % interval over models.

    An edge is present where the graph has it and the interval excludes zero. A numeric source goes
    up by one standard deviation, a binary one to its other value; the action's row is of one action
    in place of another.
    """

    present: np.ndarray
    effect: np.ndarray
    low: np.ndarray
    high: np.ndarray


def local_graph(models: EffectModels, state: np.ndarray, action: int, instead: int) -> LocalGraph:
    """The graph at a state [S] when the action is taken and not the other one."""
    transitions = models.transitions
    size, spread = len(state) + 1, transitions.spread()
    before = models.draws(state[None].astype(float), np.array([action]))[:, 0]
    found = np.zeros((len(before), size, size))
    for i, variable in enumerate(transitions.variables):
        moved = state.astype(float).copy()
        if variable.kind == "numeric":
            moved[i] += spread[i]
        elif variable.kind == "binary":
            moved[i] = 1 - moved[i]
        else:
            moved[i] = (moved[i] + 1) % len(variable.levels)
        found[:, i] = models.draws(moved[None], np.array([action]))[:, 0] - before
    other = models.draws(state[None].astype(float), np.array([instead]))[:, 0]
    found[:, -1] = before - other
    low, high = np.percentile(found, INTERVAL, axis=0)
    effect = found[0]
    sizes = np.array([*transitions.next_states.std(axis=0), transitions.rewards.std()])
    apart = (low > 0) | (high < 0)
    enough = np.abs(effect) > NOTHING * np.where(sizes > 0, sizes, 1)
    present = models.structure.present & apart & enough
    keep = models.structure.present
    return LocalGraph(present, *(np.where(keep, each, 0.0) for each in (effect, low, high)))
