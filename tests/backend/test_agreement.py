"""Agreement against scipy and pandas, and where it is not defined."""

import itertools
import math

import numpy as np
import pandas
import pytest
import scipy.stats

from backend.agreement import agreement, correlation_ends, differing, ranks, share_ends, top_count

RNG = np.random.default_rng(5)
VECTORS = [
    RNG.normal(size=60),
    RNG.integers(-3, 4, size=60).astype(float),
    np.round(RNG.normal(size=60), 1),
]
NAMES = ("alpha", "beta", "gamma")


@pytest.mark.parametrize("values", VECTORS)
def test_ranks_are_scipys(values):
    np.testing.assert_array_equal(ranks(values), scipy.stats.rankdata(values))


def test_spearman_is_scipys_with_ties():
    found = agreement(NAMES, VECTORS)
    for i, j in itertools.product(range(3), repeat=2):
        expected = scipy.stats.spearmanr(VECTORS[i], VECTORS[j]).statistic
        assert found.spearman[i, j] == pytest.approx(expected, abs=1e-12)
    assert found.reasons == {}


def test_spearman_leaves_out_positions_without_a_score_as_pandas_does():
    holed = [vector.copy() for vector in VECTORS]
    holed[0][:7] = np.nan
    holed[1][5:20] = np.nan
    found = agreement(NAMES, holed)
    expected = pandas.DataFrame(dict(zip(NAMES, holed, strict=True))).corr(method="spearman")
    np.testing.assert_allclose(found.spearman, expected.to_numpy(), atol=1e-12)
    assert found.common.tolist() == [[53, 40, 53], [40, 45, 45], [53, 45, 60]]


def test_overlap_and_sign_are_counted():
    a = np.array([9.0, 8, 7, 6, 5, -1, -2, 0, 0, 0])
    b = np.array([9.0, -8, 7, 6.5, 5, 1, -2, 3, 0, 0])
    found = agreement(("a", "b"), (a, b))
    # top 3 of a: 0 1 2; of b: 0 2 3
    assert found.overlap[0, 1] == found.overlap[1, 0] == pytest.approx(2 / 3)
    # both other than zero: positions 0 to 6; signs differ at 1 and 5
    assert found.sign[0, 1] == found.sign[1, 0] == pytest.approx(5 / 7)
    assert found.k[0, 1] == 3
    for name in ("spearman", "overlap", "sign"):
        np.testing.assert_array_equal(np.diag(found.matrix(name)), [1.0, 1.0])


def test_overlap_breaks_ties_by_position():
    tied = np.zeros(8)
    last = np.arange(8.0)
    first = last[::-1].copy()
    found = agreement(("tied", "first", "last"), (tied, first, last))
    assert found.overlap[0, 1] == 1.0
    assert found.overlap[0, 2] == 0.0


@pytest.mark.parametrize(
    ("n", "share", "expected"),
    [(0, 0.1, 0), (2, 0.1, 2), (10, 0.1, 3), (30, 0.1, 3), (31, 0.1, 4), (70, 0.1, 7), (9, 1.0, 9)],
)
def test_top_count(n, share, expected):
    assert top_count(n, share) == expected


def test_a_constant_ranks_nothing_and_says_so():
    found = agreement(("flat", "alpha"), (np.ones(60), VECTORS[0]))
    assert np.isnan(found.spearman[0]).all()
    assert np.isnan(found.spearman[1, 0])
    assert found.spearman[1, 1] == 1.0
    assert found.reasons["spearman", 0, 1] == found.reasons["spearman", 1, 0]
    assert "flat" in found.reasons["spearman", 0, 1]


def test_no_common_position():
    a, b = np.full(6, np.nan), np.arange(6.0)
    a[0], b[0] = 1.0, np.nan
    found = agreement(("a", "b"), (a, b))
    assert np.isnan([found.spearman[0, 1], found.overlap[0, 1], found.sign[0, 1]]).all()
    assert {key[0] for key in found.reasons if key[1:] == (0, 1)} == {
        "spearman",
        "overlap",
        "sign",
    }
    assert "0 positions" in found.reasons["spearman", 0, 1]


def test_every_undefined_entry_has_a_reason_and_no_other():
    vectors = [np.zeros(5), np.arange(5.0), np.array([np.nan, 1, 2, np.nan, np.nan])]
    found = agreement(("z", "a", "h"), vectors)
    for name in ("spearman", "overlap", "sign"):
        missing = {(name, *map(int, place)) for place in np.argwhere(np.isnan(found.matrix(name)))}
        assert missing == {key for key in found.reasons if key[0] == name}


def test_a_method_without_signs_has_no_sign_agreement():
    found = agreement(NAMES[:2], [np.abs(VECTORS[0]), VECTORS[1]], signed=[False, True])
    assert np.isnan(found.sign[0, 1])
    assert found.reasons["sign", 0, 1] == "the scores of alpha have no sign"
    assert not np.isnan(found.sign[1, 1])


def test_reordering_the_positions_changes_nothing_without_ties():
    order = RNG.permutation(60)
    vectors = [RNG.normal(size=60) for _ in range(3)]
    one = agreement(NAMES, vectors)
    other = agreement(NAMES, [vector[order] for vector in vectors])
    for name in ("spearman", "overlap", "sign"):
        np.testing.assert_allclose(one.matrix(name), other.matrix(name), atol=1e-12)


@pytest.mark.parametrize(
    ("names", "vectors", "k", "match"),
    [
        (("a",), (np.ones(3), np.ones(3)), 0.1, "1 names, 2 score vectors"),
        (("a", "b"), (np.ones(3), np.ones(4)), 0.1, "one length"),
        (("a", "b"), (np.ones((3, 1)), np.ones((3, 1))), 0.1, "one length"),
        (("a", "b"), (np.ones(3), np.ones(3)), 0.0, "above 0"),
        (("a", "b"), (np.ones(3), np.ones(3)), 1.5, "at most 1"),
    ],
)
def test_wrong_use(names, vectors, k, match):
    with pytest.raises(ValueError, match=match):
        agreement(names, vectors, k)


def test_nothing_to_compare():
    assert agreement((), ()).spearman.shape == (0, 0)


def test_differing_gives_the_largest_rank_difference_first():
    a = np.array([1.0, 2, 3, 4, np.nan, 5])
    b = np.array([5.0, 2, 3, 4, 9, 1])
    # ranks of a: 1 2 3 4 . 5; of b: 5 2 3 4 . 1
    assert differing(a, b, 10) == (0, 5)
    assert differing(a, b, 1) == (0,)
    assert differing(a, a, 5) == ()
    assert differing(np.full(3, np.nan), np.ones(3), 5) == ()


def test_differing_against_brute_force():
    a, b = RNG.normal(size=40), RNG.normal(size=40)
    distance = np.abs(scipy.stats.rankdata(a) - scipy.stats.rankdata(b))
    expected = sorted(range(40), key=lambda i: (-distance[i], i))[:12]
    assert list(differing(a, b, 12)) == expected
    with pytest.raises(ValueError, match="one length"):
        differing(a, b[:3])


@pytest.mark.parametrize("n", [1, 2, 3, 7, 40, 500])
def test_ends_of_a_share_are_scipys(n):
    counts = np.unique(np.linspace(0, n, 5).round().astype(int))
    low, high = share_ends(counts / n, np.full(len(counts), n))
    for k, *ends in zip(counts.tolist(), low, high, strict=True):
        known = scipy.stats.binomtest(k, n).proportion_ci(method="wilson")
        assert ends == pytest.approx([known.low, known.high], abs=1e-12)


def test_a_share_of_no_positions_has_no_ends():
    assert np.isnan(share_ends(np.array([np.nan, 0.5]), np.array([0, 0]))).all()


@pytest.mark.parametrize(("r", "n"), [(0.0, 4), (0.5, 10), (-0.9, 40), (0.99, 7)])
def test_ends_of_a_correlation_by_hand(r, n):
    low, high = correlation_ends(np.array(r), np.array(n))
    half = 1.959963984540054 * math.sqrt((1 + r**2 / 2) / (n - 3))
    assert float(low) == pytest.approx(math.tanh(math.atanh(r) - half))
    assert float(high) == pytest.approx(math.tanh(math.atanh(r) + half))
    assert float(low) < r < float(high)


def test_fewer_than_four_positions_give_a_correlation_no_ends():
    low, high = correlation_ends(np.array([0.5, 0.5, 1.0, 0.5]), np.array([2, 3, 3, 4]))
    assert np.isnan(low).tolist() == np.isnan(high).tolist() == [True, True, True, False]
    found = agreement(("a", "b"), (np.arange(3.0), np.array([1.0, 3.0, 2.0])))
    assert np.isfinite(found.spearman).all()
    assert np.isnan(found.ends("spearman")).all()
    assert np.isfinite(found.ends("sign")).all()


def test_ends_are_of_the_positions_each_measure_looks_at():
    a = np.array([9.0, 8, 7, 6, 5, -1, -2, 0, 0, 0])
    b = np.array([9.0, -8, 7, 6.5, 5, 1, -2, 3, 0, 0])
    found = agreement(("a", "b"), (a, b))
    assert found.signs.tolist() == [[7, 7], [7, 8]]
    for measure, k, n in (("overlap", 2, 3), ("sign", 5, 7)):
        known = scipy.stats.binomtest(k, n).proportion_ci(method="wilson")
        low, high = found.ends(measure)
        assert low[0, 1] == low[1, 0] == pytest.approx(known.low)
        assert high[0, 1] == high[1, 0] == pytest.approx(known.high)
    known = correlation_ends(scipy.stats.spearmanr(a, b).statistic, np.array(10))
    assert [end[0, 1] for end in found.ends("spearman")] == pytest.approx(known)


def test_a_method_agrees_with_itself_for_certain():
    low, high = agreement(NAMES, VECTORS).ends("spearman")
    np.testing.assert_allclose(np.diag(low), 1)
    np.testing.assert_allclose(np.diag(high), 1)
    inside = np.stack([low, agreement(NAMES, VECTORS).spearman, high])
    assert (np.diff(inside, axis=0) >= -1e-12).all()


def test_what_is_not_defined_has_no_ends():
    found = agreement(("flat", "alpha"), (np.ones(60), np.abs(VECTORS[0])), signed=[True, False])
    assert np.isnan(found.ends("spearman"))[:, 0, :].all()
    assert np.isnan(found.ends("sign"))[:, 0, 1].all()
    for measure in ("spearman", "overlap", "sign"):
        for end in found.ends(measure):
            np.testing.assert_array_equal(np.isnan(end), np.isnan(found.matrix(measure)))


@pytest.mark.parametrize("rho", [0.0, 0.7])
def test_the_interval_of_a_correlation_holds_the_truth_as_often_as_it_says(rho):
    generator = np.random.default_rng(11)
    x, y = generator.normal(size=(2, 400, 40))
    y = rho * x + math.sqrt(1 - rho**2) * y
    ends = [agreement(("a", "b"), pair).ends("spearman") for pair in zip(x, y, strict=True)]
    truth = 6 / math.pi * math.asin(rho / 2)
    held = [low[0, 1] <= truth <= high[0, 1] for low, high in ends]
    assert np.mean(held) == pytest.approx(0.95, abs=0.04)
