"""One model of what follows: each target from its causes alone.

Smooth targets by ridge regression on polynomials of the causes, others by a forest of extremely
randomised trees.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from backend.policies.coding import coded
from backend.policies.explanation import Variable
from backend.policies.loco import best_degrees, polynomials, steadied
from backend.policies.polynomial import Basis, Sums
from backend.policies.transitions import Transitions

TREES = 20


@dataclasses.dataclass(frozen=True, eq=False)
class Smooth:
    """Targets as polynomials.

    Attributes:
        weights: [F, S + 1] coefficients of the features of `made`; 0 of those that are no cause's.
    """

    made: Basis
    weights: np.ndarray

    def change(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """[N, S + 1]: how the variables change, and the reward."""
        # A polynomial outside the range it was fitted in runs away: there it goes on as at its rim.
        near = np.clip(states, self.made.least, self.made.most)
        found: np.ndarray = self.made.features(near, actions) @ self.weights
        return found


@dataclasses.dataclass(frozen=True, eq=False)
class Forests:
    """Targets by forests: `forests` has one a target, or its constant where it has no cause."""

    forests: tuple[Any, ...]
    causes: tuple[np.ndarray, ...]
    variables: Sequence[Variable]
    actions: int

    def change(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """[N, K]: changes, or the probability of each value of a categorical; the reward last."""
        parts = _parts(states, actions, self.variables, self.actions)
        found = []
        for forest, causes in zip(self.forests, self.causes, strict=True):
            if len(causes):
                x = np.concatenate([parts[i] for i in causes], axis=1)
                found.append(forest.predict(x).reshape(len(states), -1))
            else:
                found.append(np.repeat(forest[None], len(states), axis=0))
        return np.concatenate(found, axis=1)


Fitted = Smooth | Forests


def fit(transitions: Transitions, present: np.ndarray, seed: int) -> Fitted:
    """A model of the rows that are not held out.

    Args:
        present: [S + 1, S + 1] bool, sources by targets.
    """
    return (_smooth if transitions.smooth else _forests)(transitions, present, seed)


def _smooth(transitions: Transitions, present: np.ndarray, seed: int) -> Smooth:
    made = polynomials(transitions)
    learned = ~transitions.held
    features = made.features(transitions.states[learned], transitions.actions[learned])
    targets = np.concatenate(transitions.targets(), axis=1)[learned]
    limited = np.concatenate(transitions.limited(reward=False), axis=1)[learned]
    count = targets.shape[1]
    sums = Sums.of(features, np.concatenate([targets, limited], axis=1))
    pooled = made.pooled(sums)
    every = steadied(transitions, features, reward=False)
    degrees = best_degrees(transitions, features, made, every, seed)
    weights = np.zeros((features.shape[1], count))
    for j in range(count):
        kept = made.up_to(int(degrees[j]))
        for i in np.flatnonzero(~present[:-1, j]):
            kept &= made.without(int(i))
        both = [j] if np.array_equal(targets[:, j], limited[:, j]) else [j, count + j]
        if present[-1, j]:
            own = sums.ridge(np.repeat(kept, made.actions), both)
        else:
            own = np.repeat(pooled.ridge(kept, both), made.actions, axis=0)
        # Of the fits to all changes and to those with far ones brought in, the nearer one.
        apart = np.abs(features @ own - targets[:, [j]]).mean(axis=0)
        weights[:, j] = own[:, int(apart.argmin())]
    return Smooth(made, weights)


def _forests(transitions: Transitions, present: np.ndarray, seed: int) -> Forests:
    from sklearn.ensemble import ExtraTreesRegressor

    learned = ~transitions.held
    actions = len(transitions.action_names)
    parts = _parts(transitions.states[learned], transitions.actions[learned],
                   transitions.variables, actions)  # fmt: skip
    forests: list[Any] = []
    causes = [np.flatnonzero(present[:, j]) for j in range(present.shape[1])]
    for target, own in zip(transitions.targets(), causes, strict=True):
        if not len(own):
            forests.append(target[learned].mean(axis=0))
            continue
        forest = ExtraTreesRegressor(TREES, min_samples_leaf=2, random_state=seed)
        forest.fit(np.concatenate([parts[i] for i in own], axis=1), np.squeeze(target[learned]))
        forests.append(forest)
    return Forests(tuple(forests), tuple(causes), transitions.variables, actions)


def _parts(
    states: np.ndarray, actions: np.ndarray, variables: Sequence[Variable], count: int
) -> list[np.ndarray]:
    found = [coded(states[:, [i]], [variable]) for i, variable in enumerate(variables)]
    return [*found, (np.arange(count) == actions[:, None]).astype(np.float64)]
