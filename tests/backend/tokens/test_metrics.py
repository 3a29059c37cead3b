"""The metrics against closed forms, brute force and the published evaluation's arithmetic."""

import numpy as np
import pytest

from backend.tokens import metrics
from backend.tokens.metrics import Undefined

RNG = np.random.default_rng(11)


def published(logprobs: np.ndarray, weights: np.ndarray, groups: int) -> tuple[float, ...]:
    """RISE, MAS and RISE+AP written out step by step, loops and all."""
    order = sorted(range(len(weights)), key=lambda i: (-weights[i], i))
    steps = min(groups, len(weights))
    density, start = [1.0], 0
    for step in range(steps):
        size = len(weights) // steps + (step < len(weights) % steps)
        group = order[start : start + size]
        start += size
        density.append(density[-1] - sum(weights[i] for i in group) / sum(weights))
    y, lowest = [], 1.0
    for s in logprobs:
        value = min(1.0, max(0.0, (s - logprobs[-1]) / abs(logprobs[0] - logprobs[-1])))
        lowest = min(lowest, value)
        y.append(lowest)
    plain = [a + abs(a - d) for a, d in zip(y, density, strict=True)]
    clipped = [min(1.0, max(0.0, value)) for value in plain]
    low, high = min(clipped), max(clipped)
    scaled = [(value - low) / (high - low) for value in clipped]

    def auc(curve: list[float]) -> float:
        return (sum(curve) - curve[0] / 2 - curve[-1] / 2) / (len(curve) - 1)

    return auc(y), auc(scaled), auc(plain)


@pytest.mark.parametrize("n", [2, 7, 20, 33])
def test_rise_and_mas_are_the_published_arithmetic(n):
    for _ in range(20):
        weights = RNG.normal(0.5, 1.0, size=n)
        weights *= np.sign(weights.sum())
        counts = metrics.group_counts(n, 20)
        logprobs = np.concatenate([[-1.0], RNG.uniform(-9, 0, size=len(counts) - 2), [-8.0]])
        remaining = metrics.density(weights, metrics.ranking(weights), counts)
        found = (
            metrics.rise(logprobs),
            metrics.mas(logprobs, remaining),
            metrics.rise_ap(logprobs, remaining),
        )
        assert found == pytest.approx(published(logprobs, weights, 20), abs=1e-12)


def test_rise_of_a_straight_fall_and_of_a_fall_at_once():
    assert metrics.rise(np.linspace(-1.0, -5.0, 21)) == pytest.approx(0.5)
    assert metrics.rise(np.array([0.0, *[-4.0] * 20])) == pytest.approx(1 / 40)
    assert metrics.rise(np.array([*[0.0] * 20, -4.0])) == pytest.approx(1 - 1 / 40)


def test_rise_never_rises_again():
    dented = np.array([0.0, -3.0, -1.0, -4.0])
    np.testing.assert_allclose(metrics.response(dented), [1, 0.25, 0.25, 0])


def test_mas_is_rise_where_the_scores_say_how_far_the_curve_falls():
    weights = np.array([4.0, 3.0, 2.0, 1.0])
    logprobs = -np.concatenate([[0.0], np.cumsum(weights)])
    remaining = metrics.density(weights, np.arange(4), np.arange(5))
    assert metrics.mas(logprobs, remaining) == pytest.approx(metrics.rise(logprobs))
    assert metrics.rise_ap(logprobs, remaining) == pytest.approx(metrics.rise(logprobs))
    flat = metrics.density(np.ones(4), np.arange(4), np.arange(5))
    assert metrics.mas(logprobs, flat) > metrics.rise(logprobs)


@pytest.mark.parametrize(
    ("logprobs", "match"),
    [
        ([-3.0, -2.0, -3.0], "does not make the answer less likely"),
        ([-3.0, -4.0, -3.0 - 1e-8], "does not make the answer less likely"),
        ([-3.0, -4.0, -1.0], "does not make the answer less likely"),
        ([-3.0, np.nan, -9.0], "no finite"),
        ([-3.0, -4.0, -np.inf], "no finite"),
    ],
)
def test_a_curve_that_does_not_fall_has_no_rise(logprobs, match):
    with pytest.raises(Undefined, match=match):
        metrics.rise(np.array(logprobs))


@pytest.mark.parametrize("scores", [[0.0, 0.0], [-1.0, 0.5], [-1.0, -2.0], [np.nan, np.nan]])
def test_scores_without_a_positive_sum_have_no_shares(scores):
    with pytest.raises(Undefined, match="more than zero"):
        metrics.density(np.array(scores), np.arange(2), np.arange(3))


def test_ranking_order_ties_and_missing_scores():
    scores = np.array([1.0, np.nan, 3.0, 1.0, -5.0])
    assert metrics.ranking(scores).tolist() == [2, 0, 3, 4, 1]
    assert metrics.ranking(metrics.usable(scores, "absolute")).tolist() == [4, 2, 0, 3, 1]
    assert metrics.ranking(np.zeros(4)).tolist() == [0, 1, 2, 3]
    odd = metrics.usable(np.array([np.inf, 1.0, -np.inf]), "signed")
    assert metrics.ranking(odd).tolist() == [1, 0, 2]


@pytest.mark.parametrize("n", range(1, 60))
def test_group_counts(n):
    counts = metrics.group_counts(n, 20)
    assert len(counts) == min(n, 20) + 1
    assert (counts[0], counts[-1]) == (0, n)
    sizes = np.diff(counts)
    assert sizes.tolist() == [len(part) for part in np.array_split(np.arange(n), min(n, 20))]


@pytest.mark.parametrize(
    ("n", "percent", "expected"),
    [(1, 1, 1), (100, 1, 1), (101, 1, 2), (10, 5, 1), (30, 10, 3), (31, 10, 4), (7, 50, 4)],
)
def test_level_count_rounds_up_exactly(n, percent, expected):
    assert metrics.level_count(n, percent) == expected


def test_area():
    assert metrics.area(np.array([0.5, 0.5, 0.5])) == pytest.approx(0.5)
    assert metrics.area(np.array([1.0, 0.0]), np.array([0.0, 1.0])) == pytest.approx(0.5)
    # uneven points: 0.25 * (1 + 0) / 2
    assert metrics.area(np.array([1.0, 0, 0]), np.array([0, 0.25, 1])) == pytest.approx(0.125)
    with pytest.raises(Undefined):
        metrics.area(np.array([1.0, np.nan]))


def test_mean_drop():
    assert metrics.mean_drop(0.75, [0.25, 0.5]) == pytest.approx(0.375)
    with pytest.raises(Undefined):
        metrics.mean_drop(0.75, [np.nan])


def test_recovery_counts_gold_in_the_top_tenth():
    order = np.arange(25)
    # top ceil(2.5) = 3
    assert metrics.recovery(order, frozenset({0, 2})) == 1.0
    assert metrics.recovery(order, frozenset({2, 3})) == 0.5
    assert metrics.recovery(order, frozenset({0, 1, 2, 3, 4, 5})) == 0.5
    assert metrics.recovery(order[::-1], frozenset({0, 1})) == 0.0
    with pytest.raises(Undefined, match="no planted evidence in this input"):
        metrics.recovery(order, frozenset())


def test_mass_on_gold():
    scores = np.array([3.0, 1.0, -8.0, np.nan])
    assert metrics.mass_on_gold(scores, frozenset({0})) == pytest.approx(0.75)
    assert metrics.mass_on_gold(scores, frozenset({2, 3})) == 0.0
    with pytest.raises(Undefined, match="positive"):
        metrics.mass_on_gold(np.array([-1.0, 0.0]), frozenset({0}))
    with pytest.raises(Undefined, match="no planted evidence in this input"):
        metrics.mass_on_gold(scores, frozenset())


def test_the_table_names_every_metric_once():
    names = [metric.id for metric in (*metrics.METRICS, *metrics.DETAILS)]
    assert len(set(names)) == len(names)
    assert {f"sufficiency@{k}" for k in (1, 5, 10, 20, 50)} < set(names)
    assert all(metric.how_to_read.endswith(".") for metric in metrics.METRICS)
