"""Maps that know nothing of the model: drawn by the seed, or a Gaussian about the middle."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest, multivariate_normal

from backend.images.controls import CentreGaussian, RandomMap, drawn
from tests.backend.images import made
from tests.backend.images.made import explain, grown


def test_a_random_map_is_its_draw_enlarged(cnn, photos):
    found = explain(RandomMap, cnn, photos, seed=4)
    expected = grown(np.random.default_rng(4).random((14, 14)))
    np.testing.assert_allclose(found.scores, expected, atol=1e-6)


def test_random_maps_follow_the_seed_and_not_the_model(cnn, vit, photos):
    first = explain(RandomMap, cnn, photos, seed=1).scores
    np.testing.assert_array_equal(first, explain(RandomMap, vit, photos, image=2, seed=1).scores)
    other = explain(RandomMap, cnn, photos, seed=2).scores
    assert abs(np.corrcoef(first.ravel(), other.ravel())[0, 1]) < 0.3


def test_a_draw_is_uniform():
    generator = np.random.default_rng(0)
    found = np.concatenate([drawn((14, 14), generator).ravel() for _ in range(20)])
    assert kstest(found, "uniform").pvalue > 0.01


def test_the_centre_is_a_gaussian_a_quarter_wide(cnn, photos):
    places = np.stack(np.mgrid[: made.SIDE, : made.SIDE], axis=-1)
    normal = multivariate_normal([15.5, 15.5], np.diag([64.0, 64.0]))
    expected = normal.pdf(places) * (2 * np.pi * 64)
    found = explain(CentreGaussian, cnn, photos).scores
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert found.max() == pytest.approx(np.exp(-2 * 0.5**2 / 64 / 2))
    np.testing.assert_array_equal(found, explain(CentreGaussian, cnn, photos, image=1).scores)
