"""The captured parts rebuild each architecture exactly, and leave the model as it was."""

import itertools
import threading

import pytest
import torch

from backend.errors import Cancelled
from backend.tokens import attention
from backend.tokens.attention import Intervention, intervening
from backend.tokens.capture import capture
from backend.tokens.verify import rebuilt
from tests.fake import FakeRun
from tests.tiny import ARCHITECTURES, FURTHER, untouched

IDS = [5 + (i * 37) % 370 for i in range(17)]
ALL = (*ARCHITECTURES, *FURTHER)


def parts_of(model, ids=IDS, **how):
    """All layers' parts, and the residual that `capture` returns."""
    kept = []
    return kept, capture(model, ids, kept.append, **how)


def relative(a, b):
    return float((a - b).abs().max() / b.abs().max())


def state(model):
    """The attention implementation of every module's config, and the number of hooks."""
    hooks = sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.hf.modules())
    names = {m.config._attn_implementation for m in model.hf.modules() if hasattr(m, "config")}
    return hooks, names


@pytest.mark.parametrize("architecture", ALL)
def test_parts_sum_to_what_the_sub_layer_adds(tiny, architecture):
    kept, _ = parts_of(tiny(architecture))
    assert [p.index for p in kept] == [0, 1, 2]
    for parts in kept:
        assert relative(rebuilt(parts), parts.attention_output) < 1e-5
        torch.testing.assert_close(parts.middle, parts.before + parts.attention_output)


@pytest.mark.parametrize("architecture", ALL)
def test_what_is_left_out_of_the_sum_shows(tiny, architecture):
    """The tests above can fail: without values, bias or gain the sum is off."""
    parts = parts_of(tiny(architecture))[0][1]
    parts.values = parts.values.roll(1, dims=0)
    assert relative(rebuilt(parts), parts.attention_output) > 1e-2


@pytest.mark.parametrize("architecture", ALL)
def test_attention_output_is_the_difference_of_residuals(tiny, architecture):
    """Taken from the untouched model: what the attention adds is read off its own residuals."""
    model = tiny(architecture)
    kept, last = parts_of(model)
    with torch.no_grad():
        hidden = model.hf(torch.tensor([IDS]), output_hidden_states=True).hidden_states
    for parts in kept:
        torch.testing.assert_close(parts.before, hidden[parts.index][0], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(model.final_norm(last), hidden[-1][0], atol=1e-5, rtol=1e-5)
    for one, next_one in itertools.pairwise(kept):
        assert torch.equal(one.after, next_one.before)
    assert torch.equal(kept[-1].after, last)


@pytest.mark.parametrize("architecture", ALL)
def test_block_is_middle_plus_mlp(tiny, architecture):
    """after - middle is the MLP's own output on the input it is said to read."""
    model = tiny(architecture)
    outputs = {}
    for index, block in enumerate(model.blocks):
        mlp = next(m for n, m in block.layer.named_children() if "mlp" in n or "moe" in n)
        norms = [n for n, _ in block.layer.named_children() if n.startswith("post_feedforward")]
        norms += [n for n, _ in block.layer.named_children() if n == "post_mlp_layernorm"]
        source = getattr(block.layer, norms[0]) if norms else mlp
        source.register_forward_hook(
            lambda _m, _a, out, i=index: outputs.__setitem__(
                i, out[0][0] if isinstance(out, tuple) else out[0]
            )
        )
        outputs[f"hook{index}"] = source
    kept, _ = parts_of(model)
    for index, parts in enumerate(kept):
        outputs[f"hook{index}"]._forward_hooks.clear()
        written = outputs[index] * model.blocks[index].factor
        torch.testing.assert_close(parts.after - parts.middle, written, atol=2e-5, rtol=1e-4)
    assert model.blocks[0].parallel == (architecture in {"gpt_neox", "cohere"})


@pytest.mark.parametrize("architecture", ALL)
def test_attention_rows_equal_eager_attention(tiny, architecture):
    eager = untouched(architecture)
    eager.set_attn_implementation("eager")
    with torch.no_grad():
        expected = eager(torch.tensor([IDS]), output_attentions=True).attentions
    for parts in parts_of(tiny(architecture))[0]:
        assert parts.attention.shape == (4, len(IDS), len(IDS))
        torch.testing.assert_close(parts.attention, expected[parts.index][0], atol=1e-5, rtol=1e-4)
        assert float(parts.attention.triu(1).abs().max()) == 0.0
        torch.testing.assert_close(parts.attention.sum(-1), torch.ones(4, len(IDS)))


@pytest.mark.parametrize("architecture", ALL)
def test_logits_through_vitrine_equal_the_untouched_models(tiny, architecture):
    model, ids = tiny(architecture), torch.tensor([IDS])
    with torch.no_grad():
        expected = untouched(architecture)(ids).logits
        with intervening(model, Intervention()):
            assert relative(model.hf(ids).logits, expected) < 1e-5
        assert relative(model.readout(parts_of(model)[1]), expected[0]) < 1e-5


@pytest.mark.parametrize("architecture", ALL)
def test_query_rows_equal_those_of_the_full_capture(tiny, architecture):
    model, queries = tiny(architecture), [3, 9, 16]
    full, all_last = parts_of(model)
    some, last = parts_of(model, queries=queries)
    torch.testing.assert_close(last, all_last, atol=1e-4, rtol=1e-4)
    for one, whole in zip(some, full, strict=True):
        assert one.queries.tolist() == queries
        torch.testing.assert_close(one.attention, whole.attention[:, queries], atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(one.values, whole.values, atol=1e-4, rtol=1e-4)
        assert relative(rebuilt(one), one.attention_output[queries]) < 1e-5


@pytest.mark.parametrize("architecture", ["llama", "gemma2", "mistral"])
def test_query_rows_never_build_all_rows(tiny, architecture, monkeypatch):
    """600 tokens: no softmax of ours is over more rows than a block of them."""
    sizes = []
    softmax = torch.softmax
    monkeypatch.setattr(
        torch, "softmax", lambda x, dim: sizes.append(x.shape[-2]) or softmax(x, dim=dim)
    )
    model = tiny(architecture)
    capture(model, [7 + i % 300 for i in range(600)], lambda _: None, queries=[598, 599])
    assert 2 in sizes
    assert max(sizes) <= attention.ROWS_PER_BLOCK


def test_heads_of_a_group_read_the_same_values(tiny):
    parts = parts_of(tiny("qwen2"))[0][0]
    assert torch.equal(parts.values[0], parts.values[1])
    assert torch.equal(parts.values[2], parts.values[3])
    assert not torch.equal(parts.values[1], parts.values[2])


def test_sliding_window_cuts_the_rows(tiny):
    parts = parts_of(tiny("mistral"))[0][0]
    assert float(parts.attention[:, 16, : 16 - 5].abs().max()) == 0.0
    assert float(parts.attention[:, 16, 11:].min()) > 0.0


def test_one_token(tiny):
    for parts in parts_of(tiny("llama"), [9])[0]:
        assert parts.attention.flatten().tolist() == [1.0] * 4


@pytest.mark.parametrize("architecture", ["llama", "gemma2"])
@pytest.mark.parametrize("fault", [ValueError("mine"), Cancelled("stop")])
def test_model_is_left_as_it_was_after_an_exception(tiny, architecture, fault):
    model = tiny(architecture)
    before = state(model)
    capture(model, IDS, lambda _: None)
    assert state(model) == before

    def fail(parts):
        if parts.index == 1:
            raise fault

    with pytest.raises(type(fault)):
        capture(model, IDS, fail)
    assert state(model) == before
    assert attention._CURRENT.get() is None


def test_capture_counts_reports_and_stops_between_layers(tiny):
    run, seen = FakeRun(), []
    capture(tiny("llama"), IDS, seen.append, run=run)
    assert run.forward == 1
    assert [done for done, _, _ in run.reports] == [1, 2, 3]
    stopped, seen = FakeRun(cancel_after=2), []
    with pytest.raises(Cancelled):
        capture(tiny("llama"), IDS, seen.append, run=stopped)
    assert len(seen) == 2


def test_threads_that_share_a_model_never_see_each_other(tiny):
    """Captures of two inputs and plain passes at once give what each gives alone."""
    model = tiny("llama")
    inputs = [IDS, IDS[::-1], [11, 12, 13]]
    alone = [parts_of(model, ids)[0] for ids in inputs]
    plain = model.answer_logprobs(torch.tensor([IDS]), [5, 9])
    wrong = []

    def work(index):
        for _ in range(10):
            kept = parts_of(model, inputs[index])[0]
            for one, expected in zip(kept, alone[index], strict=True):
                if not torch.equal(one.attention, expected.attention):
                    wrong.append(index)
            if not torch.allclose(model.answer_logprobs(torch.tensor([IDS]), [5, 9]), plain):
                wrong.append("plain")

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_lower_precision_gives_float32_parts(tiny):
    model = tiny("llama", seed=3)
    model.hf.to(torch.bfloat16)
    for parts in parts_of(model)[0]:
        assert {parts.attention.dtype, parts.values.dtype, parts.weight.dtype} == {torch.float32}
        assert parts.before.dtype == torch.bfloat16
        assert relative(rebuilt(parts), parts.attention_output.float()) < 2e-2
