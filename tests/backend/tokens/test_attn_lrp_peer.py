"""AttnLRP against a Llama written out by hand, with the paper's rule stated at each operation.

Achtibat et al., ICML 2024: a product of two tensors hands each of them half (so query and key get
a half of the half that attention's weights get), softmax is differentiated, an element-wise
function keeps output / input constant, a norm its scale.
"""

import numpy as np
import pytest
import torch
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from backend.tokens.attn_lrp import AttnLRP
from tests.backend.tokens.ablate import PROMPT, target
from tests.backend.tokens.passage import explain
from tests.tiny import untouched


def half(x):
    """x, with half of its gradient."""
    return x / 2 + x.detach() / 2


def norm(module, x):
    scale = (x.pow(2).mean(-1, keepdim=True) + module.variance_epsilon).rsqrt()
    return x * scale.detach() * module.weight


def attention(module, x, cos, sin, share):
    N = len(x)
    q, k, v = (
        f(x).view(N, -1, module.head_dim).transpose(0, 1)
        for f in (module.q_proj, module.k_proj, module.v_proj)
    )
    q, k = (y[0] for y in apply_rotary_pos_emb(q[None], k[None], cos, sin))
    groups = len(q) // len(k)
    k, v = k.repeat_interleave(groups, 0), v.repeat_interleave(groups, 0)
    scores = share(q) @ share(k).transpose(1, 2) * module.scaling
    later = torch.ones(N, N, dtype=torch.bool).triu(1)
    A = scores.masked_fill(later, -torch.inf).softmax(-1)
    return module.o_proj((half(A) @ half(v)).transpose(0, 1).reshape(N, -1))


def mlp(module, x):
    gate = module.gate_proj(x)
    active = gate * (torch.nn.functional.silu(gate) / gate).detach()
    return module.down_proj(half(active) * half(module.up_proj(x)))


def by_hand(hf, ids, explained, share=half):
    """f and each token's relevance [N], from one backward pass through the written-out model."""
    x = embeds = hf.model.embed_tokens(torch.tensor(ids)).detach().requires_grad_(True)
    cos, sin = hf.model.rotary_emb(x[None], torch.arange(len(ids))[None])
    for layer in hf.model.layers:
        x = x + attention(layer.self_attn, norm(layer.input_layernorm, x), cos, sin, share)
        x = x + mlp(layer.mlp, norm(layer.post_attention_layernorm, x))
    logprobs = hf.lm_head(norm(hf.model.norm, x)).log_softmax(-1)
    value = sum(logprobs[p - 1, ids[p]] for p in explained)
    (gradient,) = torch.autograd.grad(value, embeds)
    return float(value.detach()), (gradient * embeds).detach().sum(1).numpy()


@pytest.mark.parametrize("span", [(0,), (1, 2), None])
def test_equals_a_model_written_out_by_hand(tiny, span):
    model, hf = tiny("llama"), untouched("llama")
    found = explain(model, AttnLRP, prompt=PROMPT, target=target(model, span=span))
    ids, stop = found.sequence.ids, found.explained[0]
    value, relevance = by_hand(hf, ids, found.explained)
    assert found.values["value"] == pytest.approx(value, abs=1e-4)
    np.testing.assert_allclose(found.arrays["scores"][:stop], relevance[:stop], atol=1e-4)
    assert found.values["relevance"] == pytest.approx(float(relevance.sum()), abs=5e-4)


def test_the_share_of_query_and_key_matters(tiny):
    """The peer tells one rule from another: whole gradients to query and key are other scores."""
    model, hf = tiny("llama"), untouched("llama")
    found = explain(model, AttnLRP, prompt=PROMPT, target=target(model))
    ids, stop = found.sequence.ids, found.explained[0]
    _, other = by_hand(hf, ids, found.explained, share=lambda x: x)
    assert np.abs(found.arrays["scores"][:stop] - other[:stop]).max() > 0.01
