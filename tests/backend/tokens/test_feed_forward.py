"""An MLP rebuilt from the rows and columns that were found is the MLP, whatever its layout."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from backend.tokens import blocks, feed_forward
from tests.tiny import ARCHITECTURES, FURTHER, untouched

GATED = {"llama", "qwen2", "qwen3", "gemma2", "mistral", "phi3", "olmo2", "granite", "cohere"}
GATED |= {"gemma3_text", "stablelm", "smollm3", "glm4"}


def blocks_of(architecture):
    hf = untouched(architecture)
    return hf, blocks.find(hf, torch.arange(1, 5)[None])


@pytest.mark.parametrize("architecture", [*ARCHITECTURES, *(a for a in FURTHER if a != "mixtral")])
def test_neurons_and_columns_rebuild_the_output(architecture):
    hf, found = blocks_of(architecture)
    parts = feed_forward.find(found[1])
    assert parts is not None
    assert parts.gated == (architecture in GATED)
    seen = {}
    hooks = [
        (parts.module, "before", lambda _m, args, _k: seen.update(x=args[0][0])),
        (parts.down, "before", lambda _m, args, _k: seen.update(act=args[0][0])),
        (parts.module, "after", lambda _m, _a, out: seen.update(out=out[0])),
    ]
    with torch.no_grad(), blocks.hooked(hooks):
        hf(torch.arange(5, 15)[None])
    x, act = seen["x"].double().numpy(), seen["act"].double().numpy()
    columns = parts.columns().double().numpy()
    bias = (
        0.0
        if getattr(parts.down, "bias", None) is None
        else parts.down.bias.detach().double().numpy()
    )
    np.testing.assert_allclose(act @ columns + bias, seen["out"], atol=1e-4)

    up = x @ parts.up_rows().double().numpy().T
    if (shift := parts.up_bias()) is not None:
        up = up + shift.double().numpy()
    kind = hf.config.get_text_config()
    name = getattr(kind, "hidden_activation", None) or getattr(kind, "hidden_act", None)
    sigma = {"silu": functional.silu, "gelu": functional.gelu}.get(
        name, lambda v: functional.gelu(v, approximate="tanh")
    )
    if parts.gated:
        gate = torch.from_numpy(x @ parts.gate_rows().double().numpy().T)
        expected = sigma(gate).numpy() * up
    else:
        assert parts.gate_rows() is None
        expected = sigma(torch.from_numpy(up)).numpy()
    np.testing.assert_allclose(act, expected, atol=1e-4)


def test_a_mixture_of_experts_has_no_single_mlp():
    _, found = blocks_of("mixtral")
    assert [feed_forward.find(block) for block in found] == [None] * 3
