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


class Acting(Protocol):
    """Something that chooses actions."""

    def probabilities(self, states: np.ndarray) -> np.ndarray:
        """[N, A] float64 of states [N, S]."""

    def act(self, states: np.ndarray) -> np.ndarray:
        """[N] int: the action taken in states [N, S]."""


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

    def probabilities(self, states: np.ndarray) -> np.ndarray:
        """[N, A] float64 of states [N, S]."""
        found = np.zeros((len(states), self.actions))
        found[:, self.forest.classes_] = self.forest.predict_proba(coded(states, self.variables))
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

    everything = np.ones(len(y), dtype=bool)
    tried = held.any() and not held.all()
    agreement = float((fitted(~held).predict(x[held]) == y[held]).mean()) if tried else float("nan")
    return StandIn(
        fitted(everything), experience.variables, len(experience.action_names), agreement
    )
