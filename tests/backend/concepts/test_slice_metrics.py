"""Recovery of known groups: hand examples, plain loops, and what no order may change."""

from __future__ import annotations

import math

import numpy as np
import pytest

from backend.concepts.slice_metrics import (
    METRICS,
    group_score,
    precision,
    purity,
    score,
    top_share,
)


def slicing(e=80, K=5, groups=4, seed=0, ties=False):
    generator = np.random.default_rng(seed)
    memberships = generator.dirichlet(np.ones(K), e)
    if ties:
        memberships = np.round(memberships, 1)
        memberships /= memberships.sum(axis=1, keepdims=True)
    return memberships, memberships.argmax(axis=1), generator.integers(-1, groups, e)


def certain(slices, K):
    slices = np.asarray(slices)
    return np.eye(K)[slices], slices


def test_precision_by_hand():
    # Slice 0: six members, a among the surest three twice. Slice 1: a alone, but too small.
    slices = np.array([0] * 6 + [1] * 2)
    memberships = np.array(
        [[v, 1 - v] for v in (0.95, 0.9, 0.85, 0.8, 0.75, 0.7)] + [[0.1, 0.9], [0.2, 0.8]]
    )
    held = np.array([1, 0, 1, 0, 0, 0, 1, 1], dtype=bool)
    assert precision(memberships, slices, held, 3) == (pytest.approx(2 / 3), 0)
    assert precision(memberships, slices, held, 2) == (1.0, 1)
    assert precision(memberships, slices, held, 6) == (pytest.approx(2 / 6), 0)
    assert precision(memberships, slices, held, 7) == (0.0, None)


def test_equal_precision_goes_to_the_purer_slice():
    slices = np.array([0] * 4 + [1] * 3)
    memberships = np.zeros((7, 2))
    memberships[:4, 0], memberships[4:, 1] = (0.9, 0.8, 0.7, 0.6), (0.9, 0.8, 0.7)
    held = np.array([1, 1, 0, 0, 1, 1, 0], dtype=bool)
    assert precision(memberships, slices, held, 2) == (1.0, 1)


def test_equal_memberships_are_drawn_by_lot():
    values = np.array([0.9, 0.5, 0.5, 0.5, 0.5, 0.1])
    held = np.array([0, 1, 1, 1, 0, 1], dtype=bool)
    # One is surer; two of the four equal ones follow, of which three quarters are held.
    assert top_share(values, held, 3) == pytest.approx((0 + 2 * 0.75) / 3)
    generator = np.random.default_rng(0)
    draws = []
    for _ in range(4000):
        order = np.lexsort((generator.random(6), -values))
        draws.append(held[order[:3]].mean())
    assert top_share(values, held, 3) == pytest.approx(np.mean(draws), abs=0.01)


def by_loops(memberships, slices, groups, a, k):
    """(precision, best slice) as one would write it down."""
    best = (-1.0, -1.0, None)
    for c in range(memberships.shape[1]):
        members = [i for i in range(len(slices)) if slices[i] == c]
        if len(members) < k or not any(groups[i] == a for i in members):
            continue
        members.sort(key=lambda i, c=c: -memberships[i, c])
        top = sum(groups[i] == a for i in members[:k]) / k
        share = sum(groups[i] == a for i in members) / len(members)
        best = max(best, (top, share, c), key=lambda found: found[:2])
    return best


@pytest.mark.parametrize("seed", range(5))
def test_all_numbers_equal_plain_loops(seed):
    memberships, slices, groups = slicing(seed=seed)
    K = memberships.shape[1]
    found = score(memberships, slices, groups, range(4))
    rows = []
    for a in range(4):
        at_10, _, best = by_loops(memberships, slices, groups, a, 10)
        at_5 = by_loops(memberships, slices, groups, a, 5)[0]
        n = sum(g == a for g in groups)
        counts = [
            sum(s == c and g == a for s, g in zip(slices, groups, strict=True)) for c in range(K)
        ]
        size = sum(s == best for s in slices)
        entropy = -sum(x / n * math.log(x / n) for x in counts if x)
        rows.append(
            {
                "precision_at_10": at_10,
                "precision_at_5": at_5,
                "mgf": counts[best] / size,
                "completeness": counts[best] / n,
                "entropy_completeness": 1 - entropy / math.log(K),
                "slices": sum(x > 0 for x in counts),
            }
        )
        one = found.per_group[a]
        assert (one.group, one.errors, one.slice) == (a, n, best)
    for name in rows[0]:
        assert found.metrics[name] == pytest.approx(np.mean([row[name] for row in rows])), name
    most = sum(
        max(
            sum(s == c and g == a for s, g in zip(slices, groups, strict=True))
            for a in range(-1, 4)
        )
        for c in range(K)
    )
    assert found.metrics["purity"] == pytest.approx(most / len(slices))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_slices_and_errors_does_not_matter(seed, ties):
    memberships, slices, groups = slicing(seed=seed, ties=ties)
    generator = np.random.default_rng(seed + 100)
    columns, rows = generator.permutation(5), generator.permutation(80)
    moved = np.argsort(columns)[slices]
    first = score(memberships, slices, groups, range(4))
    other = score(memberships[:, columns][rows], moved[rows], groups[rows], range(4))
    for name, value in first.metrics.items():
        assert other.metrics[name] == pytest.approx(value), name


def test_a_perfect_slicing():
    groups = np.repeat([0, 1, 2], [12, 20, 15])
    found = score(*certain(groups, 3), groups, [0, 1, 2])
    assert found.metrics == {
        "precision_at_10": 1,
        "precision_at_5": 1,
        "mgf": 1,
        "completeness": 1,
        "entropy_completeness": 1,
        "purity": 1,
        "slices": 1,
    }
    assert found.left_out == {}


def test_groups_spread_evenly_over_all_slices():
    groups, slices = np.repeat([0, 1, 2], 40), np.tile(np.arange(4), 30)
    found = score(*certain(slices, 4), groups, [0, 1, 2])
    assert found.metrics == pytest.approx(
        {
            "precision_at_10": 1 / 3,
            "precision_at_5": 1 / 3,
            "mgf": 1 / 3,
            "completeness": 1 / 4,
            "entropy_completeness": 0,
            "purity": 1 / 3,
            "slices": 4,
        }
    )


def test_one_slice_for_all():
    groups = np.repeat([0, 1], [30, 10])
    found = score(*certain(np.zeros(40, dtype=int), 1), groups, [0, 1])
    assert found.metrics == pytest.approx(
        {
            "precision_at_10": 0.5,
            "precision_at_5": 0.5,
            "mgf": 0.5,
            "completeness": 1,
            "entropy_completeness": 1,
            "purity": 0.75,
            "slices": 1,
        }
    )


def test_a_group_in_slivers_scores_nothing():
    slices = np.repeat(np.arange(4), 9)
    one = group_score(*certain(slices, 4), np.ones(36, dtype=bool))
    assert (one.precision_at_10, one.slice, one.mgf, one.completeness) == (0, None, 0, 0)
    assert one.precision_at_5 == 1
    assert one.slices == 4


def test_small_groups_are_left_out_and_listed():
    groups = np.repeat([0, 1, 2, -1], [10, 9, 3, 8])
    found = score(*certain(groups % 4, 4), groups, [0, 1, 2, 3])
    assert [one.group for one in found.per_group] == [0]
    assert found.left_out == {1: 9, 2: 3, 3: 0}
    none = score(*certain(groups % 4, 4), groups, [1, 2])
    assert none.metrics["precision_at_10"] is None
    assert none.metrics["purity"] == 1
    assert len(score(*certain(groups % 4, 4), groups, [0, 1, 2], fewest=3).per_group) == 3


def test_no_group_is_a_group_for_purity():
    assert purity(np.array([0, 0, 0, 1]), np.array([-1, -1, 2, 2])) == 0.75


def test_every_number_has_a_column():
    found = score(*slicing(), range(4))
    assert {metric.id for metric in METRICS} == set(found.metrics)
    assert [m.id for m in METRICS if not m.higher_is_better] == ["slices"]
