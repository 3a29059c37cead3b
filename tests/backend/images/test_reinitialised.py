"""A classifier that has forgotten: which weights are drawn anew, and that the others stay."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from backend.images.reinitialised import NAMES, reinitialise, stages
from tests.backend.images import made


def counted():
    """A network with a batch norm that has counted pictures."""
    module = made.seeded(lambda: made.Cnn(norm=True))
    with torch.no_grad():
        module.norm.weight.fill_(2.0)
        module.train()
        for _ in range(3):
            module(torch.rand(4, 3, 32, 32, generator=torch.Generator().manual_seed(0)))
    return module.eval()


def forgotten(module, depth, seed=0):
    found = copy.deepcopy(module)
    reinitialise(found, depth, seed)
    return found


def changed(before, after):
    """Names of the tensors that are no longer what they were, to the bit."""
    other = after.state_dict()
    return {n for n, w in before.state_dict().items() if not torch.equal(w, other[n])}


def names(module, depth):
    """Names of all tensors of the first stages."""
    layers = {id(layer) for _, part in stages(module)[:depth] for layer in part}
    return {
        f"{name}.{key}"
        for name, layer in module.named_modules()
        if id(layer) in layers
        for key in dict(layer.named_parameters(recurse=False)) | dict(layer.named_buffers())
    }


MODULES = {"cnn": counted, "vit": lambda: made.vit().module}


@pytest.mark.parametrize("kind", MODULES)
def test_stages_are_the_head_and_what_is_below_it(kind):
    module = MODULES[kind]()
    found = stages(module)
    assert tuple(name for name, _ in found) == NAMES[: len(found)]
    head = module.head if kind == "cnn" else module.classifier
    assert found[0][1] == [head]
    layers = [id(layer) for _, part in found for layer in part]
    own = [id(m) for m in module.modules() if list(m.parameters(recurse=False))]
    assert sorted(layers) == sorted(own)
    sizes = [len(part) for _, part in found[1:]]
    assert max(sizes) - min(sizes) <= 1
    order = [own.index(id(part[0])) for _, part in found]
    assert order == sorted(order, reverse=True)


def test_the_tiny_network_has_a_layer_a_stage():
    module = counted()
    parts = [part for _, part in stages(module)]
    assert parts == [[module.head], [module.second], [module.norm], [module.first]]


@pytest.mark.parametrize("kind", MODULES)
def test_other_stages_stay_to_the_bit(kind):
    module = MODULES[kind]()
    for depth in range(1, len(stages(module)) + 1):
        found = forgotten(module, depth)
        assert changed(module, found) <= names(module, depth)
        shallower = names(module, depth - 1)
        assert changed(module, found) - shallower  # This stage did forget.
        lost = {n for n in changed(module, found) if n.endswith("weight")}
        known = dict(module.named_parameters())
        matrices = {n for n in names(module, depth) if n in known and known[n].dim() > 1}
        assert lost >= {n for n in matrices if n.endswith("weight")}


@pytest.mark.parametrize("kind", MODULES)
def test_a_stage_has_the_same_new_weights_at_every_depth(kind):
    module = MODULES[kind]()
    deepest = forgotten(module, len(stages(module)), seed=3).state_dict()
    for depth in range(1, len(stages(module))):
        found = forgotten(module, depth, seed=3).state_dict()
        assert all(torch.equal(found[n], deepest[n]) for n in names(module, depth))


def test_weights_are_drawn_by_the_seed_and_nothing_else_is_drawn():
    module = counted()
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first, again, other = (forgotten(module, 2, seed) for seed in (1, 1, 2))
    assert torch.equal(torch.rand(3), expected)
    assert changed(first, again) == set()
    assert changed(first, other) == names(module, 2)


def test_layers_are_drawn_as_torch_draws_them_before_training():
    weight = forgotten(counted(), 1).head.weight.detach()
    bound = 1 / np.sqrt(8)
    assert float(weight.abs().max()) <= bound
    assert float(weight.std()) == pytest.approx(bound / np.sqrt(3), rel=0.25)


def test_batch_norms_lose_what_they_counted():
    module = counted()
    assert int(module.norm.num_batches_tracked) == 3
    assert forgotten(module, 2).norm.num_batches_tracked == 3
    norm = forgotten(module, 3).norm
    assert int(norm.num_batches_tracked) == 0
    assert not norm.running_mean.any()
    assert not norm.bias.any()
    assert (norm.running_var == 1).all()
    assert (norm.weight == 1).all()


def test_tokens_and_positions_are_drawn_too():
    module = made.vit().module
    found = forgotten(module, len(stages(module))).state_dict()
    for name in ("cls_token", "position_embeddings"):
        (key,) = [n for n in found if n.endswith(name)]
        assert not torch.equal(found[key], module.state_dict()[key])
        assert float(found[key].std()) == pytest.approx(0.02, rel=0.5)


@pytest.mark.parametrize("depth", [0, 5])
def test_there_are_no_more_stages_than_layers(depth):
    with pytest.raises(ValueError, match=f"4 stages has no {depth}"):
        reinitialise(counted(), depth, 0)


def test_biases_of_a_layer_that_cannot_reset_itself_become_zero():
    class Attending(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.full((3,), 7.0))
            self.in_bias = torch.nn.Parameter(torch.full((3,), 7.0))

    module = Attending()
    reinitialise(module, 1, 0)
    assert module.scale.tolist() == [1, 1, 1]
    assert module.in_bias.tolist() == [0, 0, 0]
