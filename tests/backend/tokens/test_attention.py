"""The registered attention function: its gradients, its nesting, what it refuses."""

import pytest
import torch
from transformers import AttentionInterface, AttentionMaskInterface

from backend.tokens import attention
from backend.tokens.attention import (
    LRP_SCALES,
    Intervention,
    Rows,
    intervening,
    lrp_scales,
    probabilities,
)
from tests.tiny import untouched

IDS = torch.tensor([[5 + (i * 37) % 370 for i in range(12)]])


def projections(seed=0):
    """Query [1, 4, 6, 8], key and value [1, 2, 6, 8] of one call."""
    generator = torch.Generator().manual_seed(seed)
    shapes = ((1, 4, 6, 8), (1, 2, 6, 8), (1, 2, 6, 8))
    return [torch.randn(s, generator=generator, requires_grad=True) for s in shapes]


def module():
    inner = torch.nn.Module()
    inner.num_key_value_groups, inner.is_causal = 2, True
    return inner


def gradients(tensors, intervention=None, softcap=None):
    token = attention._CURRENT.set(intervention)
    try:
        out, _ = attention.attention(module(), *tensors, None, scaling=0.4, softcap=softcap)
    finally:
        attention._CURRENT.reset(token)
    weights = torch.linspace(-1, 1, out.numel()).view_as(out)
    return out, torch.autograd.grad((out * weights).sum(), tensors)


@pytest.mark.parametrize("softcap", [None, 1.5])
def test_scales_multiply_the_gradients_and_leave_the_output(softcap):
    tensors = projections()
    out, plain = gradients(tensors, softcap=softcap)
    same, scaled = gradients(tensors, Intervention(scales=(0.25, 0.5, 0.75)), softcap)
    assert torch.equal(out, same)
    for one, other, factor in zip(plain, scaled, (0.25, 0.5, 0.75), strict=True):
        torch.testing.assert_close(other, one * factor)


def test_lrp_scales_hold_for_the_context_alone(tiny):
    model = tiny("llama")
    embeds = model.embeddings(IDS[0].tolist())[None].requires_grad_(True)

    def gradient():
        logprob = model.answer_logprobs(IDS, [11], embeds=embeds).sum()
        return float(logprob.detach()), torch.autograd.grad(logprob, embeds)[0]

    before, plain = gradient()
    with lrp_scales(model):
        assert attention._CURRENT.get().scales == LRP_SCALES
        within, scaled = gradient()
    after, again = gradient()
    assert before == pytest.approx(within, abs=1e-5)
    assert after == before
    assert not torch.allclose(plain, scaled, atol=1e-4)
    assert torch.equal(plain, again)


def test_interventions_nest(tiny):
    model = tiny("llama")
    masked = torch.zeros(1, 12, dtype=torch.bool)
    with intervening(model, Intervention(masked=masked)):
        with lrp_scales(model):
            now = attention._CURRENT.get()
            assert now.masked is masked
            assert now.scales == LRP_SCALES
        assert attention._CURRENT.get().scales is None
        assert model.hf.config._attn_implementation == attention.NAME
    assert attention._CURRENT.get() is None
    assert model.hf.config._attn_implementation == "sdpa"


@pytest.mark.parametrize("softcap", [None, 1.5])
@pytest.mark.parametrize("kind", ["none", "bool", "additive"])
def test_probabilities_equal_the_plain_formula(kind, softcap):
    query, key, _ = (x.detach() for x in projections())
    allowed = torch.ones(6, 6).tril().bool()
    scores = query @ key.repeat_interleave(2, 1).transpose(2, 3) * 0.4
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    expected = scores.masked_fill(~allowed, -torch.inf).softmax(-1)
    additive = torch.zeros(6, 6).masked_fill(~allowed, torch.finfo().min)
    mask = {"none": None, "bool": allowed[None, None], "additive": additive[None, None]}[kind]
    torch.testing.assert_close(probabilities(query, key, mask, 0.4, softcap), expected)
    at = torch.tensor([1, 4])
    some = probabilities(query[:, :, at], key, mask, 0.4, softcap, at)
    torch.testing.assert_close(some, expected[:, :, at])


def test_blocks_of_rows_equal_all_rows(monkeypatch):
    tensors = projections()
    whole = gradients(tensors, softcap=1.5)[0]
    monkeypatch.setattr(attention, "ROWS_PER_BLOCK", 2)
    torch.testing.assert_close(gradients(tensors, softcap=1.5)[0], whole)


def test_without_a_mask_function_the_registered_function_would_not_be_causal():
    """Why both are registered: the first token's logits must not depend on the last token."""
    assert attention.NAME in AttentionInterface.valid_keys(AttentionInterface())
    assert attention.NAME in AttentionMaskInterface.valid_keys(AttentionMaskInterface())
    hf = untouched("llama")
    hf.set_attn_implementation(attention.NAME)
    other = IDS.clone()
    other[0, -1] = 9
    with torch.no_grad():
        torch.testing.assert_close(hf(IDS).logits[0, :-1], hf(other).logits[0, :-1])


@pytest.mark.parametrize("extra", ["s_aux", "position_bias"])
def test_what_it_does_not_read_it_refuses(extra):
    with pytest.raises(NotImplementedError, match=extra):
        attention.attention(module(), *projections(), None, **{extra: torch.zeros(4)})


def test_rows_get_every_head(tiny):
    model, got = tiny("llama"), []
    rows = Rows(torch.tensor([3, 7]), lambda _m, a, v: got.append((a.shape, v.shape)))
    with torch.no_grad(), intervening(model, Intervention(rows=rows)):
        model.hf(IDS)
    assert got == [((4, 2, 12), (4, 12, 8))] * 3
