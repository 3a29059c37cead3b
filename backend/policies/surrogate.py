"""Fitting and reading the decision tree of `tree_surrogate`. Imports scikit-learn: workers only."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from backend.explainer import Run
from backend.policies.acting import acting
from backend.policies.agent import agent_of
from backend.policies.coding import coded, columns
from backend.policies.environment import find
from backend.policies.explanation import Experience
from backend.policies.world import World

HELD_OUT = 0.3
EPISODES = 5
MOST_STATES = 20_000
PLAYED = 3000
"""States that the tree gets into in a round, at most."""


@dataclasses.dataclass(frozen=True, eq=False)
class Surrogate:
    """A fitted tree.

    Attributes:
        fidelity: share of held-out states in which it chooses as the agent.
        tree_return, agent_return: mean return of five episodes, None where none could be played.
    """

    tree: DecisionTreeClassifier
    experience: Experience
    fidelity: float
    tree_return: float | None
    agent_return: float | None
    notes: tuple[str, ...]

    def act(self, states: np.ndarray) -> np.ndarray:
        """[N] int: what it chooses in states [N, S]."""
        return np.asarray(self.tree.predict(coded(states, self.experience.variables)))

    def shares(self, state: np.ndarray, action: int) -> np.ndarray:
        """[S]: tree SHAP of the probability of an action in a state [S]."""
        from shap import TreeExplainer

        classes = list(self.tree.classes_)
        if action not in classes or len(classes) == 1:
            return np.zeros(len(state))
        x = coded(state[None].astype(np.float64), self.experience.variables)
        found = np.asarray(TreeExplainer(self.tree).shap_values(x))
        own = found[0, :, classes.index(action)]
        return np.array([own[part].sum() for part in columns(self.experience.variables)])

    def rule(self, state: np.ndarray) -> str:
        """The decisions on the way to a state's leaf, one bound a variable and side."""
        x = coded(state[None].astype(np.float64), self.experience.variables)
        tree = self.tree.tree_
        owner = [
            (variable, column)
            for variable, part in zip(
                self.experience.variables, columns(self.experience.variables), strict=True
            )
            for column in range(part.stop - part.start)
        ]
        bounds: dict[tuple[int, str], float] = {}
        for node in self.tree.decision_path(x).indices[:-1]:
            feature, limit = int(tree.feature[node]), float(tree.threshold[node])
            side = "≤" if x[0, feature] <= limit else ">"
            known = bounds.get((feature, side), limit)
            bounds[feature, side] = min(known, limit) if side == "≤" else max(known, limit)
        parts = []
        for (feature, side), limit in bounds.items():
            variable, column = owner[feature]
            if variable.kind == "categorical":
                is_so = "is" if side == ">" else "is not"
                parts.append(f"{variable.name} {is_so} {variable.levels[column]}")
            else:
                unit = f" {variable.unit}" if variable.unit else ""
                parts.append(f"{variable.name} {side} {limit:.3g}{unit}")
        return " and ".join(parts) or "whatever the state is"


def fit_tree(experience: Experience, depth: int, rounds: int, run: Run) -> Surrogate:
    """The tree of an experience."""
    generator = run.numpy_generator()
    player, notes = acting(experience, run.seed)
    arrays = experience.arrays
    rows = generator.permutation(len(experience))[:MOST_STATES]
    episodes = np.unique(arrays["episodes"])
    held_out = generator.permutation(episodes)[: max(1, int(HELD_OUT * len(episodes)))]
    held = np.isin(arrays["episodes"][rows], held_out)
    if held.all():
        held = generator.random(len(rows)) < HELD_OUT
    states = arrays["states"][rows[~held]].astype(np.float64)
    known = bool(experience.environment)

    def fitted(seen: np.ndarray) -> DecisionTreeClassifier:
        tree = DecisionTreeClassifier(max_depth=depth, random_state=run.seed)
        x = coded(seen, experience.variables)
        return tree.fit(x, player.act(seen), sample_weight=_weights(experience, seen))

    tree = fitted(states)
    for number in range(rounds if known else 0):
        run.progress(number, rounds, "the tree plays and is corrected")
        one = Surrogate(tree, experience, 0.0, None, None, ())
        visited, _ = _play(experience, one, int(generator.integers(2**31)), run)
        states = np.concatenate([states, visited])
        tree = fitted(states)
    tried = arrays["states"][rows[held]].astype(np.float64)
    found = Surrogate(tree, experience, 0.0, None, None, notes)
    fidelity = float((found.act(tried) == player.act(tried)).mean())
    returns: list[float | None] = [None, None]
    if known:
        returns = [_play(experience, who, 1, run)[1] for who in (found, player)]
    return dataclasses.replace(
        found, fidelity=fidelity, tree_return=returns[0], agent_return=returns[1]
    )


def _weights(experience: Experience, states: np.ndarray) -> np.ndarray:
    """[N]: what the best action is worth above the worst; equal where no agent is known."""
    agent = agent_of(experience)
    if agent is None:
        return np.ones(len(states))
    if agent.network.head == "values":
        found = agent.outputs(states)
    else:
        found = np.log(np.maximum(agent.probabilities(states), 1e-4))
    return np.asarray(np.ptp(found, axis=1) + 1e-6)


def _play(experience: Experience, who: Any, seed: int, run: Run) -> tuple[np.ndarray, float]:
    """States [N, S] of five episodes, and their mean return."""
    environment = find(experience.environment)
    visited: list[np.ndarray] = []
    returns = []
    with World(environment) as world:
        for episode in range(EPISODES):
            run.check_cancelled()
            state, total = world.reset((seed + episode) % 2**31), 0.0
            for _ in range(environment.limit):
                if len(visited) < PLAYED:
                    visited.append(state)
                outcome = world.step(int(who.act(state[None])[0]))
                state, total = outcome.state, total + outcome.reward
                if outcome.terminated or outcome.truncated:
                    break
            returns.append(total)
    return np.stack(visited).astype(np.float64), float(np.mean(returns))
