"""What the logit makes of the maps: complete, exact where the rest is linear."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from backend.images import tail
from tests.backend.images.made import SIDE, worker_run


def picture(seed=0, count=1):
    return torch.randn(count, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(seed))


def summed(found, origin):
    return float((found.mean * (found.maps - origin[:, None, None])).sum())


def test_one_gradient_is_exact_where_the_rest_is_linear(cnn):
    x, origin = picture(), np.zeros(8)
    for label in range(5):
        found = tail.slope(cnn, x, label, origin, worker_run())
        assert found.points == 1
        assert summed(found, origin) == pytest.approx(found.whole - found.base, abs=1e-4)
        assert found.base == pytest.approx(float(cnn.module.head.bias[label]), abs=1e-5)
        by_hand = (cnn.module.head.weight[label] / 64)[:, None, None].expand(8, 8, 8)
        np.testing.assert_allclose(found.gradient, by_hand.numpy(), atol=1e-6)
        np.testing.assert_array_equal(found.mean, found.gradient)


def test_from_another_origin_too(cnn):
    x, origin = picture(1), np.linspace(0, 1, 8)
    found = tail.slope(cnn, x, 2, origin, worker_run())
    assert found.points == 1
    assert summed(found, origin) == pytest.approx(found.whole - found.base, abs=1e-4)


def test_of_a_transformer_the_way_is_summed_up(vit):
    x = picture(2)
    run = worker_run()
    maps = tail.features(vit, x, run)
    origin = maps.mean(dim=(0, 2, 3)).double().numpy()
    for label in range(3):
        found = tail.slope(vit, x, label, origin, run)
        assert found.points > 1
        assert abs(found.whole - found.base) > 1e-2
        assert summed(found, origin) == pytest.approx(found.whole - found.base, abs=1e-3)


def test_the_models_own_maps_give_its_own_logits(cnn, vit):
    x = picture(3, count=2)
    for model in (cnn, vit):
        run = worker_run()
        hooks = len(model.maps.module._forward_hooks)
        maps = tail.features(model, x, run)
        assert maps.shape[2:] == model.maps.grid
        with torch.no_grad():
            found, plain = tail.logits(model, x, maps, run), model.logits(x)
        torch.testing.assert_close(found, plain, atol=1e-5, rtol=1e-5)
        assert run.forward_passes == 4
        assert len(model.maps.module._forward_hooks) == hooks


def test_other_maps_give_other_logits_and_gradients_flow(cnn, vit):
    x = picture(4)
    for model in (cnn, vit):
        maps = tail.features(model, x, worker_run())
        leaf = maps.flip(1).requires_grad_()  # a norm undoes a change of scale
        found = tail.logits(model, x, leaf, worker_run())
        (gradient,) = torch.autograd.grad(found[0, 0], leaf)
        assert gradient.abs().max() > 1e-4
        assert float((found.detach() - model.logits(x)).abs().max()) > 1e-3


def test_the_slope_tells_the_models_own_numbers(vit):
    x = picture(5)
    run = worker_run()
    found = tail.slope(vit, x, 1, np.zeros(16), run)
    assert found.whole == pytest.approx(float(vit.logits(x)[0, 1].detach()), abs=1e-5)
    np.testing.assert_allclose(found.maps, tail.features(vit, x, run)[0].numpy(), atol=1e-6)
    assert run.backward_passes >= 1 + found.points
