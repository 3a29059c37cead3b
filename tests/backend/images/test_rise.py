"""RISE: the mean over its masks by brute force, and what its masks are."""

from __future__ import annotations

import numpy as np
import pytest

from backend.images.rise import Rise, RiseParameters, mask
from tests.backend.images import made
from tests.backend.images.made import explain


def by_hand(model, pictures, parameters, seed, label):
    x = made.decision(model, pictures).x
    seeds = np.random.default_rng(seed).integers(2**63, size=parameters.masks)
    total = np.zeros(model.shape)
    for one in seeds:
        window = mask(model.shape, parameters, int(one))
        logits = made.logits(model, x * window)[0].numpy()
        powers = np.exp(logits - logits.max())
        total += powers[label] / powers.sum() * window.numpy()
    return total / parameters.masks / parameters.keep


@pytest.mark.parametrize("which", ["cnn", "vit"])
@pytest.mark.parametrize(("keep", "cells", "seed"), [(0.5, 7, 0), (0.2, 4, 3)])
def test_it_is_the_weighted_mean_of_its_masks(request, photos, which, keep, cells, seed):
    model = request.getfixturevalue(which)
    parameters = RiseParameters(masks=30, cells=cells, keep=keep)
    expected = by_hand(model, photos, parameters, seed, 2)
    found = explain(Rise, model, photos, label=2, seed=seed, masks=30, cells=cells, keep=keep)
    np.testing.assert_allclose(found.scores, expected, rtol=1e-4, atol=1e-6)
    assert np.ptp(found.scores) > 1e-3
    assert found.run.forward_passes == 31


def test_batches_do_not_matter(cnn, photos, monkeypatch):
    whole = explain(Rise, cnn, photos, masks=20).scores
    monkeypatch.setattr("backend.images.models.PIXELS_AT_ONCE", 3 * made.SIDE**2)
    assert cnn.at_once == 3
    parts = explain(Rise, cnn, photos, masks=20)
    assert parts.run.batch_size == 3
    np.testing.assert_allclose(parts.scores, whole, atol=1e-5)


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("shape", [(32, 32), (30, 47)])
def test_masks_lie_between_0_and_1_and_keep_the_share(shape, keep):
    parameters = RiseParameters(keep=keep)
    drawn = np.stack([mask(shape, parameters, seed).numpy() for seed in range(400)])
    assert drawn.shape == (400, *shape)
    assert drawn.min() >= 0
    assert drawn.max() <= 1
    assert drawn.mean() == pytest.approx(keep, abs=0.02)
    np.testing.assert_allclose(drawn.mean(axis=0), keep, atol=0.12)


def test_masks_are_smooth_and_drawn_by_the_seed():
    parameters = RiseParameters(cells=4)
    first, again, other = (mask((32, 32), parameters, seed).numpy() for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.5
    # A cell is 8 pixels, and enlarging 4 cells to 5 stretches it to 10.
    assert np.abs(np.diff(first, axis=0)).max() <= 1 / 10 + 1e-6


def test_masks_are_shifted_by_less_than_a_cell():
    parameters = RiseParameters(cells=2, keep=0.5)
    shifted = [mask((32, 32), parameters, seed).numpy() for seed in range(60)]
    mixed = [one for one in shifted if 0 < one.mean() < 1]
    steepest = {int(np.abs(np.diff(one, axis=1)).sum(axis=0).argmax()) for one in mixed}
    assert len(steepest) > 5


def test_where_the_model_looks_stands_out(bright):
    found = explain(Rise, made.looking(0.01), bright, label=0, masks=300, cells=4).scores
    inside = found[made.SQUARE].mean()
    outside = (found.sum() - found[made.SQUARE].sum()) / (found.size - 64)
    assert inside > outside + 0.1
