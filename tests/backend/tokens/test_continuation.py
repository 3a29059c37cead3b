"""The answer's tokens: generated, typed or given, with their log-probabilities."""

import numpy as np
import pytest
import torch

from backend.bundle import canonical_json
from backend.errors import Cancelled, InputError
from backend.explainer import NoParameters
from backend.tokens import FAMILY, continuation
from backend.tokens.continuation import Continuation
from backend.tokens.explanation import Prompt, Target, TokenExplanation
from tests.fake import FakeRun

PROMPT = Prompt.of("The capital of France is")


def continued(model, target=None, prompt=PROMPT, run=None):
    target = target or Target(max_new_tokens=5)
    return Continuation().explain(model, prompt, target, NoParameters(), run or FakeRun())


def test_it_is_a_step_of_the_family():
    assert isinstance(FAMILY.find("continuation"), Continuation)
    assert Continuation.role == "preparation"


@pytest.mark.parametrize("chat", [False, True])
def test_generated_answer_is_greedy_and_has_its_logprobs(tiny, chat):
    model, run = tiny("llama"), FakeRun()
    prompt = Prompt.of(PROMPT.text, chat=chat)
    made = continued(model, prompt=prompt, run=run)
    ids = made.values["ids"]
    assert tuple(ids) == model.generate(model.encode(prompt), 5, FakeRun())
    assert made.sequence == model.encode(prompt, ids)
    assert made.explained == tuple(made.sequence.answer)
    assert np.isnan(made.arrays["scores"]).all()
    assert made.arrays["scores"].shape == (len(made.sequence),)
    with torch.no_grad():
        logits = model.hf(torch.tensor([made.sequence.ids])).logits[0].log_softmax(-1)
    expected = [float(logits[p - 1, made.sequence.ids[p]]) for p in made.sequence.answer]
    np.testing.assert_allclose(made.arrays["logprobs"], expected, atol=1e-5)
    assert run.forward == len(ids) + 1
    for given, choices, logprob in zip(
        ids, made.values["alternatives"], made.arrays["logprobs"], strict=True
    ):
        assert choices[0]["id"] == given
        assert choices[0]["logprob"] == pytest.approx(float(logprob), abs=1e-5)
        assert len(choices) == continuation.ALTERNATIVES
        assert [c["logprob"] for c in choices] == sorted(c["logprob"] for c in choices)[::-1]


def test_typed_answer_is_taken_whole_and_ids_win_over_text(tiny):
    model = tiny("llama")
    typed = continued(model, Target(text=" Rome."))
    assert typed.values["text"] == " Rome."
    assert typed.sequence.text == PROMPT.text + " Rome."
    again = continued(model, Target(ids=tuple(typed.values["ids"]), text=" something else"))
    assert again.sequence == typed.sequence
    np.testing.assert_array_equal(again.arrays["logprobs"], typed.arrays["logprobs"])


def test_answer_that_ends_at_once_is_that_one_token(tiny):
    model = tiny("llama", seed=11)
    first = model.generate(model.encode(PROMPT), 1, FakeRun())[0]
    model.hf.generation_config.eos_token_id = [first, 2]
    made = continued(model, Target(max_new_tokens=8))
    assert made.values["ids"] == [first]
    assert len(made.explained) == 1


def test_facts_are_what_a_page_needs(tiny):
    facts = continued(tiny("gemma2")).values["facts"]
    assert facts == {
        "layers": 3,
        "heads": 4,
        "kv_heads": 2,
        "width": 32,
        "context": 1024,
        "vocabulary": 384,
        "architecture": "Gemma2ForCausalLM",
        "dtype": "float32",
    }


def test_it_is_stored_and_read_back(tiny):
    made = continued(tiny("llama"), prompt=Prompt.of("naïve 👨‍👩‍👧 مرحبا"))
    canonical_json(made.values)
    back = TokenExplanation.from_bytes(made.to_bytes())
    assert back.sequence == made.sequence
    np.testing.assert_array_equal(back.arrays["logprobs"], made.arrays["logprobs"])


def test_one_token_prompt(tiny):
    made = continued(tiny("llama"), prompt=Prompt.of("a"))
    assert made.sequence.prompt_length == 1
    assert np.isfinite(made.arrays["logprobs"]).all()


def test_infinite_logprob_is_said(tiny):
    """A model that rules a token out: the warning says so and the values still store."""
    model = tiny("llama", seed=12)
    with torch.no_grad():
        model.hf.lm_head.weight[10:] = float("-inf")
    run = FakeRun()
    made = continued(model, Target(ids=(50,)), run=run)
    assert "not finite" in run.warnings[0]
    canonical_json(made.values)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (Target(ids=()), "no tokens"),
        (Target(text=""), "typed answer is empty"),
        (Target(ids=(384,)), "vocabulary"),
        (Target(max_new_tokens=300), "over the limit of 256"),
    ],
)
def test_answer_that_cannot_be_used_is_refused(tiny, target, words):
    with pytest.raises(InputError, match=words):
        continued(tiny("llama"), target)


def test_it_stops_when_cancelled(tiny):
    with pytest.raises(Cancelled):
        continued(tiny("llama"), Target(max_new_tokens=9), run=FakeRun(cancel_after=3))
