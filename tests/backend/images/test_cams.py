"""Class activation maps: captum's Grad-CAM, the papers' formulas one by one, closed forms."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from backend.images.cams import NOTHING
from backend.images.grad_cam import GradCam
from backend.images.grad_cam_plus_plus import GradCamPlusPlus
from backend.images.layer_cam import LayerCam
from backend.images.score_cam import ScoreCam
from tests.backend.images import made
from tests.backend.images.made import explain, grown


def by_hand(model, pictures, image, label):
    """Maps of the tiny network and the gradient of a logit, both [K, gh, gw] in numpy."""
    x = made.decision(model, pictures, image).x
    net = model.module
    maps = net.second_act(net.second(net.first_act(net.first(x)))).requires_grad_()
    net.head(maps.mean(dim=(2, 3)))[0, label].backward()
    return maps.detach()[0].double().numpy(), maps.grad[0].double().numpy()


@pytest.mark.parametrize("label", [0, 3])
@pytest.mark.parametrize("signed", [False, True])
def test_grad_cam_is_captums(cnn, photos, label, signed):
    from captum.attr import LayerAttribution, LayerGradCam

    x = made.decision(cnn, photos, 1).x.requires_grad_()
    peer = LayerGradCam(cnn.module, cnn.module.second_act)
    small = peer.attribute(x, target=label, relu_attributions=not signed)
    expected = LayerAttribution.interpolate(small, cnn.shape, "bilinear")[0, 0].detach()
    found = explain(GradCam, cnn, photos, image=1, label=label, signed=signed)
    assert np.abs(found.scores).max() > 1e-3
    assert (found.scores < 0).any() == signed
    np.testing.assert_allclose(found.scores, expected, rtol=1e-4, atol=1e-6)
    assert (found.values["layer"], found.values["grid"]) == ("second_act", [8, 8])
    assert (found.run.forward_passes, found.run.backward_passes) == (2, 1)


@pytest.mark.parametrize("label", range(made.CLASSES))
def test_layer_cam_is_its_formula(cnn, photos, label):
    maps, gradient = by_hand(cnn, photos, 0, label)
    found = explain(LayerCam, cnn, photos, label=label)
    np.testing.assert_allclose(
        found.scores, grown((maps * np.maximum(gradient, 0)).sum(axis=0)), rtol=1e-4, atol=1e-6
    )
    signed = explain(LayerCam, cnn, photos, label=label, signed=True)
    np.testing.assert_allclose(
        signed.scores, grown((maps * gradient).sum(axis=0)), rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize("label", range(made.CLASSES))
@pytest.mark.parametrize("method", [GradCam, LayerCam])
def test_before_a_linear_head_signed_maps_sum_to_the_logit_less_the_bias(
    cnn, photos, method, label
):
    found = explain(method, cnn, photos, label=label, signed=True)
    logit = float(made.decision(cnn, photos).logits[label])
    bias = float(cnn.module.head.bias[label])
    # Each of the 8 × 8 places has become 4 × 4 pixels.
    assert found.scores.sum() / 16 == pytest.approx(logit - bias, abs=1e-4)


@pytest.mark.parametrize("label", [0, 2])
def test_maps_of_a_transformer_are_its_patches_row_by_row(vit, photos, label):
    x = made.decision(vit, photos, 2).x
    module, kept = vit.module, []

    def hook(_layer, _args, output):
        tokens = output[0] if isinstance(output, tuple) else output
        kept.append(tokens)
        tokens.retain_grad()

    handle = dict(module.named_modules())[vit.maps.name].register_forward_hook(hook)
    module(x.requires_grad_()).logits[0, label].backward()
    handle.remove()
    tokens, slopes = kept[0][0, 1:].detach().double(), kept[0].grad[0, 1:].double()
    weighted = (tokens * slopes.mean(dim=0)).sum(dim=1).reshape(4, 4)
    found = explain(GradCam, vit, photos, image=2, label=label, signed=True)
    assert np.abs(found.scores).max() > 1e-3
    np.testing.assert_allclose(found.scores, grown(weighted), atol=1e-5)
    layer = explain(LayerCam, vit, photos, image=2, label=label, signed=True)
    np.testing.assert_allclose(
        layer.scores, grown((tokens * slopes).sum(dim=1).reshape(4, 4)), atol=1e-5
    )


@pytest.mark.parametrize("label", [0, 1, 4])
def test_grad_cam_plus_plus_is_its_formula_place_by_place(cnn, photos, label):
    maps, gradient = by_hand(cnn, photos, 0, label)
    small = np.zeros(maps.shape[1:])
    for activation, slope in zip(maps, gradient, strict=True):
        weight = 0.0
        for g in slope.ravel():
            below = 2 * g**2 + activation.sum() * g**3
            weight += (g**2 / below if below else 0.0) * max(g, 0.0)
        small += weight * activation
    found = explain(GradCamPlusPlus, cnn, photos, label=label)
    assert found.scores.max() > 0
    np.testing.assert_allclose(found.scores, grown(np.maximum(small, 0)), rtol=1e-4, atol=1e-6)


def score_cam_by_hand(model, pictures, chosen, label):
    x = made.decision(model, pictures).x
    maps, _ = by_hand(model, pictures, 0, label)
    said = []
    for k in chosen:
        spread = maps[k].max() - maps[k].min()
        window = grown((maps[k] - maps[k].min()) / spread if spread else 0 * maps[k])
        said.append(made.logits(model, x * torch.tensor(window, dtype=torch.float32))[0, label])
    weights = np.exp(said) / np.exp(said).sum()
    return grown(np.maximum(np.tensordot(weights, maps[list(chosen)], axes=1), 0))


@pytest.mark.parametrize("label", [1, 3])
def test_score_cam_is_its_formula_map_by_map(cnn, photos, label):
    found = explain(ScoreCam, cnn, photos, label=label)
    assert found.values["tried"] == 8
    assert found.run.forward_passes == 10
    np.testing.assert_allclose(
        found.scores, score_cam_by_hand(cnn, photos, range(8), label), atol=1e-5
    )


def test_score_cam_tries_the_maps_that_matter_most(cnn, photos):
    maps, gradient = by_hand(cnn, photos, 0, 2)
    matters = np.abs(maps.mean(axis=(1, 2)) * gradient.mean(axis=(1, 2)))
    chosen = np.argsort(-matters)[:3]
    found = explain(ScoreCam, cnn, photos, label=2, maps=3)
    assert found.values["tried"] == 3
    np.testing.assert_allclose(found.scores, score_cam_by_hand(cnn, photos, chosen, 2), atol=1e-5)


@pytest.mark.parametrize("method", [GradCam, GradCamPlusPlus, LayerCam])
def test_where_all_speaks_against_the_class_the_map_is_zero_and_says_so(photos, method):
    model = made.cnn()
    with torch.no_grad():
        model.module.head.weight[1] = -1.0
    found = explain(method, model, photos, label=1)
    assert not found.scores.any()
    assert found.notes[-1].startswith("Every score is zero")
    signed = explain(method, model, photos, label=1, signed=True)
    assert (signed.scores < 0).any() == (method is not GradCamPlusPlus)
    if method is GradCam:
        assert NOTHING in found.notes
        assert signed.notes == ()


@pytest.mark.parametrize("method", [GradCam, GradCamPlusPlus, LayerCam, ScoreCam])
def test_a_model_with_dead_maps_gets_zeros(photos, method):
    model = made.cnn()
    with torch.no_grad():
        nn.init.constant_(model.module.second.bias, -1e4)
    found = explain(method, model, photos)
    assert not found.scores.any()
    assert [note[:19] for note in found.notes] == ["Every score is zero"]
