"""The parabola of an attention sink, and means over groups of equally confident queries.

A head that gives key s the weight a and the other keys the rest writes o(a) = a v0 + (1 - a) u, so

    ||o(a)||² = ||u||² + 2a u·(v0 - u) + a² ||v0 - u||²

which is convex, with its minimum at a* = u·(u - v0) / ||u - v0||².
"""

from __future__ import annotations

import dataclasses

import numpy as np

STEPS = 101
"""Points of the counterfactual curve."""
MOST_POINTS = 400
"""Points a layer that are kept to be drawn; the fit takes all."""
GROUPS = 10


@dataclasses.dataclass(frozen=True, eq=False)
class Parabola:
    """Least squares of y ≈ c2 x² + c1 x + c0."""

    coefficients: np.ndarray
    """[3] float64: c2, c1, c0; NaN where fewer than three different x are known."""
    explained: float
    """R², the share of y's variance that is explained; NaN where y does not vary."""

    @property
    def curvature(self) -> float:
        """Second derivative, 2 c2."""
        return float(2 * self.coefficients[0])


def fit(x: np.ndarray, y: np.ndarray) -> Parabola:
    """Fit a parabola to points, in float64."""
    x, y = x.astype(np.float64).ravel(), y.astype(np.float64).ravel()
    known = np.isfinite(x) & np.isfinite(y)
    x, y = x[known], y[known]
    if len(np.unique(x)) < 3:
        return Parabola(np.full(3, np.nan), np.nan)
    coefficients = np.polyfit(x, y, 2)
    left, total = np.sum((y - np.polyval(coefficients, x)) ** 2), np.sum((y - y.mean()) ** 2)
    return Parabola(coefficients, float(1 - left / total) if total > 0 else np.nan)


def thinned(x: np.ndarray, y: np.ndarray, most: int = MOST_POINTS) -> tuple[np.ndarray, np.ndarray]:
    """At most `most` of the points, evenly spaced in the order of x; both ends stay."""
    x, y = x.ravel(), y.ravel()
    order = np.argsort(x, kind="stable")
    if len(order) > most:
        order = order[np.linspace(0, len(order) - 1, most).round().astype(np.int64)]
    return x[order], y[order]


@dataclasses.dataclass(frozen=True, eq=False)
class Counterfactual:
    """||o(a)|| while a goes from 0 to 1 with v0 and u held fixed."""

    weights: np.ndarray
    """[101] float64: a."""
    norms: np.ndarray
    """[101] float64: ||o(a)||."""
    quadratic: tuple[float, float, float]
    """||o(a)||² = q0 + q1 a + q2 a²."""
    minimum: float
    """a*, possibly outside [0, 1]; NaN where v0 = u."""


def counterfactual(sink: np.ndarray, rest: np.ndarray) -> Counterfactual:
    """The curve in closed form.

    Args:
        sink: v0, [d].
        rest: u, [d].
    """
    v0, u = sink.astype(np.float64), rest.astype(np.float64)
    difference = v0 - u
    q0, q1, q2 = float(u @ u), float(2 * u @ difference), float(difference @ difference)
    a = np.linspace(0.0, 1.0, STEPS)
    norms = np.sqrt(np.maximum(q0 + q1 * a + q2 * a * a, 0.0))
    return Counterfactual(a, norms, (q0, q1, q2), -q1 / (2 * q2) if q2 > 0 else np.nan)


def groups(confidence: np.ndarray, count: int = GROUPS) -> np.ndarray:
    """The group of each query by rank, 0 the least confident; as even as can be.

    With fewer queries than groups, each query is a group.
    """
    total = len(confidence)
    ranks = np.empty(total, dtype=np.int64)
    ranks[np.argsort(confidence, kind="stable")] = np.arange(total)
    return ranks * min(count, total) // max(total, 1)


def group_means(values: np.ndarray, of: np.ndarray) -> np.ndarray:
    """Means of values [..., q] over each group, NaN left out, [..., groups] float64."""
    count = int(of.max()) + 1 if len(of) else 0
    result = np.full((*values.shape[:-1], count), np.nan)
    for group in range(count):
        result[..., group] = mean(values[..., of == group].astype(np.float64))
    return result


def mean(values: np.ndarray) -> np.ndarray:
    """Mean over the last axis, NaN left out; NaN where nothing is known."""
    known = np.isfinite(values)
    totals = np.where(known, values, 0.0).sum(axis=-1, dtype=np.float64)
    result = np.full(totals.shape, np.nan)
    np.divide(totals, known.sum(axis=-1), out=result, where=known.any(axis=-1))
    return result
