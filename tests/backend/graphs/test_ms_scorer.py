"""Soft masks keep their budget at every scale, and are those the scorer learned by."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from backend.graphs.ms_scorer import sharp, thresholds

BUDGETS = (0.05, 0.2, 0.5, 0.9)


@pytest.mark.parametrize("edges", [1, 2, 25, 4000])
def test_the_mean_of_a_mask_is_its_budget(edges):
    scores = np.random.default_rng(edges).normal(3.0, 5.0, (4, edges))
    masks = sharp(scores, BUDGETS)
    assert masks.dtype == np.float32
    np.testing.assert_allclose(masks.mean(axis=1), BUDGETS, atol=1e-6)
    assert (np.argsort(masks, axis=1) == np.argsort(scores, axis=1)).mean() > 0.99


def test_masks_are_those_of_the_thresholds_used_in_training():
    scores = np.random.default_rng(0).normal(-1.0, 2.0, (4, 30))
    masks, owners = sharp(scores, BUDGETS), torch.zeros(30, dtype=torch.long)
    for row, mask, budget in zip(scores, masks, BUDGETS, strict=True):
        z = torch.from_numpy(row / row.std())
        expected = torch.sigmoid(z - thresholds(z, owners, 1, budget))
        np.testing.assert_allclose(mask, expected.numpy(), atol=1e-7)


def test_scores_that_are_all_alike_share_the_budget():
    np.testing.assert_allclose(sharp(np.full((2, 7), 4.0), (0.3, 0.6))[:, 0], (0.3, 0.6), atol=1e-6)


def test_extreme_scores_and_no_edges():
    masks = sharp(np.array([[-1e6, 0.0, 1e6, 1e6]]), (0.5,))
    assert np.isfinite(masks).all()
    assert masks.mean() == pytest.approx(0.5, abs=1e-6)
    assert sharp(np.zeros((3, 0)), (0.1, 0.2, 0.3)).shape == (3, 0)


def test_each_graph_of_a_batch_has_its_own_threshold():
    scores = torch.tensor([0.0, 1.0, 2.0, 10.0, 11.0], dtype=torch.float64)
    owners = torch.tensor([0, 0, 0, 1, 1])
    masks = torch.sigmoid(scores - thresholds(scores, owners, 2, 0.4))
    assert masks[:3].mean().item() == pytest.approx(0.4, abs=1e-9)
    assert masks[3:].mean().item() == pytest.approx(0.4, abs=1e-9)
