"""Infidelity of maps: closed forms of a linear model, and captum's number under the same noise."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from captum.metrics import infidelity as captum_infidelity

from backend.images.image_faithfulness import ImageFaithfulness
from backend.images.infidelity import NOISE, Shaken, infidelity, noise, shaken
from tests.backend.images import made
from tests.backend.images.test_image_faithfulness import noise_map, scored

SHAPE = (made.SIDE, made.SIDE)


def drawn(seed, count=16):
    """The noise of a run with this seed, by hand: a deviation for each channel's own range."""
    [apart] = np.random.default_rng(seed).spawn(1)
    std = np.array(made.PREPROCESSING.std)[:, None, None]
    return (0.03 / std * apart.normal(size=(count, 3, *SHAPE))).astype(np.float32)


def even():
    """A linear model that weighs the three channels of a pixel alike, and the weights [h, w]."""
    model = made.flat()
    weights = noise_map(8) / 50
    with torch.no_grad():
        model.module.head.weight[2] = torch.from_numpy(np.stack([weights] * 3).ravel())
    return model, weights


def test_noise_is_3_percent_of_each_channel_s_range_in_the_model_s_units():
    found = noise(200, made.PREPROCESSING, np.random.default_rng(0))
    assert found.shape == (200, 3, *SHAPE)
    assert found.dtype == np.float32
    ends = [made.PREPROCESSING.normalised(np.full((*SHAPE, 3), v, np.uint8)) for v in (0, 255)]
    span = (ends[1] - ends[0])[:, 0, 0]
    np.testing.assert_allclose(span, [4, 10 / 3, 5], rtol=1e-5)
    np.testing.assert_allclose(found.std(axis=(0, 2, 3)), 0.03 * span, rtol=0.01)
    np.testing.assert_allclose(found.mean(axis=(0, 2, 3)), 0, atol=1e-3)
    assert NOISE == 0.03


@pytest.mark.parametrize("factor", [1.0, -3.0, 1e-6, 1e6])
def test_the_weights_of_a_linear_model_foretell_all_in_any_unit(photos, factor):
    model, weights = even()
    found = scored(model, photos, factor * weights, label=2).values["metrics"]
    assert found["infidelity"] == pytest.approx(0, abs=1e-6)


def test_what_is_left_is_the_share_of_the_falls_by_least_squares():
    generator = np.random.default_rng(1)
    sums, falls = generator.normal(size=(7, 4, 5)), generator.normal(size=7)
    scores = generator.normal(size=(4, 5))
    foretold = (sums * scores).sum(axis=(1, 2))
    [_], [left], _, _ = np.linalg.lstsq(foretold[:, None], falls, rcond=None)
    found = infidelity(scores, Shaken(sums, falls))
    assert found == pytest.approx(left / (falls**2).sum())
    assert 0 < found < 1


def test_by_hand():
    # One score of 2, noise of 1 and 1: foretold 2 and 2; falls of 1 and 3; the factor is 1.
    known = Shaken(np.ones((2, 1, 1)), np.array([1.0, 3.0]))
    assert infidelity(np.array([[2.0]]), known) == pytest.approx((1 + 1) / (1 + 9))
    none = Shaken(np.array([[[1.0, 5.0]], [[0.0, 7.0]]]), np.array([0.0, 2.0]))
    assert infidelity(np.array([[1.0, 0.0]]), none) == 1


def test_there_is_no_number_where_noise_moves_nothing_or_the_map_is_zero():
    sums = np.ones((3, 2, 2))
    assert infidelity(np.ones((2, 2)), Shaken(sums, np.zeros(3))) is None
    assert infidelity(np.zeros((2, 2)), Shaken(sums, np.ones(3))) is None


def test_a_logit_that_looks_at_nothing_has_no_number_and_says_so(bright):
    found = scored(made.looking(), bright, noise_map(), label=3).values
    assert found["metrics"]["infidelity"] is None
    assert found["undefined"]["infidelity"] == "there is no such number for this map"


@pytest.mark.parametrize(("seed", "label", "draws"), [(0, 2, 16), (5, 1, 16), (5, 4, 9)])
def test_it_is_captum_s_normalised_number_over_the_mean_square_fall(
    cnn, photos, seed, label, draws
):
    scores = noise_map(seed + 1)
    decision = made.decision(cnn, photos, 1, label)
    shakes = torch.from_numpy(drawn(seed, draws))
    falls = (made.logits(cnn, decision.x) - made.logits(cnn, decision.x - shakes))[:, label].numpy()
    theirs = captum_infidelity(
        lambda x: cnn.module(x),
        lambda x: (shakes, x - shakes),
        decision.x,
        torch.from_numpy(scores).expand(1, 3, *SHAPE),
        target=label,
        n_perturb_samples=draws,
        normalize=True,
    )
    found = scored(cnn, photos, scores, 1, label, seed=seed, noise_draws=draws)
    expected = float(theirs) / float((falls**2).mean())
    assert found.values["metrics"]["infidelity"] == pytest.approx(expected, rel=2e-3)
    assert 0.3 < expected < 1


def test_every_map_of_a_picture_meets_the_same_noise(cnn, photos):
    decision = made.decision(cnn, photos, 0, 1)
    [apart] = np.random.default_rng(3).spawn(1)
    known = shaken(decision, 16, apart)
    np.testing.assert_allclose(known.noise, drawn(3).sum(axis=1, dtype=np.float64), rtol=1e-4,
                               atol=1e-6)  # fmt: skip
    for scores in (noise_map(1), noise_map(2)):
        found = scored(cnn, photos, scores, label=1, seed=3).values["metrics"]
        assert found["infidelity"] == pytest.approx(infidelity(scores, known), rel=1e-5)


def test_chance_is_left_with_all_but_what_the_fitted_factor_takes():
    generator = np.random.default_rng(0)
    found = [
        infidelity(
            generator.normal(size=(3, 3)),
            Shaken(generator.normal(size=(16, 3, 3)), generator.normal(size=16)),
        )
        for _ in range(2000)
    ]
    assert np.mean(found) == pytest.approx(1 - 1 / 16, abs=0.006)


def test_random_maps_have_a_band_and_foretell_little(cnn, photos):
    found = made.explain(ImageFaithfulness, cnn, photos, draws=20, steps=2, parts=5).values
    low, high = found["spread"]["infidelity"]
    assert 0.5 < low < found["metrics"]["infidelity"] < high <= 1


def test_the_gradient_foretells_more_than_its_size_does(cnn, photos):
    decision = made.decision(cnn, photos, 0, 2)
    x = decision.x.clone().requires_grad_()
    [gradient] = torch.autograd.grad(cnn.logits(x)[0, 2], x)
    signed = gradient[0].mean(dim=0).numpy()
    whole = scored(cnn, photos, signed, label=2).values["metrics"]["infidelity"]
    size = scored(cnn, photos, np.abs(signed), label=2).values["metrics"]["infidelity"]
    assert whole < 0.5 < size
