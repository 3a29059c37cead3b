"""The method's own test: Bayesian additive regression trees with heterogeneous effects.

Chipman, George & McCulloch, "BART", Annals of Applied Statistics 2010; how CausalXRL asks it, after
its public description:

1. BART of each target on all sources, on the rows that are not held out.
2. On held-out rows, for each posterior draw, the effect of moving a source: up by one standard
   deviation, or for the action from one to another.
3. A regression tree on the mean effects clusters the rows (leaves of a tenth, depth 4 at most).
4. The source is a cause where in any cluster the 95 % interval over draws excludes zero, and the
   effect is larger than a tenth of the target's deviation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from backend.explainer import Progress
from backend.policies.loco import Learned, tested
from backend.policies.sources import blocks, standard_targets
from backend.policies.telling import silent
from backend.policies.transitions import Transitions

BURN_IN, DRAWS = 100, 100
MOST_ROWS, MOST_TRIED = 3000, 600
LEAF, DEPTH = 0.1, 4
SMALL = 0.1
"""Of the target's standard deviation: smaller effects are taken for the trees' own noise."""


def bart(transitions: Transitions, seed: int, progress: Progress = silent) -> Learned:
    """The edges by individual effects of BART, by stochtree."""
    pairs, generator = tested(transitions), np.random.default_rng([seed, 6])
    learned = generator.permutation(np.flatnonzero(~transitions.held))[:MOST_ROWS]
    tried = generator.permutation(np.flatnonzero(transitions.held))[:MOST_TRIED]
    parts, targets = blocks(transitions), standard_targets(transitions)
    x = np.concatenate(parts, axis=1)
    starts = np.cumsum([0, *(part.shape[1] for part in parts)])
    moved = [_moved(x[tried], parts[i], slice(starts[i], starts[i + 1]), i == len(parts) - 1)
             for i in range(len(parts))]  # fmt: skip
    strength = np.zeros(pairs.shape)
    for j in np.flatnonzero(~transitions.flat):
        progress(int(j), len(targets), "growing Bayesian trees")
        for column in targets[j].T:
            if not column[learned].std() > 0:
                continue  # a value that is never taken has no cause to be found
            model = _fitted(x[learned], column[learned], seed)
            for i in np.flatnonzero(~transitions.still):
                found = max(_strength(model, *pair, x[tried], seed) for pair in moved[i])
                strength[i, j] = max(strength[i, j], found)
    return Learned((strength > SMALL) & pairs, strength, np.ones(pairs.shape), pairs)


def _moved(
    x: np.ndarray, part: np.ndarray, own: slice, action: bool
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs of inputs between which a source is moved; the columns are standardised."""
    values = np.unique(part, axis=0)
    if part.shape[1] == 1 and len(values) > 2 and not action:
        after = x.copy()
        after[:, own] += 1
        return [(x, after)]
    pairs = []
    for value in values[1:6]:
        before, after = x.copy(), x.copy()
        before[:, own], after[:, own] = values[0], value
        pairs.append((before, after))
    return pairs or [(x, x)]


def _fitted(x: np.ndarray, y: np.ndarray, seed: int) -> Any:
    from stochtree import BARTModel

    model = BARTModel()
    model.sample(
        X_train=x, y_train=y, num_gfr=10, num_burnin=BURN_IN, num_mcmc=DRAWS,
        general_params={"random_seed": seed + 1, "num_threads": 1},
    )  # fmt: skip
    return model


def _strength(model: Any, before: np.ndarray, after: np.ndarray, x: np.ndarray, seed: int) -> float:
    """The effect nearest to zero of the 95 % interval, in the cluster where it is largest."""
    from sklearn.tree import DecisionTreeRegressor

    effects = model.predict(after, terms="y_hat") - model.predict(before, terms="y_hat")
    tree = DecisionTreeRegressor(max_depth=DEPTH, min_samples_leaf=LEAF, random_state=seed)
    cluster = tree.fit(x, effects.mean(axis=1)).apply(x)
    best = 0.0
    for leaf in np.unique(cluster):
        low, high = np.percentile(effects[cluster == leaf], (2.5, 97.5))
        best = max(best, low, -high)
    return float(best)
