"""Who acts: the agent where one is known, else a classifier of the recorded actions."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from backend.policies.agent import agent_of
from backend.policies.coding import coded
from backend.policies.explanation import Experience, Variable

TREES = 100
HELD_OUT = 0.3
FEW = 1000
"""Rows up to which the flat forest is the faster one."""


class Acting(Protocol):
    """Something that chooses actions."""

    def probabilities(self, states: np.ndarray) -> np.ndarray:
        """[N, A] float64 of states [N, S]."""

    def act(self, states: np.ndarray) -> np.ndarray:
        """[N] int: the action taken in states [N, S]."""


@dataclasses.dataclass(frozen=True, eq=False)
class FlatForest:
    """A forest's trees as arrays of their M nodes, for few rows at a time.

    Asking scikit-learn costs milliseconds even for one row; an explanation asks a thousand times.

    Attributes:
        feature, left, right: [M] int; of a leaf, `left` and `right` are itself.
        threshold: [M]. value: [M, k], shares of the classes. roots: [trees]. depth: of the deepest.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray
    roots: np.ndarray
    depth: int

    @classmethod
    def of(cls, forest: Any) -> FlatForest:
        """The trees of a classifier of scikit-learn."""
        trees = [each.tree_ for each in forest.estimators_]
        sizes = [tree.node_count for tree in trees]
        roots = np.cumsum([0, *sizes[:-1]])
        start = np.repeat(roots, sizes)
        own = np.arange(sum(sizes))

        def joined(name: str) -> np.ndarray:
            return np.concatenate([getattr(tree, name) for tree in trees])

        left, right = joined("children_left"), joined("children_right")
        leaf = left < 0
        value = joined("value")[:, 0]
        return cls(
            feature=np.where(leaf, 0, joined("feature")),
            threshold=joined("threshold"),
            left=np.where(leaf, own, left + start),
            right=np.where(leaf, own, right + start),
            value=value / value.sum(axis=1, keepdims=True),
            roots=roots,
            depth=max(tree.max_depth for tree in trees),
        )

    def shares(self, x: np.ndarray) -> np.ndarray:
        """[N, k] float64: mean shares of the classes for rows [N, in]."""
        x = x.astype(np.float32)  # as scikit-learn compares
        rows = np.arange(len(x))[:, None]
        at = np.tile(self.roots, (len(x), 1))
        for _ in range(self.depth):
            goes_left = x[rows, self.feature[at]] <= self.threshold[at]
            at = np.where(goes_left, self.left[at], self.right[at])
        return np.asarray(self.value[at].mean(axis=1))


@dataclasses.dataclass(frozen=True, eq=False)
class StandIn:
    """A forest fitted to recorded actions.

    Attributes:
        agreement: share of held-out actions it repeats.
    """

    forest: Any
    variables: Sequence[Variable]
    actions: int
    agreement: float
    flat: FlatForest

    def probabilities(self, states: np.ndarray) -> np.ndarray:
        """[N, A] float64 of states [N, S]."""
        found = np.zeros((len(states), self.actions))
        x = coded(states, self.variables)
        few = len(x) <= FEW
        shares = self.flat.shares(x) if few else self.forest.predict_proba(x)
        found[:, self.forest.classes_] = shares
        return found

    def act(self, states: np.ndarray) -> np.ndarray:
        """[N] int: the action taken most often in states like these."""
        found: np.ndarray = self.probabilities(states).argmax(axis=1)
        return found

    def note(self) -> str:
        """What a person must know of it."""
        return (
            "No agent is known: a forest fitted to the recorded actions stands in, and repeats "
            f"{self.agreement:.1%} of those held out."
        )


def acting(experience: Experience, seed: int) -> tuple[Acting, tuple[str, ...]]:
    """Who acts in an experience, and what a person must know of that."""
    agent = agent_of(experience)
    if agent is not None:
        return agent, ()
    found = stand_in(experience, seed)
    return found, (found.note(),)


def stand_in(experience: Experience, seed: int) -> StandIn:
    """A forest fitted to the recorded actions, those drawn at random left out where there are
    others."""
    from sklearn.ensemble import ExtraTreesClassifier

    arrays = experience.arrays
    chosen = np.flatnonzero(arrays["explored"] == 0)
    if not len(chosen):
        chosen = np.arange(len(experience))
    x = coded(arrays["states"][chosen].astype(np.float64), experience.variables)
    y = arrays["actions"][chosen].astype(int)
    held = np.random.default_rng([seed, 4]).random(len(y)) < HELD_OUT

    def fitted(rows: np.ndarray) -> Any:
        forest = ExtraTreesClassifier(TREES, min_samples_leaf=2, random_state=seed)
        return forest.fit(x[rows], y[rows])

    whole = fitted(np.ones(len(y), dtype=bool))
    tried = held.any() and not held.all()
    agreement = float((fitted(~held).predict(x[held]) == y[held]).mean()) if tried else float("nan")
    actions = len(experience.action_names)
    return StandIn(whole, experience.variables, actions, agreement, FlatForest.of(whole))
