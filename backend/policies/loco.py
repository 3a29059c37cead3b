"""Leave one covariate out: a source is a cause where predictions get worse without it.

Lei et al., "Distribution-Free Predictive Inference for Regression", JASA 2018, section 6:

1. Targets are predicted from all sources: by ridge regression on polynomials, of the degree that
   does best on rows left out of the fit, for each target; by a forest of extremely randomised trees
   where a variable is categorical.
2. Without source i the same is fitted anew. A numeric variable's own past is left out of the value
   it takes, any other source of how it changes.
3. On held-out rows the squared errors are compared pair by pair (signed-rank test, one-sided), and
   p-values are corrected over all pairs (Holm).
4. An edge is where the test is clear and the log ratio of mean errors is above a threshold.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from backend.explainer import Progress
from backend.policies.coding import coded
from backend.policies.polynomial import Basis, Sums, basis, highest_degree
from backend.policies.telling import silent
from backend.policies.transitions import Transitions

THRESHOLD = 0.05
LEVEL = 0.05
MOST_DEGREE = 5
TRIED = 0.2
"""Share of the rows learned from that the degree is chosen on."""
SIMPLER = 1.02
"""The lowest degree is taken whose error is at most so many times the best."""
TREES = 20
ROUNDING = 1.2e-7
"""Relative precision of what is measured (single precision): smaller errors are none."""
TREE_ERROR = 1e-6
"""Squared error of a forest, of a target of unit size, that is none."""
FEWEST_TRIED = 20


@dataclasses.dataclass(frozen=True, eq=False)
class Learned:
    """What a learner says of each pair [S + 1, S + 1]: sources by targets."""

    present: np.ndarray
    strength: np.ndarray
    p_values: np.ndarray
    tested: np.ndarray


def tested(transitions: Transitions) -> np.ndarray:
    """[S + 1, S + 1] bool: pairs of a source and a target that both move."""
    return np.outer(~transitions.still, ~transitions.flat)


def loco(transitions: Transitions, seed: int, progress: Progress = silent) -> Learned:
    """The edges by leave-one-covariate-out; the seed decides which rows a degree is chosen on."""
    errors = _ridge_errors if transitions.smooth else _tree_errors
    whole, without = errors(transitions, seed, progress)
    pairs = tested(transitions)
    strength, p_values = np.zeros(pairs.shape), np.ones(pairs.shape)
    for i, j in np.argwhere(pairs):
        strength[i, j] = np.log(without[i][:, j].mean() / whole[:, j].mean())
        p_values[i, j] = worse(without[i][:, j], whole[:, j])
    present = (holm(p_values, pairs) < LEVEL) & (strength > THRESHOLD) & pairs
    return Learned(present, strength, p_values, pairs)


def worse(without: np.ndarray, whole: np.ndarray) -> float:
    """p-value of the first errors [N] being larger than the second (Wilcoxon, one-sided)."""
    from scipy.stats import wilcoxon

    apart = without - whole
    if not apart.any():
        return 1.0
    return float(wilcoxon(apart, alternative="greater", method="asymptotic").pvalue)


def holm(p_values: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """p-values corrected over all pairs that are tested (Holm, 1979); 1 elsewhere."""
    found = np.ones(p_values.shape)
    given = p_values[pairs]
    order = np.argsort(given)
    steps = np.maximum.accumulate(given[order] * np.arange(len(given), 0, -1))
    corrected = np.empty(len(given))
    corrected[order] = np.minimum(steps, 1)
    found[pairs] = corrected
    return found


def polynomials(transitions: Transitions) -> Basis:
    """The features that these transitions allow."""
    learned = ~transitions.held
    count = int((~transitions.still[:-1]).sum())
    actions = len(transitions.action_names)
    degree = highest_degree(count, actions, int(learned.sum()), MOST_DEGREE)
    binary = [variable.kind == "binary" for variable in transitions.variables]
    return basis(transitions.states[learned], actions, degree, transitions.still[:-1], binary)


def steadied(transitions: Transitions, features: np.ndarray, reward: bool = True) -> np.ndarray:
    """[N, S + 1] targets: each as it is, or with its rare far values brought in.

    Of the two fits that is taken which is nearer to most rows, by the median of the absolute error.

    Args:
        features: of the rows that are not held out.
        reward: whether the reward may be limited, too.
    """
    learned = ~transitions.held
    plain = np.concatenate(transitions.targets(), axis=1)
    limited = np.concatenate(transitions.limited(reward), axis=1)
    other = np.flatnonzero((plain != limited).any(axis=0))
    if not len(other):
        return plain
    both = np.concatenate([plain[learned][:, other], limited[learned][:, other]], axis=1)
    chosen = np.ones(features.shape[1], dtype=bool)
    said = features @ Sums.of(features, both).ridge(chosen, range(both.shape[1]))
    apart = np.abs(said - np.tile(both[:, : len(other)], 2))
    errors = np.median(apart, axis=0).reshape(2, -1)
    nearer = other[errors[1] < errors[0]]
    plain[:, nearer] = limited[:, nearer]
    return plain


def best_degrees(
    transitions: Transitions, features: np.ndarray, made: Basis, targets: np.ndarray, seed: int
) -> np.ndarray:
    """[S + 1] int: for each target, the degree that does best on rows left out of the fit.

    Args:
        features: of the rows that are not held out. targets: [N, S + 1], of all rows.
    """
    learned = np.flatnonzero(~transitions.held)
    y = targets[learned]
    kinds = np.unique(transitions.groups[learned])
    drawn = np.random.default_rng(seed).permutation(kinds)
    tried = np.isin(transitions.groups[learned], drawn[: max(1, int(TRIED * len(kinds)))])
    inside = tried & made.within(transitions.states[learned])
    if not inside.any() or tried.all():
        return np.ones(y.shape[1], dtype=int)
    sums, every = Sums.of(features[~tried], y[~tried]), range(y.shape[1])
    errors = []
    for degree in range(1, made.powers.sum(axis=1).max(initial=0) + 1):
        weights = sums.ridge(np.repeat(made.up_to(degree), made.actions), every)
        errors.append(((y[inside] - features[inside] @ weights) ** 2).mean(axis=0))
    if not errors:
        return np.ones(y.shape[1], dtype=int)
    table = np.array(errors) + floors(transitions)
    return 1 + np.asarray((table <= SIMPLER * table.min(axis=0)).argmax(axis=0))


def floors(transitions: Transitions) -> np.ndarray:
    """[S + 1]: squared errors of numeric targets that are mere rounding."""
    size = [*np.abs(transitions.next_states).max(axis=0), np.abs(transitions.rewards).max()]
    return np.asarray((ROUNDING * np.array(size)) ** 2 + 1e-300)


def _ridge_errors(
    transitions: Transitions, seed: int, progress: Progress
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Squared errors of held-out rows [H, S + 1], with all sources and without each."""
    made, learned = polynomials(transitions), ~transitions.held
    tried = transitions.held & made.within(transitions.states)
    if tried.sum() < FEWEST_TRIED:
        tried = transitions.held
    fit_on = made.features(transitions.states[learned], transitions.actions[learned])
    try_on = made.features(transitions.states[tried], transitions.actions[tried])
    changes = steadied(transitions, fit_on)
    count = changes.shape[1]
    # Columns from `count` on are the values after, of which a variable's own past is left out.
    targets = np.concatenate([changes, transitions.next_states], axis=1)
    sums = Sums.of(fit_on, targets[learned])
    pooled = made.pooled(sums)
    degrees = best_degrees(transitions, fit_on, made, changes, seed)
    floor = floors(transitions)

    def errors(products: np.ndarray, own: int | None = None, action: bool = True) -> np.ndarray:
        found = np.empty((len(try_on), count))
        for degree in np.unique(degrees):
            kept, group = products & made.up_to(int(degree)), np.flatnonzero(degrees == degree)
            columns = np.where(group == own, count + group, group) if own is not None else group
            if action:
                weights = sums.ridge(np.repeat(kept, made.actions), columns)
            else:
                weights = np.repeat(pooled.ridge(kept, columns), made.actions, axis=0)
            apart = targets[tried][:, columns] - try_on @ weights
            found[:, group] = apart**2 + floor[group]
        return found

    every = np.ones(len(made.powers), dtype=bool)
    without = []
    for i, variable in enumerate(transitions.variables):
        progress(i, len(transitions.variables), f"leaving out {variable.name}")
        without.append(errors(made.without(i), own=i))
    return errors(every), [*without, errors(every, action=False)]


def _tree_errors(
    transitions: Transitions, seed: int, progress: Progress
) -> tuple[np.ndarray, list[np.ndarray]]:
    """As `_ridge_errors`, by forests; the squared error of a categorical is over its values."""
    from sklearn.ensemble import ExtraTreesRegressor

    parts = [
        coded(transitions.states[:, [i]], [variable])
        for i, variable in enumerate(transitions.variables)
    ]
    taken = np.arange(len(transitions.action_names)) == transitions.actions[:, None]
    parts.append(taken.astype(np.float64))
    changes = transitions.targets()
    numeric = [j for j, v in enumerate(transitions.variables) if v.kind != "categorical"]

    def errors(kept: list[int], own: int | None = None) -> np.ndarray:
        found = []
        x = np.concatenate([parts[i] for i in kept], axis=1)
        y = [
            transitions.next_states[:, [j]] if j == own and j in numeric else change
            for j, change in enumerate(changes)
        ]
        size = [max(1e-6, float(np.sqrt(part.var(axis=0).sum()))) for part in changes]
        joined = np.concatenate([part / s for part, s in zip(y, size, strict=True)], axis=1)
        forest = ExtraTreesRegressor(TREES, min_samples_leaf=2, random_state=seed)
        forest.fit(x[~transitions.held], joined[~transitions.held])
        apart = (forest.predict(x[transitions.held]) - joined[transitions.held]) ** 2
        found = [apart[:, part].sum(axis=1) for part in transitions.columns()]
        return np.stack(found, axis=1) + TREE_ERROR

    moving = [int(i) for i in np.flatnonzero(~transitions.still)]
    if not moving:
        return (nothing := np.ones((int(transitions.held.sum()), len(changes)))), [nothing] * len(
            parts
        )
    whole = errors(moving)
    without = []
    for i in range(len(parts)):
        progress(i, len(parts), f"leaving out {transitions.source_names[i]}")
        left = [k for k in moving if k != i]
        without.append(errors(left, own=i) if i in moving and left else whole)
    return whole, without
