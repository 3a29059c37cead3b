"""The network beside the modules of torch, the losses by hand, the gradient of a threshold."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from backend.concepts import cbm, encoder


def test_the_picture_encoder_is_the_modules_of_torch():
    shape = (28, 56, 3)
    weights = encoder.initial(shape, torch.Generator().manual_seed(0))
    pictures = np.random.default_rng(0).integers(0, 256, size=(5, *shape), dtype=np.uint8)
    nn = torch.nn
    modules = nn.Sequential(
        nn.Conv2d(3, 16, 5, 2), nn.ReLU(), nn.Conv2d(16, 32, 5, 2), nn.ReLU(),
        nn.MaxPool2d(2, ceil_mode=True), nn.Flatten(), nn.Linear(32 * 2 * 6, 64), nn.ReLU(),
    )  # fmt: skip
    modules.load_state_dict(dict(zip(modules.state_dict(), weights.values(), strict=True)))
    x = torch.from_numpy(pictures.astype(np.float32).transpose(0, 3, 1, 2)) / 255 * 4 - 2
    torch.testing.assert_close(
        encoder.features(weights, encoder.tensor(pictures)), modules(x), rtol=1e-4, atol=1e-5
    )


def test_losses_by_hand():
    logits = torch.tensor([[0.0, 2.0], [-1.0, 1.0]])
    concepts = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    expected = sum(
        np.log1p(np.exp(-(2 * c - 1) * z))
        for z, c in zip(logits.flatten().tolist(), concepts.flatten().tolist(), strict=True)
    )
    assert cbm.concept_loss(logits, concepts).item() == pytest.approx(expected / 2)
    one = {"head/0/weight": torch.tensor([[1.0, -1.0]]), "head/0/bias": torch.tensor([0.5])}
    z = np.array([-1.5, -1.5])
    assert cbm.label_loss(one, logits, torch.tensor([1, 0])).item() == pytest.approx(
        (np.log1p(np.exp(-z[0])) + np.log1p(np.exp(z[1]))) / 2
    )
    two = {"head/0/weight": torch.tensor([[0.0, 0.0], [1.0, -1.0]]),
           "head/0/bias": torch.tensor([0.0, 0.5])}  # fmt: skip
    assert cbm.label_loss(two, logits, torch.tensor([1, 0])).item() == pytest.approx(
        cbm.label_loss(one, logits, torch.tensor([1, 0])).item()
    )


def test_a_hard_bottleneck_passes_the_sigmoids_gradient():
    logits = torch.tensor([[0.5, -2.0, 0.0]], requires_grad=True)
    read = cbm.head_inputs(logits, "hard")
    assert read.tolist() == [[1.0, 0.0, 0.0]]
    read.sum().backward()
    p = torch.sigmoid(logits.detach())
    torch.testing.assert_close(logits.grad, p * (1 - p))
    assert cbm.head_inputs(logits, "soft") is logits
