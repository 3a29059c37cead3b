"""Noisy copies of a picture, and how far a map moves on them: by hand and by captum."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from captum.attr import Saliency as CaptumSaliency
from captum.metrics import sensitivity_max

from backend.images.noise import RADIUS, STEPS, noisy
from backend.images.saliency import Saliency
from backend.images.sensitivity import max_sensitivity
from tests.backend.images import made
from tests.backend.images.made import explain


def test_the_largest_distance_over_the_map_s_own_length_by_hand():
    first = np.array([[3.0, 0.0], [0.0, 4.0]])
    near, far = np.array([[3.0, 1.0], [0.0, 4.0]]), np.array([[0.0, 0.0], [0.0, 0.0]])
    assert max_sensitivity(first, [near]) == pytest.approx(1 / 5)
    assert max_sensitivity(first, [near, far, near]) == pytest.approx(1)
    assert max_sensitivity(first, [-first]) == pytest.approx(2)
    assert max_sensitivity(first, [first]) == 0
    assert max_sensitivity(7 * first, [7 * near]) == pytest.approx(1 / 5), "units do not matter"


def test_small_numbers_are_not_lost_in_float32():
    first = np.full((2, 2), 1e-30, dtype=np.float32)
    assert max_sensitivity(first, [3 * first]) == pytest.approx(2)


def test_there_is_none_without_a_copy_or_of_a_map_of_zeros():
    assert max_sensitivity(np.ones((2, 2)), []) is None
    assert max_sensitivity(np.zeros((2, 2)), [np.ones((2, 2))]) is None


@pytest.mark.parametrize(("image", "label"), [(0, 2), (2, 4)])
def test_it_is_captum_s_number_on_the_same_copies(cnn, photos, image, label):
    copies = [noisy(photos, image, seed) for seed in (1, 2, 3, 4)]
    first = explain(Saliency, cnn, photos, image=image, label=label).scores
    others = [explain(Saliency, cnn, one, label=label).scores for one in copies]
    near = torch.cat([made.decision(cnn, one, 0, label).x for one in copies])

    def maps(given):
        x = (given[0] if isinstance(given, tuple) else given).detach().requires_grad_()
        found = CaptumSaliency(lambda one: cnn.module(one)).attribute(x, target=label)
        found = found.amax(dim=1, keepdim=True)
        return (found,) if isinstance(given, tuple) else found  # as captum's own methods do

    x = made.decision(cnn, photos, image, label).x
    theirs = sensitivity_max(maps, x, perturb_func=lambda _: near, n_perturb_samples=4)
    assert max_sensitivity(first, others) == pytest.approx(float(theirs), rel=1e-4)
    assert float(theirs) > 0.01


def test_noise_is_even_within_2_percent_of_the_range():
    grey = made.of_arrays({"image/0": np.full((200, 200, 3), 100, dtype=np.uint8)})
    found = noisy(grey, 0, 5).image(0)
    assert (RADIUS, STEPS) == (0.02, 5)
    levels, counts = np.unique(found, return_counts=True)
    assert levels.tolist() == list(range(95, 106))
    np.testing.assert_allclose(counts / found.size, 1 / 11, atol=0.004)
    assert np.corrcoef(found[..., 0].ravel(), found[..., 1].ravel())[0, 1] < 0.02


def test_noise_ends_at_black_and_white():
    ends = np.zeros((50, 50, 3), dtype=np.uint8)
    ends[25:] = 255
    found = noisy(made.of_arrays({"image/0": ends}), 0, 0).image(0)
    assert (found[:25].min(), found[:25].max()) == (0, 5)
    assert (found[25:].min(), found[25:].max()) == (250, 255)


def test_a_copy_is_that_of_its_seed_and_keeps_the_known_object(bright, photos):
    one = noisy(photos, 1, 3)
    assert len(one) == 1
    assert one.names == photos.names[1:2]
    assert np.array_equal(one.image(0), noisy(photos, 1, 3).image(0))
    assert not np.array_equal(one.image(0), noisy(photos, 1, 4).image(0))
    assert np.abs(one.image(0).astype(int) - photos.image(1).astype(int)).max() == STEPS
    assert np.array_equal(noisy(bright, 0, 0).mask(0), bright.mask(0))
