"""Effect models: what follows a state and an action, with how unsure that is.

One model on the rows that were not held out and others on bootstraps of them; what they leave
unexplained on held-out rows is drawn along.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from backend.explainer import Progress
from backend.policies.fitted import Fitted, fit
from backend.policies.structure import Structure
from backend.policies.transitions import Transitions

MODELS = 12
ENDINGS = 10
"""Rows that ended an episode, from which on an end is foreseen."""


@dataclasses.dataclass(frozen=True, eq=False)
class EffectModels:
    """M models of one causal graph.

    Attributes:
        models: the first is of all rows that were not held out.
        residuals: [R, K], what the first leaves unexplained in held-out rows.
        errors: [S + 1] of {target, r2, coverage}: on held-out rows; coverage is the share of truths
            inside the 90 % interval of models and residuals. None where a target never changes.
        ends: classifier of the states that an episode ends in, None where none is known.
    """

    transitions: Transitions
    structure: Structure
    models: tuple[Fitted, ...]
    residuals: np.ndarray
    errors: tuple[dict[str, Any], ...]
    ends: Any

    def draws(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """[M, N, S + 1]: the state each model expects next, and the reward.

        Of a categorical variable the most probable value.
        """
        return np.stack([self._expected(model, states, actions) for model in self.models])

    def follow(
        self,
        states: np.ndarray,
        actions: np.ndarray,
        generator: np.random.Generator | None = None,
        model: int = 0,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Next states [N, S] and rewards [N]; with a generator, drawn with what is unexplained."""
        found = self.models[model].change(states, actions)
        if generator is not None:
            found = found + self.residuals[generator.integers(len(self.residuals), size=len(found))]
        after = states.astype(np.float64).copy()
        columns = self.transitions.columns()
        for j, variable in enumerate(self.transitions.variables):
            part = found[:, columns[j]]
            if variable.kind == "categorical":
                after[:, j] = _value(np.clip(part, 1e-9, None), generator)
            elif variable.kind == "binary":
                chance = np.clip(after[:, j] + part[:, 0], 0, 1)
                cut = 0.5 if generator is None else generator.random(len(chance))
                after[:, j] = chance > cut
            else:
                after[:, j] += part[:, 0]
        return after, found[:, -1]

    def ended(self, states: np.ndarray) -> np.ndarray:
        """[N] bool: whether an episode ends in states [N, S]."""
        if self.ends is None:
            return np.zeros(len(states), dtype=bool)
        found: np.ndarray = self.ends.predict(states).astype(bool)
        return found

    def _expected(self, model: Fitted, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        after, rewards = self.follow(states, actions, model=self.models.index(model))
        return np.concatenate([after, rewards[:, None]], axis=1)


def fit_models(
    transitions: Transitions,
    structure: Structure,
    seed: int,
    models: int = MODELS,
    progress: Progress = lambda *_: None,
) -> EffectModels:
    """Effect models along the edges of a structure."""
    generator = np.random.default_rng([seed, 3])
    found = []
    for number in range(models):
        progress(number, models, "fitting effect models")
        rows = transitions if number == 0 else transitions.resampled(generator)
        found.append(fit(rows, structure.present, seed))
    held = transitions.held
    states, actions = transitions.states[held], transitions.actions[held]
    truth = np.concatenate(transitions.targets(), axis=1)[held]
    said = np.stack([model.change(states, actions) for model in found])
    residuals = truth - said[0]
    errors = _errors(transitions, truth, said, residuals, generator)
    return EffectModels(transitions, structure, tuple(found), residuals, errors,
                        _ends(transitions, seed))  # fmt: skip


def _errors(
    transitions: Transitions,
    truth: np.ndarray,
    said: np.ndarray,
    residuals: np.ndarray,
    generator: np.random.Generator,
) -> tuple[dict[str, Any], ...]:
    count = len(truth)
    # Half the residuals make the interval, on the other half it is tried.
    first = generator.permutation(count) < count // 2
    pool = residuals[first]
    found: list[dict[str, Any]] = []
    for name, columns, flat in zip(
        transitions.target_names, transitions.columns(), transitions.flat, strict=True
    ):
        if flat:
            found.append({"target": name, "r2": None, "coverage": None})
            continue
        part = truth[:, columns]
        spread = ((part - part.mean(axis=0)) ** 2).sum()
        r2 = 1 - (residuals[:, columns] ** 2).sum() / spread if spread > 0 else None
        covered = None
        if columns.stop - columns.start == 1:
            own = said[:, ~first, columns.start]
            noise = pool[generator.integers(len(pool), size=(200, own.shape[1])), columns.start]
            drawn = own[generator.integers(len(own), size=200)] + noise
            low, high = np.percentile(drawn, (5, 95), axis=0)
            covered = float(((part[~first, 0] >= low) & (part[~first, 0] <= high)).mean())
        found.append({"target": name, "r2": None if r2 is None else float(r2), "coverage": covered})
    return tuple(found)


def _ends(transitions: Transitions, seed: int) -> Any:
    ended = transitions.terminated
    if ended.sum() < ENDINGS:
        return None
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_depth=8, min_samples_leaf=3, random_state=seed)
    return tree.fit(transitions.next_states, ended)


def _value(chances: np.ndarray, generator: np.random.Generator | None) -> np.ndarray:
    """[N]: the most probable value of each row [N, k], or one drawn."""
    if generator is None:
        best: np.ndarray = chances.argmax(axis=1)
        return best
    shares = np.cumsum(chances / chances.sum(axis=1, keepdims=True), axis=1)
    drawn: np.ndarray = (shares < generator.random((len(shares), 1))).sum(axis=1)
    return np.asarray(np.minimum(drawn, chances.shape[1] - 1))
