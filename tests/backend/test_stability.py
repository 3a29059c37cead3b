"""Means, spreads and stable positions by hand; intervals that hold what they say."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import spearmanr

from backend.bootstrap import Interval
from backend.stability import FEWEST, half_width, of_pairs, stability


def test_mean_deviation_and_how_often_by_hand():
    found = stability([np.array([4.0, 3, 2, 1, 0, 0]), np.array([4.0, 1, 2, 3, 0, 0])], 0.5)
    assert found.mean.tolist() == [4, 2, 2, 2, 0, 0]
    np.testing.assert_allclose(found.deviation, [0, 2**0.5, 0, 2**0.5, 0, 0])
    assert found.often.tolist() == [1, 0.5, 1, 0.5, 0, 0]
    assert found.stable.tolist() == [True, False, True, False, False, False]
    assert (found.runs, found.top) == (2, 3)
    assert found.overlap.mean == pytest.approx(2 / 3)
    assert (found.overlap.low, found.overlap.n) == (None, 1)


def test_stable_is_nine_of_ten_runs():
    rest = np.arange(20.0)
    usual, other = rest.copy(), rest.copy()
    usual[:3], other[:2], other[10] = 100, 100, 100
    nine = stability([usual] * 9 + [other])
    assert np.flatnonzero(nine.stable).tolist() == [0, 1, 2]
    eight = stability([usual] * 8 + [other] * 2)
    assert np.flatnonzero(eight.stable).tolist() == [0, 1]


def test_equal_runs_have_a_point_for_an_interval_and_are_enough():
    scores = np.random.default_rng(0).normal(size=30)
    found = stability([scores] * FEWEST)
    assert (found.overlap.mean, found.overlap.low, found.overlap.high) == (1, 1, 1)
    assert (found.correlation.low, found.correlation.high) == (pytest.approx(1), pytest.approx(1))
    assert found.enough
    assert not stability([scores] * (FEWEST - 1)).enough, "too few runs to stop"


def test_runs_of_chance_are_not_enough_and_nothing_stays():
    generator = np.random.default_rng(1)
    found = stability([generator.normal(size=60) for _ in range(9)])
    assert not found.stable.any()
    assert found.overlap.mean == pytest.approx(0.1, abs=0.08), "the share itself"
    assert found.correlation.low < 0 < found.correlation.high


def test_pairs_are_all_pairs():
    runs = np.random.default_rng(2).normal(size=(6, 25)) + np.arange(25) / 8
    found = stability(list(runs))
    expected = [spearmanr(a, b).statistic for a, b in itertools.combinations(runs, 2)]
    assert found.correlation.mean == pytest.approx(np.mean(expected))
    assert found.correlation.n == 15


def test_the_interval_holds_the_truth_about_as_often_as_it_says():
    """Runs are a signal with noise, so that two of them correlate by 1 / (1 + σ²)."""
    generator, inside = np.random.default_rng(3), 0
    for _ in range(200):
        noise = generator.normal(size=(7, 1))
        matrix = np.clip(0.6 + 0.1 * (noise + noise.T), -1, 1)
        found = of_pairs(matrix, -1.0)
        inside += found.low <= 0.6 <= found.high
    assert 180 <= inside <= 199


def test_the_jackknife_is_that_of_leaving_runs_out():
    matrix = np.random.default_rng(4).random((5, 5))
    matrix = (matrix + matrix.T) / 2
    pairs = list(itertools.combinations(range(5), 2))
    means = [np.mean([matrix[p] for p in pairs if run not in p]) for run in range(5)]
    error = np.sqrt(4 / 5 * np.sum((means - np.mean(means)) ** 2))
    found = of_pairs(matrix, -10.0)
    assert found.mean - found.low == pytest.approx(2.7764451 * error)


def test_half_the_width_is_that_of_the_interval():
    assert half_width(Interval(0.5, 0.25, 1.0, 3)) == 0.375
    assert half_width(Interval(0.5, 0.5, 0.5, 3)) == 0
    for low, high in ((None, 1.0), (0.0, None), (None, None)):
        assert half_width(Interval(0.5, low, high, 3)) is None
    found = stability([np.random.default_rng(seed).normal(size=40) for seed in range(6)])
    assert found.half == half_width(found.overlap) > 0
    assert stability([np.arange(8.0)] * 2).half is None, "two runs have no interval"


def test_positions_that_a_run_lacks_are_left_out_of_it():
    nan = np.nan
    found = stability([np.array([5.0, 4, 3, 2, 1]), np.array([nan, 4, 3, 2, nan])], 0.4)
    assert found.mean.tolist() == [5, 4, 3, 2, 1]
    assert np.isnan(found.deviation).tolist() == [True, False, False, False, True]
    assert found.often.tolist() == [1, 1, 1, 0.5, 0]
    nowhere = stability([np.array([1.0, nan]), np.array([2.0, nan])])
    assert np.isnan(nowhere.mean).tolist() == [False, True]
    assert nowhere.often[1] == 0


def test_scores_that_rank_nothing_have_no_correlation():
    found = stability([np.zeros(8), np.arange(8.0), np.zeros(8)])
    assert (found.correlation.mean, found.correlation.n) == (None, 0)
    assert found.overlap.n == 3


def test_one_run_has_no_pair_and_marks_nothing():
    found = stability([np.arange(5.0)])
    assert found.overlap.mean is None
    assert not found.stable.any()
    assert not found.enough


@pytest.mark.parametrize(
    ("runs", "share"), [([], 0.1), ([np.ones(3), np.ones(4)], 0.1), ([np.ones(3)], 0.0)]
)
def test_what_makes_no_sense_is_refused(runs, share):
    with pytest.raises(ValueError, match=r"no run|length|share|must be"):
        stability(runs, share)
