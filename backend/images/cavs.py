"""Concept activation vectors (Kim et al., TCAV, 2018): a concept's direction at the map layer."""

from __future__ import annotations

import dataclasses

import numpy as np

from backend.images.clusters import unit

REFITS = 10


@dataclasses.dataclass(frozen=True, eq=False)
class Cav:
    """The direction of one concept.

    Attributes:
        vector: [C], of unit length: the weights of a logistic regression.
        pattern: [C], of unit length: the difference of the means (less noise-sensitive).
        refits: [R, C], the direction with negatives drawn anew.
        chance: [R, C], directions that tell random pieces from random pieces.
        auc: on held-out pieces, or None where there are none of one kind.
    """

    vector: np.ndarray
    pattern: np.ndarray
    refits: np.ndarray
    chance: np.ndarray
    auc: float | None

    @property
    def stability(self) -> float:
        """Mean cosine of every two refits."""
        likeness = self.refits @ self.refits.T
        return float(likeness[np.triu_indices(len(likeness), 1)].mean())

    @property
    def agreement(self) -> float:
        """Cosine of the two directions."""
        return float(self.vector @ self.pattern)


def cav(
    positive: np.ndarray,
    others: np.ndarray,
    pool: np.ndarray,
    held_out: tuple[np.ndarray, np.ndarray],
    generator: np.random.Generator,
) -> Cav:
    """Fit a concept's direction.

    Args:
        positive: [p, C] embeddings of the concept's pieces, of unit length. others: [o, C] of
            pieces of other concepts of the class. pool: [r, C] of pieces of other classes.
        held_out: embeddings of pieces of the concept, and of others, that are not in the former.
    """
    from sklearn.metrics import roc_auc_score

    vector = _fitted(positive, _negatives(positive, others, pool, generator), generator)
    again = [
        _fitted(positive, _negatives(positive, others, pool, generator), generator)
        for _ in range(REFITS)
    ]
    both = np.concatenate([others, pool])
    chance = []
    for _ in range(REFITS):
        drawn = generator.permutation(len(both))
        size = max(2, min(len(positive), len(both) // 2))
        chance.append(_fitted(both[drawn[:size]], both[drawn[size : 2 * size]], generator))
    inside, outside = (part @ vector for part in held_out)
    auc = None
    if len(inside) and len(outside):
        truth = np.repeat([1, 0], [len(inside), len(outside)])
        auc = float(roc_auc_score(truth, np.concatenate([inside, outside])))
    mean = positive.mean(axis=0) - both.mean(axis=0)
    return Cav(vector, unit(mean), np.array(again), np.array(chance), auc)


def _negatives(
    positive: np.ndarray, others: np.ndarray, pool: np.ndarray, generator: np.random.Generator
) -> np.ndarray:
    """As many pieces of other classes as of other concepts, half the pool at least."""
    count = max(len(positive), len(pool) // 2)
    parts = []
    for part in (pool, others):
        size = min(len(part), count)
        parts.append(part[generator.choice(len(part), size, replace=False)])
    return np.concatenate(parts)


def _fitted(one: np.ndarray, other: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression

    x = np.concatenate([one, other]).astype(np.float64)
    y = np.repeat([1, 0], [len(one), len(other)])
    model = LogisticRegression(
        C=1.0, class_weight="balanced", max_iter=500, random_state=int(generator.integers(2**31))
    )
    return unit(model.fit(x, y).coef_[0])


def significance(own: np.ndarray, chance: np.ndarray, tests: int) -> float:
    """p of Welch's t-test that two samples have one mean, times `tests` (Bonferroni), at most 1."""
    from scipy.stats import ttest_ind

    if np.ptp(own) == 0 and np.ptp(chance) == 0:
        return 1.0 if own[0] == chance[0] else 0.0
    return float(min(1.0, tests * ttest_ind(own, chance, equal_var=False).pvalue))
