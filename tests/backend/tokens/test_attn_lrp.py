"""AttnLRP: each rule in closed form, exact conservation where it holds, gradients as before."""

import threading

import numpy as np
import pytest
import torch
from torch import nn

from backend.errors import Cancelled, ModelError
from backend.tokens import lrp
from backend.tokens.attn_lrp import SERVED, AttnLRP
from backend.tokens.models import DecoderModel
from tests.backend.tokens.ablate import PROMPT, target
from tests.backend.tokens.passage import explain
from tests.backend.tokens.test_contract import state
from tests.fake import FakeRun
from tests.tiny import ARCHITECTURES, FURTHER, tokenizer, untouched

TYPES = sorted({*ARCHITECTURES, *FURTHER} & SERVED)


def attn_lrp(model, run=None, span=None, **options):
    return explain(model, AttnLRP, prompt=PROMPT, target=target(model, span=span), run=run)


def edited(architecture, *zeroed, **changes):
    """A tiny model without biases, and with the weights whose names hold one of these zeroed."""
    hf = untouched(architecture, **changes)
    with torch.no_grad():
        for name, weight in hf.named_parameters():
            if name.endswith("bias") or any(part in name for part in zeroed):
                weight.zero_()
    return DecoderModel(hf, tokenizer())


def gradient(model, ids=tuple(range(5, 17))):
    """Value and gradient of one log-probability to the embeddings."""
    embeds = model.embeddings(ids)[None].detach().requires_grad_(True)
    value = model.answer_logprobs(torch.tensor([ids]), [len(ids) - 1], embeds=embeds).sum()
    return float(value.detach()), torch.autograd.grad(value, embeds)[0]


def test_every_served_type_has_a_tiny_model():
    assert set(TYPES) == SERVED


@pytest.mark.parametrize("architecture", TYPES)
def test_without_attention_and_biases_no_relevance_is_lost(architecture):
    """Norms, activations and gates alone: what is put on the logits arrives at the embeddings."""
    output = ("o_proj", "attn.c_proj", "attention.dense", "wpe", "self_attn.dense")
    free = {"final_logit_softcapping": None} if architecture == "gemma2" else {}
    found = attn_lrp(edited(architecture, *output, **free))
    assert found.values["conservation"] == pytest.approx(1.0, abs=2e-3)
    assert abs(found.values["at_logits"]) > 0.1


@pytest.mark.parametrize("architecture", TYPES)
def test_relevance_at_the_logits_is_by_hand(tiny, architecture):
    model, hf = tiny(architecture), untouched(architecture)
    found = attn_lrp(model, span=(1, 2))
    with torch.no_grad():
        logits = hf(torch.tensor([found.sequence.ids])).logits[0].double()
    rows = logits[[p - 1 for p in found.explained]]
    chosen = torch.tensor([found.sequence.ids[p] for p in found.explained])
    expected = rows.gather(1, chosen[:, None])[:, 0] - (rows.softmax(1) * rows).sum(1)
    assert found.values["at_logits"] == pytest.approx(float(expected.sum()), abs=1e-3)


def test_one_token_gets_its_residual_and_half_of_what_attention_moved():
    """One layer, no MLP, one token: attention is 1, so only the rule for A·V takes a part."""
    model = edited("llama", "down_proj", num_hidden_layers=1)
    found = explain(model, AttnLRP, prompt=PROMPT.of("a"), target=target(model, span=(0,)))
    assert found.explained == (1,)
    layer, hf = model.hf.model.layers[0], model.hf
    with torch.no_grad():
        x = model.embeddings(found.sequence.ids[:1])[0]
        heads = layer.self_attn.v_proj(layer.input_layernorm(x)).view(2, 8)
        moved = layer.self_attn.o_proj(heads.repeat_interleave(2, 0).reshape(-1))
        final = hf.model.norm(x + moved)
        logits = hf.lm_head(final)
        weights = -logits.softmax(0)
        weights[found.sequence.ids[1]] += 1
        # The final norm's factor is a constant: each part of the residual reaches the logits alone.
        parts = [float(weights @ hf.lm_head(part * final / (x + moved))) for part in (x, moved)]
    assert found.arrays["scores"][0] == pytest.approx(parts[0] + parts[1] / 2, abs=1e-4)


def seen(module, rule, x):
    """Output and gradient-times-input of a module under a rule, for random weights on it."""
    x = x.clone().requires_grad_(True)
    y = rule(module, x, module(x))
    (g,) = torch.autograd.grad(y.sum(), x)
    return y.detach(), g


@pytest.mark.parametrize("activation", [nn.SiLU(), nn.GELU(), nn.ReLU(), nn.Tanh()])
def test_an_activation_passes_its_output_on(activation):
    x = torch.randn(5, 7, generator=torch.Generator().manual_seed(0))
    x[0, 0] = 0.0
    y, g = seen(activation, lrp.proportional, x)
    assert torch.equal(y, activation(x))
    torch.testing.assert_close(g * x, y)
    assert g[0, 0] == 0.0


def test_a_layer_norm_is_linear_in_its_centred_input():
    norm = nn.LayerNorm(7)
    with torch.no_grad():
        norm.weight.normal_(generator=torch.Generator().manual_seed(1))
        norm.bias.fill_(0.4)
    x = torch.randn(5, 7, generator=torch.Generator().manual_seed(2))
    y, g = seen(norm, lrp.centred_norm, x)
    assert torch.equal(y, norm(x))
    torch.testing.assert_close((g * x).sum(-1), (y - norm.bias).sum(-1))
    scale = norm.weight.detach() / (x.var(-1, keepdim=True, unbiased=False) + norm.eps).sqrt()
    torch.testing.assert_close(g, scale - scale.mean(-1, keepdim=True))


def test_an_rms_norm_is_linear_in_its_input():
    norm = nn.RMSNorm(7, eps=1e-6)
    x = torch.randn(5, 7, generator=torch.Generator().manual_seed(2))
    _, g = seen(norm, lrp.proportional, x)
    torch.testing.assert_close(
        g, (1 / (x.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt()).expand(5, 7)
    )


def test_a_gate_and_its_value_share_equally(tiny):
    """Through the MLP alone, gate and value get half of its output each."""
    model = tiny("llama")
    mlp = model.hf.model.layers[0].mlp
    x = torch.randn(1, 1, 32, generator=torch.Generator().manual_seed(3), requires_grad=True)
    with lrp.rules(model):
        y = mlp(x)
        (total,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close((total * x).sum(), y.sum(), atol=1e-5, rtol=1e-4)
    gate = mlp.gate_proj.weight.detach().clone()
    with torch.no_grad():
        up = mlp.up_proj(x)
    with lrp.rules(model):
        y = mlp.down_proj(mlp.act_fn(x @ gate.T) * up)
        (half,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close((half * x).sum(), y.sum() / 2, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("architecture", TYPES)
def test_forward_is_the_same_and_plain_gradients_return(tiny, architecture):
    model = tiny(architecture)
    value, plain = gradient(model)
    with lrp.rules(model):
        within, changed = gradient(model)
    with pytest.raises(RuntimeError, match="stop"), lrp.rules(model):
        raise RuntimeError("stop")
    after, again = gradient(model)
    assert within == pytest.approx(value, abs=1e-6 * max(1.0, abs(value)))
    assert after == value
    assert torch.equal(plain, again)
    assert not torch.allclose(plain, changed, atol=1e-3)


def test_another_thread_has_plain_gradients_meanwhile(tiny):
    model, found = tiny("llama"), []
    _, plain = gradient(model)
    with lrp.rules(model):
        thread = threading.Thread(target=lambda: found.append(gradient(model)[1]))
        thread.start()
        thread.join()
    torch.testing.assert_close(found[0], plain, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_nothing_stays_on_the_model_even_where_it_fails_inside(tiny, architecture):
    model = tiny(architecture)
    before = state(model)

    def fail():
        gradient(model)
        assert state(model) != before
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"), lrp.rules(model):
        fail()
    assert state(model) == before
    attn_lrp(model)
    assert state(model) == before


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_scores_are_gradient_times_embedding_under_the_rules(tiny, architecture):
    model = tiny(architecture)
    run = FakeRun()
    found = attn_lrp(model, run, span=(2,))
    ids, at = found.sequence.ids, found.explained[0]
    embeds = model.embeddings(ids)[None].detach().requires_grad_(True)
    with lrp.rules(model):
        value = model.answer_logprobs(torch.tensor([ids]), [at], embeds=embeds).sum()
        relevance = (torch.autograd.grad(value, embeds)[0] * embeds)[0].sum(1).detach().numpy()
    np.testing.assert_allclose(found.arrays["scores"][:at], relevance[:at], atol=1e-5)
    values = found.values
    assert values["relevance"] == pytest.approx(float(relevance.sum()), abs=1e-4)
    assert values["conservation"] == pytest.approx(values["relevance"] / values["at_logits"])
    shown = float(np.nansum(found.arrays["scores"]))
    assert shown + values["on_answer"] == pytest.approx(values["relevance"], abs=1e-4)
    assert (run.forward, run.backward) == (2, 1)


def test_relevance_follows_the_pass_of_a_known_path():
    """Attention that copies one token: only that token has relevance beside the last one's own."""
    model = edited("llama", "down_proj", "q_proj", num_hidden_layers=1)
    found = attn_lrp(model, span=(0,))
    stop = found.explained[0]
    layer, hf = model.hf.model.layers[0], model.hf
    with torch.no_grad():
        x = model.embeddings(found.sequence.ids[:stop])
        v = layer.self_attn.v_proj(layer.input_layernorm(x)).view(stop, 2, 8)
        each = layer.self_attn.o_proj(v.repeat_interleave(2, 1).reshape(stop, -1)) / stop
        middle = x[-1] + each.sum(0)
        final = hf.model.norm(middle)
        weights = -hf.lm_head(final).softmax(0)
        weights[found.sequence.ids[stop]] += 1
        parts = (hf.lm_head(each * final / middle) @ weights).numpy() / 2
        parts[-1] += float(weights @ hf.lm_head(x[-1] * final / middle))
    # Queries are zero, so attention is uniform and nothing reaches it through the keys.
    np.testing.assert_allclose(found.arrays["scores"][:stop], parts, atol=1e-4)


def test_reasons_where_it_cannot_serve():
    assert AttnLRP().supports({"model_type": "llama"}, PROMPT) is None
    assert "mixtral" in AttnLRP().supports({"model_type": "mixtral"}, PROMPT)
    assert "quantised" in AttnLRP().supports(
        {"model_type": "llama", "quantization_config": {"bits": 4}}, PROMPT
    )


def test_float16_is_refused_and_bfloat16_is_close(tiny):
    with pytest.raises(ModelError, match="underflow in float16"):
        attn_lrp(DecoderModel(untouched("llama").half(), tokenizer()))
    high = attn_lrp(tiny("llama"))
    low = attn_lrp(DecoderModel(untouched("llama").bfloat16(), tokenizer()))
    stop = low.explained[0]
    error = np.abs(low.arrays["scores"][:stop] - high.arrays["scores"][:stop]).max()
    assert error < 0.1 * np.abs(high.arrays["scores"][:stop]).max()


def test_cancelled_it_leaves_no_hook(tiny):
    model = tiny("gpt2")
    with pytest.raises(Cancelled):
        attn_lrp(model, FakeRun(cancelled=True))
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.hf.modules())


def test_unknown_norms_and_mlps_are_refused(tiny):
    class OtherLayerNorm(nn.Module):
        pass

    with pytest.raises(ModelError, match="norm OtherLayerNorm"):
        lrp._norm_rule(OtherLayerNorm())
    with pytest.raises(ModelError, match="no MLP"):
        lrp._mlp_rules(nn.Sequential(nn.Linear(2, 2)))
    gated = nn.Sequential(nn.SiLU())
    gated.gate_proj = nn.Linear(2, 2)
    with pytest.raises(ModelError, match="the MLP Sequential"):
        lrp._mlp_rules(gated)
