"""LIME: coefficients of games that are linear, the kernel by hand, the ridge in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from backend.images.lime import Lime, weights
from tests.backend.images import made, segments
from tests.backend.images.made import explain


@pytest.fixture
def quarters(monkeypatch):
    segments.cut_into(monkeypatch, segments.QUARTERS)
    return segments.QUARTERS


@pytest.mark.parametrize("fill", ["mean", "black", "grey"])
@pytest.mark.parametrize("label", [0, 4])
def test_a_linear_models_coefficients_are_recovered(flat, photos, quarters, label, fill):
    game = segments.worth(flat, photos, quarters, label, fill)
    found = explain(Lime, flat, photos, label=label, fill=fill, penalty=0)
    values = segments.of_segments(found.scores, quarters)
    np.testing.assert_allclose(values, [game[(i,)] - game[()] for i in range(4)], atol=1e-4)
    assert found.values["fidelity"] == pytest.approx(1, abs=1e-4)
    assert "100%" in found.notes[0]
    assert found.values["segments"] == 4


@pytest.mark.parametrize("penalty", [0.0, 1.0, 20.0])
@pytest.mark.parametrize("width", [0.25, 1.0])
def test_it_is_the_ridge_of_weighted_least_squares(cnn, photos, quarters, penalty, width):
    game = segments.worth(cnn, photos, quarters, 2)
    kept = np.random.default_rng(3).random((40, 4)) < 0.5
    kept[0] = True
    logits = np.array([game[tuple(np.flatnonzero(row))] for row in kept])
    near = np.exp(-((1 - np.sqrt(kept.sum(axis=1) / 4)) ** 2) / width**2)
    rows = kept - np.average(kept, axis=0, weights=near)
    goal = logits - np.average(logits, weights=near)
    left = rows.T @ (near[:, None] * rows) + penalty * np.eye(4)
    expected = np.linalg.solve(left, rows.T @ (near * goal))
    found = explain(Lime, cnn, photos, label=2, seed=3, samples=40, penalty=penalty, width=width)
    np.testing.assert_allclose(
        segments.of_segments(found.scores, quarters), expected, rtol=1e-3, atol=1e-4
    )
    missed = (near * (goal - rows @ expected) ** 2).sum() / (near * goal**2).sum()
    assert found.values["fidelity"] == pytest.approx(1 - missed, abs=1e-4)
    assert 0 < found.values["fidelity"] < 1


def test_weights_by_hand():
    kept = np.array([[1, 1, 1, 1], [1, 0, 0, 0], [0, 0, 0, 0]], dtype=bool)
    found = weights(kept, 0.5)
    np.testing.assert_allclose(found, [1, np.exp(-(0.5**2) / 0.25), np.exp(-1 / 0.25)])


def test_samples_are_drawn_by_the_seed(cnn, photos, quarters):
    first, again, other = (
        explain(Lime, cnn, photos, samples=30, seed=seed).scores for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-4


def test_the_part_that_is_looked_at_gets_all(looking, bright):
    found = explain(Lime, looking, bright, label=0, segments=16, penalty=0)
    numbers = found.arrays["segments"]
    assert numbers.max() >= 3
    assert found.scores[12, 20] > 5
    elsewhere = ~np.isin(numbers, np.unique(numbers[made.SQUARE]))
    np.testing.assert_allclose(found.scores[elsewhere], 0, atol=1e-4)
