"""Ridge regression on polynomials of the state, one set of coefficients an action.

Features are products of at most `degree` standardised variables, times 1 for the action that was
taken, with an intercept for each action. A variable of two values enters no higher than linearly.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np

MOST_FEATURES = 1400
ROWS_EACH = 10
"""Rows a feature must have."""
PENALTY = 1e-8
"""Of features brought to unit size, for each row."""
WITHIN = (0.25, 99.75)
"""Percentiles of the rows learned from, outside of which a polynomial is not to be believed."""


@dataclasses.dataclass(frozen=True, eq=False)
class Basis:
    """Which features there are: M products, each with a column for every action.

    Attributes:
        powers: [M, S] int, of the variables in each product. actions: how many there are.
        middle, spread: [S], for standardising. low, high: [S], the range that most rows are in.
        least, most: [S], the range that all of them are in.
    """

    powers: np.ndarray
    actions: int
    middle: np.ndarray
    spread: np.ndarray
    low: np.ndarray
    high: np.ndarray
    least: np.ndarray
    most: np.ndarray

    def within(self, states: np.ndarray) -> np.ndarray:
        """[N] bool: states [N, S] that lie in the range."""
        inside = (states >= self.low) & (states <= self.high)
        return np.asarray(inside.all(axis=1))

    def features(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """[N, M * A] float64."""
        z = ((states - self.middle) / self.spread).T
        powers = np.ones((self.powers.max(initial=0) + 1, *z.shape))
        for degree in range(1, len(powers)):
            powers[degree] = powers[degree - 1] * z
        products = np.ones((len(self.powers), len(states)))
        for product, degrees in zip(products, self.powers, strict=True):
            for column in np.flatnonzero(degrees):
                product *= powers[degrees[column], column]
        taken = (np.arange(self.actions)[:, None] == actions).astype(np.float64)
        found = products[:, None, :] * taken[None, :, :]
        return np.asarray(found.reshape(-1, len(states)).T)

    def without(self, source: int) -> np.ndarray:
        """[M] bool: products that a variable has no part in."""
        found: np.ndarray = self.powers[:, source] == 0
        return found

    def up_to(self, degree: int) -> np.ndarray:
        """[M] bool: products of at most so many variables."""
        found: np.ndarray = self.powers.sum(axis=1) <= degree
        return found

    def pooled(self, sums: Sums) -> Sums:
        """Sums of the features without the action, from those with it."""
        count, actions = len(self.powers), self.actions
        squares = sums.squares.reshape(count, actions, count, actions).sum(axis=(1, 3))
        products = sums.products.reshape(count, actions, -1).sum(axis=1)
        return Sums(squares, products, sums.rows)


@dataclasses.dataclass(frozen=True, eq=False)
class Sums:
    """What a regression needs of its rows: features by features [F, F], by targets [F, k]."""

    squares: np.ndarray
    products: np.ndarray
    rows: int

    @classmethod
    def of(cls, features: np.ndarray, targets: np.ndarray) -> Sums:
        """Of features [N, F] and targets [N, k]."""
        return cls(features.T @ features, features.T @ targets, len(features))

    def ridge(self, chosen: np.ndarray, columns: Sequence[int] | np.ndarray) -> np.ndarray:
        """[F, columns] coefficients of some targets; 0 of features that are not chosen [F] bool."""
        from scipy.linalg import solve

        products = self.products[:, columns]
        found = np.zeros_like(products)
        size = np.sqrt(np.diag(self.squares) / self.rows)
        keep = np.flatnonzero(chosen & (size > 0))
        part = self.squares[np.ix_(keep, keep)] / np.outer(size[keep], size[keep])
        part[np.diag_indices_from(part)] += PENALTY * self.rows
        scaled = products[keep] / size[keep, None]
        found[keep] = solve(part, scaled, assume_a="pos") / size[keep, None]
        return found


def basis(
    states: np.ndarray, actions: int, degree: int, still: np.ndarray, binary: Sequence[bool]
) -> Basis:
    """The features of rows to learn from.

    Args:
        states: [N, S]. still: [S] bool, variables that stay out.
    """
    count, spread = states.shape[1], states.std(axis=0)
    low, high = np.percentile(states, WITHIN, axis=0)
    two = np.array(binary, dtype=bool)
    return Basis(
        powers=np.array(
            [
                found
                for size in range(degree + 1)
                # A variable that is named twice stands for its square.
                for chosen in itertools.combinations_with_replacement(range(count), size)
                if not (found := np.bincount(chosen, minlength=count).astype(int))[still].any()
                and (found[two] < 2).all()
            ],
            dtype=int,
        ).reshape(-1, count),
        actions=actions,
        middle=states.mean(axis=0),
        spread=np.where(spread > 0, spread, 1.0),
        low=np.where(two, -np.inf, low),
        high=np.where(two, np.inf, high),
        least=states.min(axis=0),
        most=states.max(axis=0),
    )


def highest_degree(variables: int, actions: int, rows: int, most: int) -> int:
    """The highest degree with not too many features, for `rows` and at all; at least 1."""
    best, count = 1, 1 + variables
    for degree in range(2, most + 1):
        count = count * (variables + degree) // degree
        if count * actions <= min(MOST_FEATURES, rows / ROWS_EACH):
            best = degree
    return best
