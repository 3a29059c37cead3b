"""Polynomials of the sources, every product up to a degree, the action with interactions.

Ridge regressions on them are solved from sums over blocks of rows, so that a bootstrap over blocks,
another degree or one source less needs no second pass through the data.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from backend.policies.transitions import Transitions

DEGREES = 5
TERMS = 700
"""At most, which bounds the time."""
ROWS_EACH = 8
"""Rows a term must have."""
PENALTIES = (1e-9, 1e-5, 1e-3)
"""Ridge, times the mean square of each term."""
AT_ONCE = 4096


@dataclasses.dataclass(frozen=True, eq=False)
class Basis:
    """P terms, products of columns of single sources.

    Attributes:
        centre, width: [S + 1], of numeric sources.
        levels: values that get a column of their own, for each source; () of a numeric one.
        parent, source, column: [P], term p is term `parent` times that column of that source.
        degrees: [P] int. uses: [P, S + 1] bool.
    """

    centre: np.ndarray
    width: np.ndarray
    levels: tuple[tuple[float, ...], ...]
    parent: np.ndarray
    source: np.ndarray
    column: np.ndarray
    degrees: np.ndarray
    uses: np.ndarray

    def __len__(self) -> int:
        return len(self.parent)

    def columns(self, sources: np.ndarray) -> np.ndarray:
        """[N, P] float64 of sources [N, S + 1]."""
        singles = [self._single(i, column) for i, column in enumerate(sources.T)]
        # Terms lie in rows while they are made: each is one stretch of memory.
        made = np.ones((len(self), len(sources)))
        for p in range(1, len(self)):
            factor = singles[self.source[p]][self.column[p]]
            np.multiply(made[self.parent[p]], factor, out=made[p])
        return made.T

    def _single(self, source: int, column: np.ndarray) -> np.ndarray:
        """[columns, N]: Legendre polynomials of a number, or one column a level."""
        if self.levels[source]:
            return np.array([column == level for level in self.levels[source]], dtype=np.float64)
        x = (column - self.centre[source]) / self.width[source]
        made = [x, (3 * x * x - 1) / 2]
        for k in range(2, DEGREES):
            made.append(((2 * k + 1) * x * made[k - 1] - k * made[k - 2]) / (k + 1))
        return np.array(made)


def basis(transitions: Transitions) -> Basis:
    """The terms of the highest degree that the rows and `TERMS` allow."""
    training = transitions.take(~transitions.held_out)
    sources = training.sources
    categorical = [*(v.kind != "numeric" for v in training.variables), True]
    levels = tuple(
        _levels(column) if kind else () for column, kind in zip(sources.T, categorical, strict=True)
    )
    moves = transitions.testable
    most = max(2 * len(moves), min(TERMS, len(training) // ROWS_EACH))
    terms = _terms(1, levels, moves, interact=True)
    if len(terms) > most:
        terms = _terms(1, levels, moves, interact=False)
    for degree in range(2, DEGREES + 1):
        more = _terms(degree, levels, moves, interact=True, most=most)
        if len(more) > most:
            break
        terms = more
    spread = sources.std(axis=0)
    return Basis(
        centre=sources.mean(axis=0),
        width=np.where(spread > 0, 3 * spread, 1.0),
        levels=levels,
        **_numbered(terms, len(moves)),
    )


def _levels(column: np.ndarray) -> tuple[float, ...]:
    """The values of a categorical source but for the most frequent."""
    values, counts = np.unique(column, return_counts=True)
    return tuple(float(value) for value in np.delete(values, counts.argmax()))


Term = tuple[tuple[int, int], ...]
"""Pairs of a source and one of its columns."""


def _terms(
    degree: int,
    levels: Sequence[tuple[float, ...]],
    moves: np.ndarray,
    *,
    interact: bool,
    most: int = 10**6,
) -> list[tuple[Term, int]]:
    """Terms with their degree, the constant first; cut short when there are more than `most`."""
    action = len(levels) - 1
    terms: list[tuple[Term, int]] = [((), 0)]
    for i in np.flatnonzero(moves[:-1]):
        columns = [(k, 1) for k in range(len(levels[i]))] or [(k, k + 1) for k in range(degree)]
        terms += [
            ((*term, (int(i), k)), had + more)
            for term, had in terms
            for k, more in columns
            if had + more <= degree
        ]
        if len(terms) > most:
            return terms
    if moves[-1]:
        with_action = terms if interact else terms[:1]
        terms = terms + [
            ((*term, (action, k)), had) for k in range(len(levels[-1])) for term, had in with_action
        ]
    return terms


def _numbered(terms: Sequence[tuple[Term, int]], sources: int) -> dict[str, Any]:
    """The arrays of a `Basis`."""
    number = {term: p for p, (term, _) in enumerate(terms)}
    uses = np.zeros((len(terms), sources), dtype=bool)
    for p, (term, _) in enumerate(terms):
        uses[p, [i for i, _ in term]] = True
    return {
        "parent": np.array([number[term[:-1]] for term, _ in terms]),
        "source": np.array([term[-1][0] if term else 0 for term, _ in terms]),
        "column": np.array([term[-1][1] if term else 0 for term, _ in terms]),
        "degrees": np.array([degree for _, degree in terms]),
        "uses": uses,
    }


@dataclasses.dataclass(frozen=True, eq=False)
class Sums:
    """Sums over the rows of each block: squares [blocks, P, P] and products [blocks, P, K]."""

    squares: np.ndarray
    products: np.ndarray

    @classmethod
    def of(cls, terms: np.ndarray, outputs: np.ndarray, blocks: np.ndarray, count: int) -> Sums:
        """Of terms [N, P] and outputs [N, K] whose rows are in these blocks [N]."""
        P, K = terms.shape[1], outputs.shape[1]
        squares, products = np.zeros((count, P, P)), np.zeros((count, P, K))
        for block in np.unique(blocks):
            rows = terms[blocks == block]
            squares[block] = rows.T @ rows
            products[block] = rows.T @ outputs[blocks == block]
        return cls(squares, products)

    def weighted(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """[P, P] and [P, K]: each block as often as `weights` [blocks] says."""
        return (
            np.tensordot(weights, self.squares, axes=1),
            np.tensordot(weights, self.products, axes=1),
        )


def ridge(squares: np.ndarray, products: np.ndarray, penalty: float) -> np.ndarray:
    """[P, K] weights; the penalty is times each term's own sum of squares, the constant's free."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    diagonal = np.diag(squares).copy()
    added = penalty * diagonal
    added[0] = 0.0
    # A term that is zero in every row gets the weight zero.
    added[diagonal <= 0] = 1.0
    system = squares + np.diag(added)
    try:
        solved: np.ndarray = cho_solve(cho_factor(system), products)
    except LinAlgError:
        solved = np.linalg.lstsq(system, products, rcond=1e-12)[0]
    return solved
