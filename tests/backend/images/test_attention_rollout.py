"""Attention rollout, plain and by gradient: sums over all ways from patch to class token."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from backend.images.attention_rollout import NO_ATTENTION, AttentionRollout, GradientRollout
from backend.images.carrier import LITE0
from tests.backend.images import made
from tests.backend.images.made import explain, grown


def attentions(model, x, label):
    """Of each block, [heads, N, N] each: the attention, and the gradient of a logit by it."""
    found = model.module(x.requires_grad_(), output_attentions=True)
    for one in found.attentions:
        one.retain_grad()
    found.logits[0, label].backward()
    return [(one[0].detach().double(), one.grad[0].double()) for one in found.attentions]


def over_all_ways(steps):
    """[N]: of each token the sum, over all ways to the class token, of the product of steps."""
    first, second, third = (step.numpy() for step in steps)
    return np.einsum("cj,jk,kp->p", third[:1], second, first)


@pytest.mark.parametrize("image", [0, 2])
def test_rollout_is_the_sum_over_all_ways(vit, photos, image):
    pairs = attentions(vit, made.decision(vit, photos, image).x, 0)
    steps = [0.5 * a.mean(dim=0) + 0.5 * torch.eye(17).double() for a, _ in pairs]
    ways = over_all_ways(steps)
    assert ways.sum() == pytest.approx(1, abs=1e-5)
    found = explain(AttentionRollout, vit, photos, image=image)
    np.testing.assert_allclose(found.scores, grown(ways[1:].reshape(4, 4)), atol=1e-6)
    assert np.ptp(found.scores) > 1e-3
    assert found.values["grid"] == [4, 4]


def test_rollout_is_the_same_for_every_class(vit, photos):
    first, other = (explain(AttentionRollout, vit, photos, label=i).scores for i in (0, 3))
    np.testing.assert_array_equal(first, other)


@pytest.mark.parametrize("label", [0, 3])
def test_gradient_rollout_is_the_sum_over_all_ways(vit, photos, label):
    pairs = attentions(vit, made.decision(vit, photos, 1).x, label)
    steps = [(a * g).clamp_min(0).mean(dim=0) + torch.eye(17).double() for a, g in pairs]
    ways = over_all_ways(steps)[1:].reshape(4, 4)
    found = explain(GradientRollout, vit, photos, image=1, label=label)
    np.testing.assert_allclose(found.scores, grown(ways), rtol=1e-4, atol=1e-6)
    assert found.scores.max() > 1e-3
    assert (found.run.forward_passes, found.run.backward_passes) == (2, 1)


def test_gradient_rollout_depends_on_the_class(vit, photos):
    first, other = (explain(GradientRollout, vit, photos, label=i).scores for i in (0, 3))
    assert np.abs(first - other).max() > 1e-3


def test_reported_attention_is_the_softmax_of_queries_and_keys(vit, photos):
    x = made.decision(vit, photos).x
    kept = {}
    names = dict(vit.module.named_modules())
    parts = [n for n in names if n.endswith(("query", "key", "q_proj", "k_proj"))]
    handles = [
        names[n].register_forward_hook(lambda _m, _i, out, n=n: kept.update({n: out}))
        for n in parts
    ]
    with torch.no_grad():
        found = vit.module(x, output_attentions=True).attentions
    for handle in handles:
        handle.remove()
    assert len(parts) == 6
    for block, attention in enumerate(found):
        key, query = (
            kept[n][0].reshape(17, 2, 8).transpose(0, 1)
            for n in sorted(parts)[2 * block : 2 * block + 2]
        )
        expected = (query @ key.transpose(1, 2) / 8**0.5).softmax(dim=-1)
        torch.testing.assert_close(attention[0], expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("method", [AttentionRollout, GradientRollout])
def test_only_transformers_with_a_class_token_are_served(photos, method):
    for kind in ("vit", "deit", "dinov2"):
        assert method().supports({"model_type": kind}, photos) is None
    for kind in ("resnet", "convnext", "swin", "beit", LITE0, None):
        assert method().supports({"model_type": kind}, photos) == NO_ATTENTION


def test_a_single_block_is_refused():
    config = {"model_type": "vit", "num_hidden_layers": 1}
    assert "at least 2 blocks" in AttentionRollout().supports(config, None)
    assert AttentionRollout().supports(config | {"num_hidden_layers": 2}, None) is None
