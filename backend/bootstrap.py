"""Percentile intervals of a mean over few items (Efron & Tibshirani, "An Introduction to the
Bootstrap", 1993, chapter 13).

1. Draw n of the n values with replacement, `RESAMPLES` times, from a seeded generator.
2. The interval is between the 2.5 and 97.5 % percentiles of the resamples' means.

Two methods are compared by the differences on the items both were measured on, so that what makes
an item hard for both cancels.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np

RESAMPLES = 2000
LEVEL = 95.0
"""Percent."""

Key = TypeVar("Key")


@dataclasses.dataclass(frozen=True)
class Interval:
    """A mean and where it lies; unknown for no value, and without ends for a single one."""

    mean: float | None
    low: float | None
    high: float | None
    n: int
    """How many values it is the mean of."""


def interval(
    values: Sequence[float], *, seed: int = 0, resamples: int = RESAMPLES, level: float = LEVEL
) -> Interval:
    """The mean of the values with its percentile interval.

    Args:
        values: one finite number an item.
        level: percent of the resampled means between the two ends.

    Raises:
        ValueError: a value is not finite, or the level or the resamples make no sense.
    """
    if not all(map(math.isfinite, values)):
        raise ValueError("the values must be finite")
    if not 0 < level < 100 or resamples < 1:
        raise ValueError(f"no interval of {level} % from {resamples} resamples")
    n = len(values)
    if n == 0:
        return Interval(None, None, None, 0)
    known = np.asarray(values, dtype=np.float64)
    mean = float(known.mean())
    if n == 1:
        return Interval(mean, None, None, 1)
    draws = np.random.default_rng(seed).integers(0, n, size=(resamples, n))
    ends = np.percentile(known[draws].mean(axis=1), [50 - level / 2, 50 + level / 2])
    return Interval(mean, float(ends[0]), float(ends[1]), n)


def paired(first: Mapping[Key, float], other: Mapping[Key, float], *, seed: int = 0) -> Interval:
    """The mean of first - other over the items that both have, with its interval.

    Args:
        first, other: item -> value.
    """
    return interval([first[item] - other[item] for item in first if item in other], seed=seed)


def counted(
    counts: Mapping[float, int],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> Interval:
    """`interval` of many values of which few differ, e.g. -1, 0 and 1.

    How often each different value is drawn is multinomial, so the cost does not grow with n.

    Args:
        counts: value -> how often it occurs.

    Raises:
        ValueError: a count is negative.
    """
    values = np.array(list(counts), dtype=np.float64)
    times = np.array(list(counts.values()), dtype=np.int64)
    if (times < 0).any():
        raise ValueError("a count is negative")
    n = int(times.sum())
    if n < 2:
        return interval(np.repeat(values, times).tolist())
    draws = np.random.default_rng(seed).multinomial(n, times / n, size=resamples)
    ends = np.percentile(draws @ values / n, [50 - level / 2, 50 + level / 2])
    return Interval(float(times @ values / n), float(ends[0]), float(ends[1]), n)
