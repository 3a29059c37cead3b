"""Directions of concepts: a planted one is found, chance is told from it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_ind

from backend.images.cavs import REFITS, cav, significance

CHANNELS = 16


def made(generator, count, along=None):
    e = 0.3 * generator.normal(size=(count, CHANNELS))
    e[:, 1] += 0.5
    if along is not None:
        e[:, along] += 2.0
    return e / np.linalg.norm(e, axis=1, keepdims=True)


def planted(held=20, seed=0):
    g = np.random.default_rng(seed)
    given = made(g, 40, 0), made(g, 60), made(g, 80)
    held_out = made(g, held, 0), made(g, held)
    return cav(*given, held_out, np.random.default_rng(seed)), given


def test_a_planted_direction_is_found():
    found, (positive, others, pool) = planted()
    difference = positive.mean(axis=0) - np.concatenate([others, pool]).mean(axis=0)
    difference /= np.linalg.norm(difference)
    assert found.vector @ difference > 0.9
    np.testing.assert_allclose(found.pattern, difference)
    assert found.agreement == pytest.approx(found.vector @ difference)
    assert found.auc > 0.99
    assert np.linalg.norm(found.vector) == pytest.approx(1)


def test_refits_agree_and_chance_does_not():
    found, _ = planted()
    assert found.refits.shape == found.chance.shape == (REFITS, CHANNELS)
    pairs = [a @ b for i, a in enumerate(found.refits) for b in found.refits[:i]]
    assert found.stability == pytest.approx(np.mean(pairs))
    assert found.stability > 0.95
    assert abs((found.chance @ found.vector).mean()) < 0.4
    np.testing.assert_allclose(np.linalg.norm(found.chance, axis=1), 1)


def test_no_auc_without_held_out_pieces():
    assert planted(held=0)[0].auc is None


def test_the_auc_of_a_direction_that_says_nothing_is_a_half():
    g = np.random.default_rng(3)
    held_out = made(g, 400), made(g, 400)
    found = cav(made(g, 40, 0), made(g, 60), made(g, 80), held_out, g)
    assert found.auc == pytest.approx(0.5, abs=0.08)


def test_equal_seeds_give_equal_directions():
    one, two = planted()[0], planted()[0]
    np.testing.assert_array_equal(one.refits, two.refits)
    np.testing.assert_array_equal(one.chance, two.chance)


def test_without_other_concepts_the_pool_is_enough():
    g = np.random.default_rng(5)
    nothing = np.zeros((0, CHANNELS))
    found = cav(made(g, 20, 0), nothing, made(g, 20), (made(g, 9, 0), made(g, 9)), g)
    assert found.vector[0] > 0.9
    assert found.auc == 1


def test_significance_is_welchs_times_the_tests():
    g = np.random.default_rng(1)
    own, chance = g.normal(0.8, 1, 10), g.normal(0, 2, 14)
    p = ttest_ind(own, chance, equal_var=False).pvalue
    assert significance(own, chance, 1) == pytest.approx(p)
    assert significance(own, chance, 3) == pytest.approx(min(1, 3 * p))
    assert significance(own, chance, 1000) == 1


def test_constants_are_the_same_or_not():
    assert significance(np.full(5, 2.0), np.full(5, 2.0), 4) == 1
    assert significance(np.full(5, 2.0), np.full(5, 1.0), 4) == 0
