"""Where a classifier's last maps are: which layer, how many places, what comes before them."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from backend.errors import ModelError
from backend.images.layers import find
from tests.backend.images import made

EMPTY = torch.zeros(1, 3, made.SIDE, made.SIDE)


def test_of_a_network_it_is_the_last_layer_with_places(cnn):
    assert cnn.maps.module is cnn.module.second_act
    assert (cnn.maps.name, cnn.maps.grid, cnn.maps.prefix) == ("second_act", (8, 8), None)
    output = torch.rand(2, 8, 8, 8, dtype=torch.float64)
    torch.testing.assert_close(cnn.maps.spatial(output), output.float())


def test_a_single_place_is_none():
    module = nn.Sequential(
        nn.Conv2d(3, 4, 8, stride=8), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 5)
    )
    found = find(module, EMPTY)
    assert (found.name, found.grid, found.prefix) == ("0", (4, 4), None)


def test_places_need_not_be_square():
    module = nn.Sequential(nn.Conv2d(3, 4, 8, stride=8), nn.ReLU())
    found = find(module, torch.zeros(1, 3, 24, 40))
    assert (found.name, found.grid) == ("1", (3, 5))


@pytest.mark.parametrize("layers", [2, 3, 4])
def test_of_a_transformer_it_is_the_last_but_one_block(layers):
    model = made.vit(layers=layers)
    blocks = next(part for part in model.module.modules() if isinstance(part, nn.ModuleList))
    assert model.maps.module is blocks[layers - 2]
    assert (model.maps.grid, model.maps.prefix) == ((4, 4), 1)


def test_patches_are_laid_out_row_by_row_behind_the_class_token(vit):
    tokens = torch.arange(17.0)[None, :, None].expand(2, 17, 3)
    found = vit.maps.spatial(tokens)
    assert found.shape == (2, 3, 4, 4)
    torch.testing.assert_close(found[1, 2], torch.arange(1.0, 17.0).reshape(4, 4))


def test_distillation_tokens_are_no_patches():
    from transformers import DeiTConfig, DeiTForImageClassificationWithTeacher

    config = DeiTConfig(
        image_size=32, patch_size=8, hidden_size=16, num_hidden_layers=3, num_attention_heads=2,
        intermediate_size=24, num_labels=5,
    )  # fmt: skip
    found = find(made.seeded(lambda: DeiTForImageClassificationWithTeacher(config)).eval(), EMPTY)
    assert (found.grid, found.prefix) == ((4, 4), 2)


def test_registers_are_no_patches():
    from transformers import Dinov2WithRegistersConfig, Dinov2WithRegistersForImageClassification

    config = Dinov2WithRegistersConfig(
        image_size=64, patch_size=8, hidden_size=16, num_hidden_layers=3, num_attention_heads=2,
        num_register_tokens=4, num_labels=5,
    )  # fmt: skip
    module = made.seeded(lambda: Dinov2WithRegistersForImageClassification(config)).eval()
    found = find(module, torch.zeros(1, 3, 64, 64))
    assert (found.grid, found.prefix) == ((8, 8), 5)


def test_nothing_is_left_hooked_on():
    module = made.seeded(made.Cnn)
    find(module, EMPTY)
    assert not any(part._forward_hooks for part in module.modules())


def test_a_model_without_places_is_refused():
    module = nn.Sequential(nn.Flatten(), nn.Linear(3 * made.SIDE**2, 5))
    with pytest.raises(ModelError, match="no spatial features"):
        find(module, EMPTY)
    with pytest.raises(ModelError, match="no spatial features"):
        made.classifier(module)


@pytest.mark.parametrize(("shape", "grid"), [((32, 48), (4, 6)), ((24, 32), (3, 4))])
def test_patches_of_a_picture_that_is_not_square_keep_their_rows(shape, grid):
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(
        image_size=shape, patch_size=8, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=24, num_labels=5,
    )  # fmt: skip
    module = made.seeded(lambda: ViTForImageClassification(config)).eval()
    found = find(module, torch.zeros(1, 3, *shape))
    assert (found.grid, found.prefix) == (grid, 1)
