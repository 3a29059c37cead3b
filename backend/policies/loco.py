"""Structure by leaving one covariate out (Lei et al. 2018, arXiv 1604.04173).

1. Of each target a ridge regression on polynomials of all sources, the degree chosen on blocks of
   episodes that are kept back.
2. The same without one source: the error on held-out episodes grows where the source is a cause.
3. An edge: the growth is significant (paired t test or signed ranks, Holm over all pairs) and the
   logarithm of the ratio of the errors is above `GROWTH`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from backend.explainer import Progress
from backend.policies.finding import LEVEL, Found, empty, holm
from backend.policies.polynomial import PENALTIES, Basis, Sums, basis, ridge
from backend.policies.transitions import Transitions

GROWTH = 0.05
"""Logarithm of the error without a source over that with it, from which on there is an edge."""
ROUNDING = 1e-6
"""Relative precision of what is measured: smaller errors are none."""
SIMPLER = 1.01
"""A lower degree is taken where its error is at most so many times the lowest."""


@dataclasses.dataclass(frozen=True, eq=False)
class Outputs:
    """What is regressed: K columns, of which each target has one or more.

    Numeric variables have two, the change and the value after; categorical ones one a level.
    """

    values: np.ndarray
    columns: tuple[np.ndarray, ...]
    """Of each target, its columns where its own variable is among the sources."""
    alone: tuple[np.ndarray, ...]
    """Of each target, its columns where its own variable is left out."""


def outputs(transitions: Transitions) -> Outputs:
    """The columns of all targets."""
    made: list[np.ndarray] = []
    columns, alone = [], []
    kinds = [*(variable.kind for variable in transitions.variables), "reward"]
    for j, kind in enumerate(kinds):
        after, start = transitions.outcomes[:, j], len(made)
        if kind == "categorical":
            made += [(after == level).astype(np.float64) for level in np.unique(after)]
        else:
            made.append(after)
        own = np.arange(start, len(made))
        alone.append(own)
        if kind == "numeric":
            made.append(after - transitions.states[:, j])
            own = np.array([len(made) - 1])
        columns.append(own)
    return Outputs(np.column_stack(made), tuple(columns), tuple(alone))


class Regressions:
    """Ridge regressions of all targets on one set of transitions, with and without a source."""

    def __init__(self, transitions: Transitions) -> None:
        self.transitions = transitions
        self.basis: Basis = basis(transitions)
        self.outputs = outputs(transitions)
        terms = self.basis.columns(transitions.sources)
        training = ~transitions.held_out
        self.count = int(transitions.blocks.max()) + 1
        self.sums = Sums.of(
            terms[training], self.outputs.values[training], transitions.blocks[training], self.count
        )
        inside = transitions.held_out & _inside(transitions)
        self.judged = np.flatnonzero(inside)
        self.terms = terms[inside]
        self._kept = terms[training], self.outputs.values[training], transitions.blocks[training]
        self.chosen = self._choose()
        del self._kept

    def _choose(self) -> list[tuple[int, float]]:
        """Degree and penalty of each target, by its error on a fifth of the training blocks."""
        terms, values, blocks = self._kept
        training = np.unique(blocks)
        back = training[:: max(2, min(5, len(training)))]
        weights = np.ones(self.count)
        weights[back] = 0
        squares, products = self.sums.weighted(weights)
        judged = np.isin(blocks, back)
        errors: dict[tuple[int, float], np.ndarray] = {}
        for degree in np.unique(self.basis.degrees)[1:] if len(self.basis) > 1 else [0]:
            kept = np.flatnonzero(self.basis.degrees <= degree)
            part = squares[np.ix_(kept, kept)]
            for penalty in PENALTIES:
                fitted = ridge(part, products[kept], penalty)
                residual = values[judged] - terms[np.ix_(judged, kept)] @ fitted
                errors[int(degree), penalty] = np.array(
                    [(residual[:, own] ** 2).sum(axis=1).mean() for own in self.outputs.columns]
                )
        options = list(errors)
        table = np.array([errors[option] for option in options])
        best = table <= SIMPLER * table.min(axis=0) + 1e-300
        return [options[int(np.argmax(best[:, j]))] for j in range(table.shape[1])]

    def errors(self, weights: np.ndarray, without: int | None) -> np.ndarray:
        """[judged, S + 1] squared held-out errors of fits on the weighted blocks.

        Args:
            without: the source that is left out.
        """
        squares, products = self.sums.weighted(weights)
        return self.errors_of(squares, products, without)

    def errors_of(
        self, squares: np.ndarray, products: np.ndarray, without: int | None
    ) -> np.ndarray:
        """The same from sums that are at hand."""
        found = np.zeros((len(self.judged), len(self.chosen)))
        values = self.outputs.values[self.judged]
        for option in set(self.chosen):
            degree, penalty = option
            kept = self.basis.degrees <= degree
            if without is not None:
                kept = kept & ~self.basis.uses[:, without]
            terms = np.flatnonzero(kept)
            targets = [j for j, chosen in enumerate(self.chosen) if chosen == option]
            own = [(self.outputs.alone if j == without else self.outputs.columns)[j]
                   for j in targets]  # fmt: skip
            wanted = np.concatenate(own)
            fitted = ridge(squares[np.ix_(terms, terms)], products[np.ix_(terms, wanted)], penalty)
            residual = (values[:, wanted] - self.terms[:, terms] @ fitted) ** 2
            start = 0
            for j, columns in zip(targets, own, strict=True):
                found[:, j] = residual[:, start : start + len(columns)].sum(axis=1)
                start += len(columns)
        return found

    def floors(self) -> np.ndarray:
        """[S + 1] squared errors that are mere rounding."""
        size = np.abs(self.transitions.outcomes).max(axis=0)
        found: np.ndarray = (ROUNDING * size) ** 2 + 1e-300
        return found


def _inside(transitions: Transitions) -> np.ndarray:
    """[N] bool: no numeric source is beyond its range among the training rows."""
    numeric = np.array([v.kind == "numeric" for v in transitions.variables], dtype=bool)
    states = transitions.states[:, numeric]
    training = states[~transitions.held_out]
    inside: np.ndarray = (
        (states >= training.min(axis=0)) & (states <= training.max(axis=0))
    ).all(axis=1)
    return inside


def loco(
    transitions: Transitions, draws: Sequence[np.ndarray], seed: int, progress: Progress
) -> list[Found]:
    """A graph for each draw of blocks."""
    progress(0, len(draws) + 1, "Fitting polynomials")
    fits = Regressions(transitions)
    found = []
    for n, weights in enumerate(draws):
        progress(n + 1, len(draws) + 1, "Leaving one source out")
        found.append(one(fits, weights))
    return found


def one(fits: Regressions, weights: np.ndarray) -> Found:
    """The graph of one draw."""
    transitions = fits.transitions
    present, strength, p_values = empty(transitions)
    tested = transitions.tested
    squares, products = fits.sums.weighted(weights.astype(np.float64))
    repeats = weights[transitions.blocks[fits.judged]]
    floors = fits.floors()
    full = np.repeat(fits.errors_of(squares, products, None), repeats, axis=0)
    for i in np.flatnonzero(transitions.testable):
        less = np.repeat(fits.errors_of(squares, products, int(i)), repeats, axis=0)
        for j in np.flatnonzero(tested[i]):
            strength[i, j] = np.log(
                (less[:, j].mean() + floors[j]) / (full[:, j].mean() + floors[j])
            )
            p_values[i, j] = paired(less[:, j] - full[:, j])
    p_values = holm(p_values, tested)
    present[tested] = (p_values[tested] < LEVEL) & (strength[tested] > GROWTH)
    return Found(present, strength, p_values)


def paired(growth: np.ndarray) -> float:
    """p-value that errors do not grow: the smaller of a t test's and of signed ranks', doubled."""
    from scipy.stats import rankdata, t
    from scipy.stats import norm as normal

    n = len(growth)
    spread = growth.std(ddof=1)
    if not spread > 0:
        return 0.0 if growth.mean() > 0 else 1.0
    by_mean = float(t.sf(growth.mean() / (spread / np.sqrt(n)), n - 1))
    moved = growth[growth != 0]
    ranks = rankdata(np.abs(moved))
    positive = ranks[moved > 0].sum()
    m = len(moved)
    expected, deviation = m * (m + 1) / 4, np.sqrt(m * (m + 1) * (2 * m + 1) / 24)
    by_rank = float(normal.sf((positive - expected) / deviation))
    return min(1.0, 2 * min(by_mean, by_rank))
