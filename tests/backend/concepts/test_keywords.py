"""Keyword scores against a double loop, and how slices are named and ranked."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import f1_score, precision_score, recall_score

from backend.concepts import ectp, rank
from backend.concepts.choose_k import candidates, saturation
from backend.concepts.concept_errors import pearson, quality
from backend.concepts.keywords import (
    agreement,
    decisiveness,
    keywords,
    of_slices,
    settings,
)
from backend.concepts.mixture import responsibilities
from tests.backend.concepts.failing import failing_table, random_logits
from tests.backend.concepts.test_mixture import anywhere


@pytest.mark.parametrize("how", ["paper", "percentile"])
def test_scores_equal_a_double_loop(how, monkeypatch):
    monkeypatch.setattr(ectp, "CELLS", 7 * 3 * 4)
    at, x = anywhere(4, 3), random_logits(25, 4) * 0.4
    p = 1 / (1 + np.exp(-x))
    off, on = settings(how, x)
    if how == "paper":
        np.testing.assert_allclose(1 / (1 + np.exp(-off)), 1e-6)
        np.testing.assert_allclose(on, -off)
    else:
        np.testing.assert_allclose(off, np.quantile(x, 0.05, axis=0))
        np.testing.assert_allclose(on, np.quantile(x, 0.95, axis=0))
    expected = np.zeros(x.shape)
    before = responsibilities(at, x)
    for i in range(len(x)):
        for j in range(4):
            for value, share in ((off[j], 1 - p[i, j]), (on[j], p[i, j])):
                z = x[i].copy()
                z[j] = value
                r = responsibilities(at, z[None])[0]
                kept = r > 0
                expected[i, j] += share * (r[kept] * np.log(r[kept] / before[i][kept])).sum()
    found = decisiveness(at, x, p, (off, on))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    assert (found >= 0).all()


def test_means_are_weighted_by_membership():
    scores = np.array([[1.0, 2.0], [3.0, 6.0], [5.0, 7.0]])
    weights = np.array([[0.5, 0], [0.25, 0], [0, 0]])
    np.testing.assert_allclose(of_slices(scores, weights), [[5 / 3, 10 / 3], [0, 0]])


def test_keywords_come_by_score_and_tell_who_is_mispredicted():
    found = keywords(
        np.array([0.1, 0.7, 0.7, 0.3]),
        np.array([0.9, 0.8, 0.2, 0.1]),
        np.array([0.9, 0.1, 0.9, 0.0]),
        np.array([4, 5, 7, 9]),
        3,
    )
    assert [word.concept for word in found] == [5, 7, 9]
    assert [word.mispredicted for word in found] == [True, True, False]
    assert (found[0].score, found[0].predicted, found[0].true) == (0.7, 0.8, 0.1)


def test_agreement_is_spearmans():
    a, b = np.random.default_rng(0).random((2, 3, 8))
    expected = np.mean([spearmanr(x, y).statistic for x, y in zip(a, b, strict=True)])
    assert agreement(a, b) == pytest.approx(expected)
    assert agreement(a, 2 * a) == pytest.approx(1)
    assert agreement(np.ones((2, 4)), a[:2, :4]) is None


def test_ranking_by_hand():
    x = np.array([[2.0, 0.0], [5.0, 0.0], [0.0, 3.0]])
    parts = rank.parts(np.array([1.0, 0.5, 0.5]), np.array([0, 0, 1]), x, 2)
    entropy = -(0.75 * np.log(0.75) + 0.25 * np.log(0.25)) / np.log(2)
    assert parts["MC"] == pytest.approx(1 - entropy)
    centroid = np.array([1.5, 0.5]) / np.hypot(1.5, 0.5)
    assert parts["SC"] == pytest.approx((1.5 * centroid[0] + 0.5 * centroid[1]) / 2)
    assert parts["rho"] == pytest.approx(1 - np.exp(-0.2))
    expected = parts["rho"] * (parts["MC"] + (1 + parts["SC"]) / 2) / 2
    assert rank.score(parts) == pytest.approx(expected)


def test_a_slice_of_one_story_has_the_highest_parts():
    parts = rank.parts(np.ones(100), np.full(100, 3), np.tile([1.0, -2.0], (100, 1)), 5)
    assert parts == pytest.approx({"MC": 1, "SC": 1, "rho": 1 - np.exp(-10)})
    spread = rank.parts(np.ones(100), np.arange(100) % 5, np.tile([1.0, -2.0], (100, 1)), 5)
    assert spread["MC"] == pytest.approx(0, abs=1e-12)


def test_counts_beside_are_scikit_learns():
    table = failing_table()
    said, true = table.arrays["logits"] > 0, table.arrays["concepts"] > 0
    wrong = table.arrays["labels"] != table.arrays["predictions"]
    found = pearson(table)
    assert np.isnan(found[0])  # never wrong
    assert found[2] == pytest.approx(np.corrcoef(said[:, 2] != true[:, 2], wrong)[0, 1])
    rows = table.errors
    counts = quality(table, rows)
    for j in (1, 2, 3):
        for name, score in (
            ("concept_precision", precision_score),
            ("concept_recall", recall_score),
            ("concept_f1", f1_score),
        ):
            assert counts[name][j] == pytest.approx(score(true[rows, j], said[rows, j]))
    arrays = table.arrays | {"logits": np.full_like(table.arrays["logits"], -1.0)}
    never = quality(dataclasses.replace(table, arrays=arrays), rows)
    assert np.isnan(never["concept_precision"]).all()
    assert (never["concept_recall"] == 0).all()


def test_the_number_of_slices_is_where_the_loss_stops_falling():
    values = (4, 6, 8, 10)
    assert saturation(values, [100, 60, 41, 40]) == 8  # 41 is within 40 + 3
    assert saturation(values, [100, 60, 45, 40]) == 10
    assert saturation(values, [100, 60, 40, 70]) == 8
    assert saturation(values, [5, 5, 5, 5]) == 4
    assert saturation((7,), [3]) == 7


def test_few_samples_have_few_candidates():
    assert candidates(20) == (4,)
    assert candidates(49) == (4, 6, 8)
    assert candidates(2000) == (4, 6, 8, 10, 14, 18)
    assert candidates(3) == (4,)
