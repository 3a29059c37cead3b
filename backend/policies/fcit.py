"""The fast conditional independence test (Chalupka, Perona & Eberhardt, 2018) for every pair.

A decision tree predicts the target from all sources and from all but one; in each of eight random
splits the errors are compared, and a one-sided t-test asks whether they are worse without it. The
edge is kept where they are worse by a tenth.
"""

from __future__ import annotations

import numpy as np

from backend.explainer import Progress
from backend.policies.loco import Learned, holm, tested
from backend.policies.sources import blocks, standard_targets
from backend.policies.telling import silent
from backend.policies.transitions import Transitions

SPLITS = 8
THRESHOLD = 0.1
LEVEL = 0.05
MOST_ROWS = 6000
LEAF = 4


def fcit(transitions: Transitions, seed: int, progress: Progress = silent) -> Learned:
    """The edges by decision trees with and without each source."""
    from scipy.stats import ttest_1samp

    pairs, generator = tested(transitions), np.random.default_rng([seed, 5])
    rows = np.flatnonzero(~transitions.held)
    rows = generator.permutation(rows)[:MOST_ROWS]
    parts = [part[rows] for part in blocks(transitions)]
    targets = [target[rows] for target in standard_targets(transitions)]
    moving = np.flatnonzero(~transitions.still)
    strength, p_values = np.zeros(pairs.shape), np.ones(pairs.shape)
    splits = [generator.permutation(len(rows)) < 0.7 * len(rows) for _ in range(SPLITS)]
    for j in np.flatnonzero(~transitions.flat):
        progress(int(j), len(targets), "comparing trees")
        whole = np.array([_error(parts, moving, targets[j], split, seed) for split in splits])
        for i in moving:
            left = moving[moving != i]
            without = np.array([_error(parts, left, targets[j], split, seed) for split in splits])
            apart = np.log(without / whole)
            strength[i, j] = apart.mean()
            p_values[i, j] = ttest_1samp(apart, 0, alternative="greater").pvalue
    present = (holm(p_values, pairs) < LEVEL) & (strength > THRESHOLD) & pairs
    return Learned(present, strength, p_values, pairs)


def _error(
    parts: list[np.ndarray], kept: np.ndarray, target: np.ndarray, split: np.ndarray, seed: int
) -> float:
    from sklearn.tree import DecisionTreeRegressor

    if not len(kept):
        return float(((target[~split] - target[split].mean(axis=0)) ** 2).mean()) + 1e-12
    x = np.concatenate([parts[i] for i in kept], axis=1)
    tree = DecisionTreeRegressor(min_samples_leaf=LEAF, random_state=seed)
    tree.fit(x[split], target[split])
    said = tree.predict(x[~split]).reshape(-1, target.shape[1])
    return float(((said - target[~split]) ** 2).mean()) + 1e-12
