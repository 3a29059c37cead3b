"""A sink and a super neuron put into a model by hand are found, with layer and dimension."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from backend.tokens.sink_origin import SinkOrigin
from tests.backend.tokens.passage import explain
from tests.tiny import tiny as build


def planted(at=1, neuron=17, dimension=5):
    """A gpt2 whose neuron answers to position 0 alone and writes one dimension, and its tokens.

    A GPT-2 knows position 0 by its own embedding: dimension 31 of the residual is 30 there and 0
    elsewhere, written by nothing after; the neuron reads it.
    """
    model = build("gpt2", seed=3)
    with torch.no_grad():
        for name, weight in model.hf.named_parameters():
            if "wte" in name or "wpe" in name:
                weight[:, 31] = 0.0
            if name.endswith("c_proj.weight"):
                weight[:, 31] = 0.0
            if name.endswith("c_proj.bias"):
                weight[31] = 0.0
        model.hf.transformer.wpe.weight[0, 31] = 30.0
        block = model.hf.transformer.h[at]
        block.ln_2.weight.fill_(1.0)
        block.ln_2.bias.fill_(0.0)
        block.mlp.c_fc.weight[:, neuron] = 0.0
        block.mlp.c_fc.weight[31, neuron] = 40.0
        block.mlp.c_fc.bias[neuron] = -20.0
        block.mlp.c_proj.weight[neuron] *= 0.01
        block.mlp.c_proj.weight[neuron, dimension] = 6.0
        for layer in model.hf.transformer.h:  # every query looks at position 0
            layer.ln_1.weight.fill_(1.0)
            layer.ln_1.bias.fill_(0.0)
            layer.attn.c_attn.bias[:32] = 1.0
            layer.attn.c_attn.weight[31, 32:64] = 2.0
    return model


def test_a_planted_super_neuron_is_found_with_its_layer_and_dimension():
    found = explain(planted(), SinkOrigin)
    arrays, values = found.arrays, found.values
    assert values["sink"] == 0
    assert values["neuron_layer"] == 1
    assert arrays["neurons"][0] == 17
    assert arrays["neuron_ratio"].argmax() == 1
    assert arrays["neuron_of_layer"][1] == 17
    assert values["dimensions"][0] == 5
    by_position = np.abs(arrays["neuron_activation"][0])
    assert by_position[0] > 100 * by_position[1:].max()
    # A column with one entry a and d - 1 of nothing has the kurtosis (d - 1) + 1 / (d - 1) - 1.
    lone = 31 + 1 / 31 - 1
    assert arrays["column_kurtosis"][17] == pytest.approx(lone, rel=0.02)
    assert arrays["dimension"][2] == 5
    sink, others = arrays["dominance"][2, 0], arrays["dominance"][2, 1:]
    assert sink > 3 * others.mean()


def test_the_sink_need_not_be_the_first_position():
    model = build("gpt2", seed=3)
    with torch.no_grad():
        model.hf.transformer.wpe.weight[2] *= 0.0
        model.hf.transformer.wpe.weight[2, 7] = 60.0
        for layer in model.hf.transformer.h:
            layer.ln_1.weight.fill_(1.0)
            layer.ln_1.bias.fill_(0.0)
            layer.attn.c_attn.weight[7, 32:64] = 3.0
            layer.attn.c_attn.bias[:32] = 2.0
    found = explain(model, SinkOrigin)
    assert found.values["sink"] == 2
    assert np.nanargmax(found.arrays["received"]) == 2
    first, last = found.sequence.offsets[2]
    assert found.values["sink_text"] == found.sequence.text[first:last]
