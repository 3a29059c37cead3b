"""How well the named causes alone predict the next action, as CausalXRL measures itself.

At each held-out step the causes of the action are the variables that move the choice there; the
action is then predicted by a forest that sees only these. Beside it a decision tree and logistic
regression see all variables.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from backend.explainer import Progress
from backend.policies.acting import stand_in
from backend.policies.coding import coded
from backend.policies.explanation import Experience

TREES = 60
DEPTH = 6
LEAST = 0.05
"""A variable whose redrawing moves the probability of the action by less is no cause."""
DRAWS = 60
TRIED = 600
"""Held-out steps."""
HELD_OUT = 0.3


@dataclasses.dataclass(frozen=True)
class Fidelity:
    """Shares of held-out actions that are predicted.

    Attributes:
        causes: by the local causes alone. tree, logistic: by all variables. always: by the most
            frequent action. named: mean number of causes.
    """

    causes: float
    tree: float
    logistic: float
    always: float
    named: float


def local_fidelity(
    experience: Experience, seed: int, progress: Progress = lambda *_: None
) -> Fidelity:
    """The fidelity of the causes of an experience's actions; nothing but the record is used."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    generator = np.random.default_rng([seed, 8])
    arrays = experience.arrays
    kept = np.flatnonzero(arrays["explored"] == 0)
    states = arrays["states"][kept].astype(np.float64)
    actions = arrays["actions"][kept].astype(int)
    episodes = np.unique(arrays["episodes"][kept])
    drawn = generator.permutation(episodes)[: max(1, int(HELD_OUT * len(episodes)))]
    held = np.isin(arrays["episodes"][kept], drawn)
    tried = generator.permutation(np.flatnonzero(held))[:TRIED]
    x = coded(states, experience.variables)
    learned = ~held
    named = _causes(experience, states[learned], states[tried], seed, generator, progress)
    said = _predicted(experience, states, actions, learned, tried, named, seed)
    tree = DecisionTreeClassifier(max_depth=DEPTH, random_state=seed).fit(
        x[learned], actions[learned]
    )
    line = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    line.fit(x[learned], actions[learned])
    truth = actions[tried]
    most = np.bincount(actions[learned]).argmax()
    return Fidelity(
        causes=float((said == truth).mean()),
        tree=float((tree.predict(x[tried]) == truth).mean()),
        logistic=float((line.predict(x[tried]) == truth).mean()),
        always=float((truth == most).mean()),
        named=float(named.sum(axis=1).mean()),
    )


def _causes(
    experience: Experience,
    visited: np.ndarray,
    tried: np.ndarray,
    seed: int,
    generator: np.random.Generator,
    progress: Progress,
) -> np.ndarray:
    """[N, S] bool: which variables move the choice at each step, by a forest of the record."""
    player = stand_in(experience, seed)
    pool = visited[generator.integers(len(visited), size=DRAWS)]
    found = np.zeros(tried.shape, dtype=bool)
    before = player.probabilities(tried)
    for i in range(tried.shape[1]):
        progress(i, tried.shape[1], "asking what moves the choice")
        moved = np.repeat(tried[:, None], DRAWS, axis=1)
        moved[:, :, i] = pool[:, i]
        after = player.probabilities(moved.reshape(-1, tried.shape[1]))
        after = after.reshape(len(tried), DRAWS, -1).mean(axis=1)
        found[:, i] = np.abs(after - before).sum(axis=1) / 2 > LEAST
    return found


def _predicted(
    experience: Experience,
    states: np.ndarray,
    actions: np.ndarray,
    learned: np.ndarray,
    tried: np.ndarray,
    named: np.ndarray,
    seed: int,
) -> np.ndarray:
    """[N] int: the action by a forest of the causes alone, one forest a set of causes."""
    from sklearn.ensemble import ExtraTreesClassifier

    most = np.bincount(actions[learned]).argmax()
    said = np.full(len(tried), most)
    sets, which = np.unique(named, axis=0, return_inverse=True)
    for number, causes in enumerate(sets):
        if not causes.any():
            continue
        variables = [v for v, cause in zip(experience.variables, causes, strict=True) if cause]
        x = coded(states[:, causes], variables)
        forest = ExtraTreesClassifier(TREES, min_samples_leaf=2, random_state=seed)
        forest.fit(x[learned], actions[learned])
        rows = which.reshape(-1) == number
        said[rows] = forest.predict(x[tried[rows]])
    return said
