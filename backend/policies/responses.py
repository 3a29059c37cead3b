"""How far each target moves when one source is moved and the others stay."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from backend.explainer import Progress
from backend.policies.loco import Regressions
from backend.policies.polynomial import ridge
from backend.policies.transitions import Transitions

ROWS = 4000
"""At most so many are moved."""


def responses(
    transitions: Transitions, draws: Sequence[np.ndarray], progress: Progress
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """[S + 1, S + 1] each: mean effects, and the ends of their 95 % interval; see `Structure`.

    The first draw gives the effects, the others the interval.
    """
    fits = Regressions(transitions)
    moved = [_moved(fits, i) for i in range(len(transitions.source_names))]
    found = []
    for n, weights in enumerate(draws):
        progress(n, len(draws), "Measuring effects")
        squares, products = fits.sums.weighted(weights.astype(np.float64))
        found.append(_effects(fits, squares, products, moved))
    effects = found[0]
    low, high = np.quantile(found[1:] or found, [0.025, 0.975], axis=0)
    return effects, np.minimum(low, effects), np.maximum(high, effects)


def _moved(fits: Regressions, source: int) -> np.ndarray:
    """[levels, P] mean terms with the source at each level, or moved by -1 / 2 and 1 / 2 sd."""
    transitions = fits.transitions
    step = max(1, len(transitions) // ROWS)
    sources = transitions.sources[::step]
    column = sources[:, source]
    levels = fits.basis.levels[source]
    if levels:
        values = [np.full(len(column), level) for level in np.unique(transitions.sources[:, source])]
    else:
        half = transitions.spread[source] / 2
        values = [column - half, column + half]
    made = []
    for value in values:
        sources[:, source] = value
        made.append(fits.basis.columns(sources).mean(axis=0))
    return np.array(made)


def _effects(
    fits: Regressions, squares: np.ndarray, products: np.ndarray, moved: Sequence[np.ndarray]
) -> np.ndarray:
    """[S + 1, S + 1] of one draw."""
    transitions = fits.transitions
    effects = np.zeros((len(moved), len(fits.chosen)))
    for j, (degree, penalty) in enumerate(fits.chosen):
        terms = np.flatnonzero(fits.basis.degrees <= degree)
        columns = fits.outputs.columns[j]
        fitted = ridge(squares[np.ix_(terms, terms)], products[np.ix_(terms, columns)], penalty)
        for i, mean_terms in enumerate(moved):
            said = mean_terms[:, terms] @ fitted
            if i == j and transitions.numeric[j]:
                said = said + transitions.spread[i] * np.array([[-0.5], [0.5]])
            effects[i, j] = _difference(said)
    return effects * transitions.tested


def _difference(said: np.ndarray) -> float:
    """Of predictions [levels, K]: last less first of two, else the widest between two levels."""
    if said.shape == (2, 1):
        return float(said[1, 0] - said[0, 0])
    return float((said.max(axis=0) - said.min(axis=0)).max())
