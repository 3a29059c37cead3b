"""Bootstrap intervals against values known in closed form."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from backend.bootstrap import Interval, counted, interval, paired


def test_equal_values_have_an_interval_without_width() -> None:
    assert interval([0.25] * 7) == Interval(0.25, 0.25, 0.25, 7)


def test_no_value_and_one_value() -> None:
    assert interval([]) == Interval(None, None, None, 0)
    assert interval([0.5]) == Interval(0.5, None, None, 1)


def test_two_values_reach_both_ends() -> None:
    """A resample of {0, 1} has mean 0, 1/2, 1 with probability 1/4, 1/2, 1/4."""
    assert interval([0.0, 1.0]) == Interval(0.5, 0.0, 1.0, 2)
    assert interval([0.0, 1.0], level=40.0) == Interval(0.5, 0.5, 0.5, 2)


def test_four_values_as_all_resamples_listed() -> None:
    values = [0.0, 0.1, 0.5, 2.0]
    means = [sum(chosen) / 4 for chosen in itertools.product(values, repeat=4)]
    found = interval(values, resamples=200_000)
    assert found.mean == pytest.approx(0.65)
    assert found.low == pytest.approx(np.percentile(means, 2.5), abs=0.026)
    assert found.high == pytest.approx(np.percentile(means, 97.5), abs=0.026)


def test_many_values_as_the_normal_approximation() -> None:
    values = np.random.default_rng(3).normal(2.0, 1.0, 2000).tolist()
    found = interval(values)
    assert found.low is not None
    assert found.high is not None
    half = 1.959964 * float(np.std(values)) / math.sqrt(len(values))
    assert found.high - found.low == pytest.approx(2 * half, rel=0.08)


def test_seed_decides() -> None:
    values = [0.0, 0.1, 0.4, 0.9, 0.95, 0.2, 0.3]
    assert interval(values, seed=1) == interval(values, seed=1)
    assert interval(values, seed=1) != interval(values, seed=2)


def test_pairing_uses_items_of_both_and_cancels_what_they_share() -> None:
    hard = dict(enumerate([0.0, 0.3, 0.6, 0.9]))
    easier = {item: value + 0.1 for item, value in hard.items()} | {9: 5.0}
    found = paired(easier, hard)
    assert found.n == 4
    assert (found.mean, found.low, found.high) == pytest.approx((0.1, 0.1, 0.1))
    assert paired(easier, {7: 1.0}).n == 0


@pytest.mark.parametrize("values", [[math.nan], [1.0, math.inf]])
def test_not_finite_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="finite"):
        interval(values)


@pytest.mark.parametrize("wrong", [{"level": 0.0}, {"level": 100.0}, {"resamples": 0}])
def test_interval_without_sense_is_refused(wrong) -> None:
    with pytest.raises(ValueError, match="no interval"):
        interval([1.0, 2.0], **wrong)


def test_counted_values_have_the_interval_of_the_values() -> None:
    counts = {-1.0: 30, 0.0: 500, 1.0: 70}
    values = [value for value, times in counts.items() for _ in range(times)]
    found, expected = counted(counts, resamples=20_000), interval(values, resamples=20_000)
    assert found.mean == pytest.approx(expected.mean)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=2e-3)
    assert found.n == 600


def test_counted_values_that_are_few() -> None:
    assert counted({1.0: 0}) == interval([])
    assert counted({1.0: 1, 0.0: 0}) == interval([1.0])
    assert counted({0.0: 9}) == interval([0.0] * 9)
    with pytest.raises(ValueError, match="negative"):
        counted({0.0: -1, 1.0: 5})
