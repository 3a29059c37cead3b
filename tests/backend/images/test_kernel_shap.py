"""KernelSHAP: Shapley values by brute force and by captum, and games whose values are known."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from backend.images.kernel_shap import KernelShap, drawn, every, kernel, solved
from tests.backend.images import made, segments
from tests.backend.images.made import explain

SIXTHS = np.arange(6).reshape(2, 3).repeat(16, 0).repeat(11, 1)[:, 1:]


@pytest.fixture
def sixths(monkeypatch):
    segments.cut_into(monkeypatch, SIXTHS)
    return SIXTHS


@pytest.mark.parametrize("which", ["cnn", "vit"])
@pytest.mark.parametrize("label", [0, 3])
@pytest.mark.parametrize("fill", ["mean", "black"])
def test_with_every_coalition_the_values_are_exact(request, photos, sixths, which, label, fill):
    model = request.getfixturevalue(which)
    game = segments.worth(model, photos, sixths, label, fill)
    expected = segments.shapley(game, 6)
    additive = [game[(i,)] - game[()] for i in range(6)]
    found = explain(KernelShap, model, photos, label=label, fill=fill)
    values = segments.of_segments(found.scores, sixths)
    np.testing.assert_allclose(values, expected, rtol=1e-3, atol=1e-4)
    assert np.abs(values - additive).max() > 1e-2  # The game is no sum of its parts.
    assert found.values["exact"] is True
    assert found.values["coalitions"] == 62
    assert found.values["difference"] == pytest.approx(expected.sum(), abs=1e-4)
    np.testing.assert_array_equal(found.arrays["segments"], sixths)


def test_captum_agrees(cnn, photos, sixths):
    from captum.attr import KernelShap as Peer

    decision = made.decision(cnn, photos, 0, 1)
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(0)
        peer = Peer(cnn.logits).attribute(
            decision.x,
            baselines=cnn.fill(decision.seen, "mean"),
            target=1,
            feature_mask=torch.from_numpy(sixths)[None, None].expand(1, 3, -1, -1),
            n_samples=1500,
            perturbations_per_eval=100,
        )
    found = explain(KernelShap, cnn, photos, label=1).scores
    np.testing.assert_allclose(found, peer[0, 0], atol=0.05 * np.abs(found).max())


@pytest.mark.parametrize("samples", [20, 33, 60])
def test_drawn_coalitions_sum_to_the_difference(cnn, photos, sixths, samples):
    found = explain(KernelShap, cnn, photos, label=2, samples=samples)
    decision = made.decision(cnn, photos, 0, 2)
    base = cnn.fill(decision.seen, "mean")
    difference = decision.logits[2] - float(made.logits(cnn, base)[0, 2])
    values = segments.of_segments(found.scores, sixths)
    assert values.sum() == pytest.approx(difference, abs=1e-4)
    assert found.values["exact"] is False
    assert found.values["coalitions"] == samples


def test_many_draws_come_close_to_the_exact_values(cnn, photos, sixths, monkeypatch):
    exact = explain(KernelShap, cnn, photos, label=2).scores
    monkeypatch.setattr("backend.images.kernel_shap.MOST_EXACT", 2)
    near = explain(KernelShap, cnn, photos, label=2, samples=1000)
    assert near.values["exact"] is False
    np.testing.assert_allclose(near.scores, exact, atol=0.05 * np.abs(exact).max())
    other = explain(KernelShap, cnn, photos, label=2, samples=1000, seed=1).scores
    assert np.abs(near.scores - other).max() > 0


def test_of_a_linear_model_even_few_draws_are_exact(flat, photos, sixths):
    game = segments.worth(flat, photos, sixths, 0)
    found = explain(KernelShap, flat, photos, label=0, samples=20)
    values = segments.of_segments(found.scores, sixths)
    np.testing.assert_allclose(values, [game[(i,)] - game[()] for i in range(6)], atol=1e-4)


@pytest.mark.parametrize("count", [2, 3, 8])
@pytest.mark.parametrize("way", ["every", "drawn"])
def test_an_additive_game_is_recovered(count, way):
    generator = np.random.default_rng(count)
    values = generator.normal(size=count)
    kept, weight = every(count) if way == "every" else drawn(count, 80, generator)
    found = solved(kept, weight, kept @ values, values.sum())
    np.testing.assert_allclose(found, values, atol=1e-9)


@pytest.mark.parametrize("count", [2, 3, 5, 7])
def test_every_game_of_all_coalitions_has_its_shapley_values(count):
    generator = np.random.default_rng(count)
    kept, weight = every(count)
    assert len(kept) == 2**count - 2
    assert len(np.unique(kept, axis=0)) == len(kept)
    worth, whole = generator.normal(size=len(kept)), generator.normal()
    game = {tuple(np.flatnonzero(row)): w for row, w in zip(kept, worth, strict=True)}
    game |= {(): 0.0, tuple(range(count)): whole}
    expected = segments.shapley(game, count)
    np.testing.assert_allclose(solved(kept, weight, worth, whole), expected, atol=1e-8)


def test_the_kernel_is_lundbergs():
    assert kernel(4, 1) == pytest.approx(3 / (4 * 1 * 3))
    assert kernel(4, 2) == pytest.approx(3 / (6 * 2 * 2))
    assert kernel(2, 1) == pytest.approx(1 / 2)


def test_draws_are_pairs_whose_sizes_follow_the_kernel():
    kept, weight = drawn(6, 8000, np.random.default_rng(0))
    np.testing.assert_array_equal(kept[0::2], ~kept[1::2])
    assert (weight == 1).all()
    sizes = kept.sum(axis=1)
    chance = np.array([1 / (s * (6 - s)) for s in range(1, 6)])
    shares = np.bincount(sizes, minlength=7)[1:6] / len(sizes)
    np.testing.assert_allclose(shares, chance / chance.sum(), atol=0.02)
    np.testing.assert_allclose(kept.mean(axis=0), 0.5, atol=1e-12 + 0.02)
