"""Saliency and SmoothGrad: gradients by finite differences and by hand, noise by the seed."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from backend.images.saliency import Saliency
from backend.images.smooth_grad import SmoothGrad
from tests.backend.images import made
from tests.backend.images.made import explain


def sizes(model, x, label):
    """[h, w] float64: the largest size of the gradient over the channels."""
    given = x.clone().requires_grad_()
    model.logits(given)[0, label].backward()
    return given.grad[0].abs().max(dim=0).values.double().numpy()


@pytest.mark.parametrize("which", ["cnn", "vit"])
def test_saliency_is_the_largest_slope_of_a_pixels_channels(request, photos, which):
    model = request.getfixturevalue(which)
    x = made.decision(model, photos).x
    found = explain(Saliency, model, photos, label=1)
    np.testing.assert_allclose(found.scores, sizes(model, x, 1), rtol=1e-4, atol=1e-6)
    assert found.scores.max() > 1e-4
    assert (found.run.forward_passes, found.run.backward_passes) == (2, 1)


def test_saliency_of_a_linear_model_is_its_weights(flat, photos):
    weights = flat.module.head.weight[4].view(3, made.SIDE, made.SIDE)
    found = explain(Saliency, flat, photos, label=4)
    np.testing.assert_allclose(found.scores, weights.abs().amax(dim=0), atol=1e-7)


def test_saliency_is_what_finite_differences_say(cnn, photos):
    x = made.decision(cnn, photos).x
    found = explain(Saliency, cnn, photos, label=0).scores
    step = 1e-2
    for row, column in [(0, 0), (7, 20), (31, 31), (16, 5)]:
        slopes = []
        for channel in range(3):
            up, down = x.clone(), x.clone()
            up[0, channel, row, column] += step
            down[0, channel, row, column] -= step
            rise = made.logits(cnn, up)[0, 0] - made.logits(cnn, down)[0, 0]
            slopes.append(abs(float(rise)) / (2 * step))
        assert found[row, column] == pytest.approx(max(slopes), rel=0.05, abs=1e-4)


@pytest.mark.parametrize("seed", [0, 5])
def test_smooth_grad_is_the_mean_over_noisy_copies(cnn, photos, seed):
    decision = made.decision(cnn, photos, 1)
    x = decision.x
    generator = torch.Generator().manual_seed(seed)
    sigma = 0.3 * (x.max() - x.min())
    noise = torch.randn(6, *x.shape[1:], generator=generator)
    expected = np.mean([sizes(cnn, x + sigma * one, decision.label) for one in noise], axis=0)
    found = explain(SmoothGrad, cnn, photos, image=1, seed=seed, copies=6, noise=0.3)
    np.testing.assert_allclose(found.scores, expected, rtol=1e-4, atol=1e-6)
    assert found.run.backward_passes == 6


def test_smooth_grad_draws_its_noise_by_the_seed(cnn, photos):
    first, again, other = (
        explain(SmoothGrad, cnn, photos, copies=3, seed=seed).scores for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-5


def test_smooth_grad_with_next_to_no_noise_is_saliency(vit, photos):
    found = explain(SmoothGrad, vit, photos, copies=2, noise=1e-7).scores
    np.testing.assert_allclose(found, explain(Saliency, vit, photos).scores, rtol=1e-3, atol=1e-5)
