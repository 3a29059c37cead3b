"""The adapter's answers against transformers itself: log-probabilities, generation, lens."""

import pytest
import torch

from backend.errors import Cancelled, InputError, ModelError
from backend.explanation import ModelRef
from backend.settings import Settings
from backend.tokens import models
from backend.tokens.explanation import Prompt
from backend.tokens.models import DecoderModel, load, neutral_id
from tests.fake import FakeRun
from tests.tiny import ARCHITECTURES, FURTHER, tokenizer, untouched, write

IDS = [5 + (i * 37) % 370 for i in range(14)]
ANSWER = [9, 12, 13]
PROMPT = Prompt.of("The capital of France is")


def brute(hf, ids, answer=ANSWER, **how):
    """Log-probabilities from all logits of a plain pass."""
    with torch.no_grad():
        logprobs = hf(torch.tensor([ids]), **how).logits[0].float().log_softmax(-1)
    return torch.stack([logprobs[p - 1, ids[p]] for p in answer])


@pytest.mark.parametrize("architecture", [*ARCHITECTURES, *FURTHER])
def test_answer_logprobs_equal_a_plain_pass_alone_and_in_a_batch(tiny, architecture):
    model, other = tiny(architecture), IDS[::-1]
    batch = model.answer_logprobs(torch.tensor([IDS, other, IDS]), ANSWER)
    assert batch.dtype == torch.float32
    for row, ids in enumerate((IDS, other, IDS)):
        expected = brute(untouched(architecture), ids)
        torch.testing.assert_close(batch[row], expected, atol=1e-5, rtol=1e-5)
        alone = model.answer_logprobs(torch.tensor([ids]), ANSWER)[0]
        torch.testing.assert_close(batch[row], alone, atol=1e-5, rtol=1e-5)


def test_first_token_can_be_the_whole_prompt(tiny):
    got = tiny("llama").answer_logprobs(torch.tensor([[7, 9]]), [1])
    torch.testing.assert_close(got[0], brute(untouched("llama"), [7, 9], [1]), atol=1e-5, rtol=1e-5)


def test_only_the_needed_logits_are_computed(tiny):
    model, shapes = tiny("llama"), []
    hook = model.hf.lm_head.register_forward_hook(lambda _m, a, _o: shapes.append(a[0].shape))
    model.answer_logprobs(torch.tensor([IDS]), ANSWER)
    hook.remove()
    assert shapes == [(1, 3, 32)]


@pytest.mark.parametrize("architecture", ["llama", "qwen3", "gpt2", "gpt_neox"])
def test_masked_keys_equal_an_explicit_mask(tiny, architecture):
    masked = torch.zeros(2, len(IDS), dtype=torch.bool)
    masked[0, [2, 5, 6]] = True
    got = tiny(architecture).answer_logprobs(torch.tensor([IDS, IDS]), ANSWER, masked=masked)
    for row in range(2):
        allowed = torch.ones(len(IDS), len(IDS)).tril().bool()
        allowed &= ~masked[row] | torch.eye(len(IDS)).bool()
        expected = brute(untouched(architecture), IDS, attention_mask=allowed[None, None])
        torch.testing.assert_close(got[row], expected, atol=1e-5, rtol=1e-5)
    assert float((got[0] - got[1]).abs().max()) > 1e-3


@pytest.mark.parametrize("architecture", ["mistral", "gemma2"])
def test_masked_keys_and_sliding_window_hold_together(tiny, architecture):
    """A key outside every window changes nothing; one inside does; sliding layers keep theirs."""
    model = tiny(architecture, num_hidden_layers=1)
    ids = torch.tensor([IDS])
    plain = model.answer_logprobs(ids, [13])
    far, near = torch.zeros(2, 1, len(IDS), dtype=torch.bool)
    far[0, :5], near[0, 10] = True, True
    torch.testing.assert_close(model.answer_logprobs(ids, [13], masked=far), plain)
    assert float((model.answer_logprobs(ids, [13], masked=near) - plain).abs().max()) > 1e-4


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_masking_every_earlier_key_leaves_the_token_alone(tiny, architecture):
    """With all keys hidden each position sees itself alone: the prefix's ids no longer matter."""
    model = tiny(architecture)
    masked = torch.ones(1, len(IDS), dtype=torch.bool)
    other = [*IDS[::-1][:12], *IDS[12:]]
    one = model.answer_logprobs(torch.tensor([IDS]), [13], masked=masked)
    two = model.answer_logprobs(torch.tensor([other]), [13], masked=masked)
    torch.testing.assert_close(one, two, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_gradients_flow_through_embeddings(tiny, architecture):
    model, ids = tiny(architecture), torch.tensor([IDS])
    embeds = model.embeddings(IDS)[None].requires_grad_(True)
    masked = torch.zeros(1, len(IDS), dtype=torch.bool)
    got = model.answer_logprobs(ids, ANSWER, embeds=embeds)
    torch.testing.assert_close(got, model.answer_logprobs(ids, ANSWER), atol=1e-5, rtol=1e-5)
    gradient = torch.autograd.grad(got.sum(), embeds)[0]
    step = 1e-2 * torch.randn(embeds.shape, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        ahead = model.answer_logprobs(ids, ANSWER, embeds=embeds + step, masked=masked).sum()
        behind = model.answer_logprobs(ids, ANSWER, embeds=embeds - step, masked=masked).sum()
    torch.testing.assert_close((gradient * step).sum(), (ahead - behind) / 2, atol=2e-3, rtol=2e-2)
    assert all(p.grad is None and not p.requires_grad for p in model.hf.parameters())


@pytest.mark.parametrize("architecture", [*ARCHITECTURES, "granite", "cohere"])
def test_lens_reads_out_the_logits(tiny, architecture):
    model, hf = tiny(architecture), untouched(architecture)
    residuals = model.lens(IDS)
    with torch.no_grad():
        out = hf(torch.tensor([IDS]), output_hidden_states=True)
        last = model.readout(residuals[-1])
        middle = model.readout(residuals[1])
        normed = model.final_norm(residuals[1])
    assert residuals.shape == (4, len(IDS), 32)
    for layer in range(3):
        torch.testing.assert_close(residuals[layer], out.hidden_states[layer][0])
    torch.testing.assert_close(last, out.logits[0], atol=1e-4, rtol=1e-4)
    assert not torch.allclose(model.readout(out.hidden_states[-1][0]), out.logits[0], atol=1e-2)
    if architecture == "llama":
        torch.testing.assert_close(middle, normed @ hf.lm_head.weight.T)


def test_next_logprobs_are_the_distribution_after_a_position(tiny):
    model = tiny("gemma2")
    after = model.next_logprobs(torch.tensor([IDS]), [8, 11])[0]
    torch.testing.assert_close(after.exp().sum(-1), torch.ones(2))
    expected = model.answer_logprobs(torch.tensor([IDS]), [9, 12])[0]
    torch.testing.assert_close(after[[0, 1], [IDS[9], IDS[12]]], expected)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("bos", [False, True])
def test_generation_equals_transformers(tiny, architecture, bos):
    model, run = tiny(architecture, bos=bos), FakeRun()
    tokens = model.encode(PROMPT)
    got = model.generate(tokens, 12, run)
    out = model.hf.generate(
        torch.tensor([tokens.ids]),
        max_new_tokens=12,
        do_sample=False,
        output_scores=True,
        return_dict_in_generate=True,
    )
    assert list(got) == out.sequences[0, len(tokens) :].tolist()
    scores = torch.stack(out.scores)[:, 0].log_softmax(-1)
    own = model.encode(PROMPT, got)
    logprobs = model.answer_logprobs(torch.tensor([own.ids]), list(own.answer))[0]
    expected = scores[range(len(got)), list(got)]
    torch.testing.assert_close(logprobs, expected, atol=1e-4, rtol=1e-4)
    assert run.forward == len(got)
    assert [done for done, _, _ in run.reports] == list(range(1, len(got) + 1))


def test_every_end_id_ends_the_answer(tiny):
    model = tiny("llama", seed=7)
    tokens = model.encode(PROMPT)
    free = model.generate(tokens, 6, FakeRun())
    model.hf.generation_config.eos_token_id = [380, free[2]]
    assert model.generate(tokens, 6, FakeRun()) == free[: free.index(free[2]) + 1]
    model.hf.generation_config.eos_token_id = free[0]
    assert model.generate(tokens, 6, FakeRun()) == free[:1]


def test_generation_stops_between_tokens_when_cancelled(tiny):
    run = FakeRun(cancel_after=2)
    model = tiny("llama")
    with pytest.raises(Cancelled):
        model.generate(model.encode(PROMPT), 12, run)
    assert run.forward == 2


def test_generation_keeps_inside_the_limit(tiny, monkeypatch):
    model = tiny("llama")
    tokens = model.encode(PROMPT)
    monkeypatch.setattr(models, "settings", lambda: Settings(max_tokens=len(tokens) + 2))
    assert len(model.generate(tokens, 12, FakeRun())) <= 2
    monkeypatch.setattr(models, "settings", lambda: Settings(max_tokens=len(tokens)))
    with pytest.raises(InputError, match="no room"):
        model.generate(tokens, 12, FakeRun())


@pytest.mark.parametrize(("most", "named"), [(20, "VITRINE_MAX_TOKENS"), (5000, "context")])
def test_too_long_names_count_limit_and_the_reduced_version(tiny, monkeypatch, most, named):
    monkeypatch.setattr(models, "settings", lambda: Settings(max_tokens=most))
    with pytest.raises(InputError) as caught:
        tiny("llama").encode(Prompt.of("a " * 2500), (7, 8))
    limit = min(most, 1024)
    assert f"{limit:,}" in str(caught.value)
    assert named in str(caught.value)
    assert f"last {limit - 2:,} tokens" in caught.value.todo


def test_facts_of_a_grouped_model(tiny):
    model = tiny("qwen3")
    assert (model.layers, model.heads, model.kv_heads) == (3, 4, 2)
    assert (model.width, model.head_width, model.vocabulary) == (32, 16, 384)
    assert (model.context, model.architecture) == (1024, "Qwen3ForCausalLM")
    assert model.config["model_type"] == "qwen3"


def test_neutral_id_is_padding_then_end_never_zero_by_accident():
    class Named:
        pad_token_id, eos_token_id, unk_token_id, bos_token_id = None, None, None, None

        def __init__(self, space=(), **ids):
            self.space = space
            self.__dict__.update(ids)

        def __call__(self, text, add_special_tokens):
            return {"input_ids": list(self.space)}

    assert neutral_id(tokenizer(), 384) == 0  # <|pad|> is id 0 here, and meant
    assert neutral_id(Named(pad_token_id=9, eos_token_id=3), 384) == 9
    assert neutral_id(Named(pad_token_id=999, eos_token_id=3), 384) == 3
    assert neutral_id(Named(unk_token_id=4), 384) == 4
    assert neutral_id(Named(space=(220,)), 384) == 220
    with pytest.raises(ModelError, match="stand in"):
        neutral_id(Named(), 384)


@pytest.mark.parametrize("architecture", ["llama", "gemma2", "gpt2"])
def test_load_reads_a_folder(tmp_path, architecture):
    model = load(write(tmp_path, architecture), ModelRef(name="x"), "cpu")
    assert not model.hf.training
    assert model.dtype == torch.float32
    got = model.answer_logprobs(torch.tensor([IDS]), ANSWER)[0]
    torch.testing.assert_close(got, brute(untouched(architecture), IDS), atol=1e-5, rtol=1e-5)


def test_load_in_the_references_precision(tmp_path):
    model = load(write(tmp_path), ModelRef(name="x", precision="bfloat16"), "cpu")
    assert model.dtype == torch.bfloat16
    got = model.answer_logprobs(torch.tensor([IDS]), ANSWER)
    assert got.dtype == torch.float32
    torch.testing.assert_close(got[0], brute(untouched("llama"), IDS), atol=0.2, rtol=0.1)


@pytest.mark.parametrize("missing", ["config.json", "model.safetensors", "tokenizer.json"])
def test_load_of_an_incomplete_folder_is_a_model_error(tmp_path, missing):
    (write(tmp_path) / missing).unlink()
    with pytest.raises(ModelError, match="cannot be loaded"):
        load(tmp_path, ModelRef(name="mine"), "cpu")


def test_model_whose_parts_do_not_add_up_is_refused():
    """A projection that secretly scales its output is caught by the self-check."""
    hf = untouched("llama")
    hf.model.layers[1].self_attn.o_proj.register_forward_hook(lambda _m, _a, out: out * 1.5)
    with pytest.raises(ModelError, match="block 1 do not add up"):
        DecoderModel(hf, tokenizer())


def test_model_whose_attention_enters_the_residual_unlike_any_other_is_refused():
    hf = untouched("llama")
    layer = hf.model.layers[2]

    def forward(x, **how):
        x = x + 0.5 * layer.self_attn(hidden_states=layer.input_layernorm(x), **how)[0]
        return x + layer.mlp(layer.post_attention_layernorm(x))

    layer.forward = forward
    with pytest.raises(ModelError, match="enters the residual of a LlamaDecoderLayer"):
        DecoderModel(hf, tokenizer())


@pytest.mark.model
def test_bundled_model_knows_paris(smollm2):
    tokens = smollm2.encode(PROMPT)
    assert tokens.text == PROMPT.text
    answer = smollm2.generate(tokens, 1, FakeRun())
    assert smollm2.tokenizer.decode(list(answer)) == " Paris"
    typed = smollm2.encode(PROMPT, answer_text=" Paris")
    logprob = smollm2.answer_logprobs(torch.tensor([typed.ids]), list(typed.answer))
    assert float(logprob.exp()) == pytest.approx(0.77, abs=0.02)


def test_a_pass_stops_half_way(tiny):
    model = tiny("llama")
    calls = []

    def check():
        calls.append(len(calls))
        if len(calls) == 2:
            raise KeyboardInterrupt

    ids = torch.arange(5, 15)[None]
    with pytest.raises(KeyboardInterrupt), model.interruptible(check):
        model.answer_logprobs(ids, [8, 9])
    assert len(calls) == 2
    assert model.answer_logprobs(ids, [8, 9]).shape == (1, 2)
    assert len(calls) == 2
