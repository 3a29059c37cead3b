"""Slices over runs: scikit-learn's index, overlaps of sets, and groups planted to come back."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from backend.concepts.bootstrap_table import bootstrapped, drawn
from backend.concepts.explanation import ConceptTarget
from backend.concepts.kmeans_slices import KMeansSlices
from backend.concepts.random_slices import RandomSlices
from backend.concepts.slice_stability import BACK, Slicing, slice_stability
from backend.stability import FEWEST
from tests.backend.concepts.planted import planted
from tests.fake import FakeRun


def run(slices, samples=None):
    slices = np.asarray(slices)
    return Slicing(np.arange(len(slices)) if samples is None else np.asarray(samples), slices)


def random_run(seed, slices=4, n=60):
    """Some of the samples, each in a slice by chance."""
    generator = np.random.default_rng(seed)
    samples = np.sort(generator.choice(n, 45, replace=False))
    return Slicing(samples, generator.integers(0, slices, 45))


def members(one):
    """Slice -> the set of its samples."""
    pairs = list(zip(one.slices.tolist(), one.samples.tolist(), strict=True))
    return {s: {sample for other, sample in pairs if other == s} for s, _ in pairs}


def by_sets(first, other, number):
    """Largest Jaccard overlap of a slice, over the samples in both; NaN where it has none there."""
    both = set(first.samples.tolist()) & set(other.samples.tolist())
    own = members(first).get(number, set()) & both
    if not own:
        return np.nan
    there = [found & both for found in members(other).values()]
    return max(len(own & found) / len(own | found) for found in there)


def test_a_sample_that_was_drawn_twice_counts_once():
    rows = np.array([7, 3, 7, 9, 3, 1])
    found = Slicing.of(np.array([0, 1, 2, 4, 5]), np.array([2, 0, 2, 0, 1]), rows)
    assert found.samples.tolist() == [1, 3, 7]
    assert found.slices.tolist() == [1, 0, 2]
    plain = Slicing.of(np.array([2, 5, 8]), np.array([1, 0, 1]))
    assert (plain.samples.tolist(), plain.slices.tolist()) == ([2, 5, 8], [1, 0, 1])


def test_of_one_that_is_in_two_slices_the_first_counts():
    found = Slicing.of(np.array([0, 1, 2]), np.array([4, 5, 6]), np.array([8, 2, 8]))
    assert dict(zip(found.samples.tolist(), found.slices.tolist(), strict=True)) == {2: 5, 8: 4}


@pytest.mark.parametrize("seed", range(5))
def test_agreement_is_scikit_learns_index_over_the_samples_in_both(seed):
    runs = [random_run(10 * seed + i) for i in range(4)]
    expected = []
    for one, other in itertools.combinations(runs, 2):
        both = np.intersect1d(one.samples, other.samples)
        assert 0 < len(both) < 45
        labels = [each.slices[np.isin(each.samples, both)] for each in (one, other)]
        expected.append(adjusted_rand_score(*labels))
    found = slice_stability(runs)
    assert found.agreement.mean == pytest.approx(np.mean(expected), abs=1e-12)
    assert (found.agreement.n, found.runs) == (6, 4)
    assert found.agreement.low <= found.agreement.mean <= found.agreement.high


@pytest.mark.parametrize("seed", range(5))
def test_overlaps_are_those_of_the_sets_of_members(seed):
    first, *others = (random_run(100 + 10 * seed + i) for i in range(6))
    table = np.array([[by_sets(first, other, k) for k in range(4)] for other in others])
    found = slice_stability([first, *others])
    np.testing.assert_allclose(found.overlap, np.nanmean(table, axis=0))
    np.testing.assert_allclose(found.back, (table > BACK).mean(axis=0))


def test_by_hand():
    first = run([0, 0, 0, 0, 1, 1, 2, 2])
    other = run([1, 1, 1, 0, 0, 0, 2, 3])
    found = slice_stability([first, other, first])
    # {0..3} beside {0, 1, 2}; {4, 5} beside {3, 4, 5}; {6, 7} beside {6}, which is a half.
    np.testing.assert_allclose(found.overlap, [(3 / 4 + 1) / 2, (2 / 3 + 1) / 2, (1 / 2 + 1) / 2])
    assert found.back.tolist() == [1, 1, 0.5], "a half is not above a half"
    assert found.stable.tolist() == [True, True, False]


def test_stable_is_nine_of_ten_runs():
    usual, other = run([0] * 10 + [1] * 10), run([0] * 10 + list(range(1, 11)))
    nine = slice_stability([usual, *[usual] * 9, other])
    assert nine.back.tolist() == [1, 0.9]
    assert nine.stable.tolist() == [True, True]
    eight = slice_stability([usual, *[usual] * 8, other, other])
    assert eight.back.tolist() == [1, 0.8]
    assert eight.stable.tolist() == [True, False]


def test_a_slice_with_no_sample_in_another_run_is_left_out_of_it():
    first = run([0, 0, 1, 1, 2, 2], samples=[0, 1, 2, 3, 4, 5])
    # The first has lost a slice, the second has other samples alone; nobody has the last slice.
    one = run([5, 5, 5], samples=[0, 1, 9])
    nothing = run([0, 1], samples=[20, 21])
    found = slice_stability([first, one, nothing])
    assert found.overlap[0] == 1
    assert np.isnan(found.overlap[1:]).all()
    assert found.back[0] == 1, "of the runs that have its samples"
    assert np.isnan(found.back[1:]).all()
    assert found.stable.tolist() == [True, False, False]
    assert (found.agreement.mean, found.agreement.n) == (1, 1)


def test_equal_runs_have_a_point_for_an_interval_and_are_enough():
    one = random_run(0)
    renamed = Slicing(one.samples, np.array([2, 0, 3, 1])[one.slices])
    found = slice_stability([one, renamed, one, renamed, one])
    assert (found.agreement.mean, found.agreement.low, found.agreement.high) == (1, 1, 1)
    assert found.overlap.tolist() == found.back.tolist() == [1] * 4
    assert found.stable.all()
    assert found.half == 0
    assert found.enough
    assert not slice_stability([one] * (FEWEST - 1)).enough, "too few runs to stop"


def test_unrelated_runs_agree_as_chance_does_and_nothing_stays():
    generator = np.random.default_rng(1)
    found = slice_stability([run(generator.integers(0, 5, 400)) for _ in range(9)])
    assert abs(found.agreement.mean) < 0.01
    assert found.agreement.low < 0 < found.agreement.high
    assert found.back.tolist() == [0] * 5
    assert not found.stable.any()
    # A fifth of 80 in each of five: 16 of 144, and a little more as it is the largest of five.
    assert found.overlap == pytest.approx(16 / 144, abs=0.06)


def test_one_run_says_nothing_and_two_have_no_interval():
    one = random_run(0)
    alone = slice_stability([one])
    assert (alone.runs, alone.agreement.mean, alone.half) == (1, None, None)
    assert np.isnan(alone.overlap).all()
    assert np.isnan(alone.back).all()
    assert len(alone.back) == 4
    assert not alone.stable.any()
    two = slice_stability([one, one])
    assert (two.agreement.mean, two.agreement.low, two.half) == (1, None, None)
    assert not two.enough
    with pytest.raises(ValueError, match="no run"):
        slice_stability([])


def slicings(method, table, count=6):
    """Of the table, and of its bootstraps."""

    def one(given, rows=None):
        parameters = method.Parameters(slices=4)
        found = method().explain(None, given, ConceptTarget(), parameters, FakeRun(seed=1))
        return Slicing.of(found.arrays["errors"], found.arrays["slices"], rows)

    again = [one(bootstrapped(table, seed), drawn(len(table), seed)) for seed in range(count - 1)]
    return [one(table), *again]


def test_planted_groups_come_back_on_bootstraps_and_random_slices_do_not():
    table = planted()
    found = slice_stability(slicings(KMeansSlices, table))
    assert found.agreement.mean > 0.95
    assert found.stable.tolist() == [True] * 4
    chance = slice_stability(slicings(RandomSlices, table))
    assert abs(chance.agreement.mean) < 0.05
    assert not chance.stable.any()
    assert chance.overlap.max() < BACK
