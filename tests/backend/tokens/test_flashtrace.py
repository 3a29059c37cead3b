"""FlashTrace equals the authors' package, and treats stop words, ends and reasoning as it says."""

from __future__ import annotations

import numpy as np
import pytest

from backend.errors import InputError
from backend.tokens import routes
from backend.tokens.explanation import Prompt, Target
from backend.tokens.flashtrace import FlashTrace
from tests.backend.tokens.passage import explain
from tests.fake import FakeRun

PROMPT = "The code for the vault is seven, and the river runs. Quiet"
ANSWER = " so the answer, of course. It is the river"
END = 3


def answer_ids(model, text=ANSWER, *, end=True):
    ids = model.tokenizer(text, add_special_tokens=False)["input_ids"]
    return (*ids, *([END] if end else []))


def traced(model, *, span=None, prompt=PROMPT, ids=None, **parameters):
    target = Target(ids=ids or answer_ids(model), span=span)
    return explain(model, FlashTrace, prompt=Prompt.of(prompt), target=target, **parameters)


def observed(found):
    return np.nan_to_num(found.arrays["scores"])[: found.sequence.prompt_length]


@pytest.fixture(scope="module")
def peer():
    """The authors' package, which serves Llamas."""
    import flashtrace

    def run(model, method="flashtrace", **asked):
        before = model.hf.config._attn_implementation
        model.hf.set_attn_implementation("eager")
        try:
            tracer = flashtrace.FlashTrace(model.hf, model.tokenizer)
            return tracer.trace(prompt=PROMPT, target=ANSWER, method=method, **asked)
        finally:
            model.hf.set_attn_implementation(before)

    return run


@pytest.mark.parametrize("hops", [0, 1, 2, 3])
def test_equals_the_package(hops, tiny, peer):
    model = tiny("llama")
    theirs = peer(model, hops=hops)
    ours = traced(model, variant="package", hops=hops, reasoning="none")
    np.testing.assert_allclose(observed(ours), theirs.scores, atol=1e-5)
    np.testing.assert_allclose(ours.arrays["carried"], theirs.thinking_ratios, atol=1e-5)
    for hop, vector in enumerate(theirs.per_hop_scores):
        total = ours.arrays["hops"][hop][: ours.sequence.prompt_length]
        np.testing.assert_allclose(total, vector, atol=1e-5)


@pytest.mark.parametrize("hops", [1, 3])
def test_equals_the_package_with_both_spans(hops, tiny, peer):
    model = tiny("llama")
    theirs = peer(model, hops=hops, output_span=(7, 9), reasoning_span=(0, 5))
    ours = traced(model, variant="package", hops=hops, span=(7, 8, 9), reasoning="0:6")
    np.testing.assert_allclose(observed(ours), theirs.scores, atol=1e-5)
    np.testing.assert_allclose(ours.arrays["carried"], theirs.thinking_ratios, atol=1e-5)


@pytest.mark.parametrize("hops", [0, 1, 2])
def test_plain_equals_the_package_function_it_is_named_after(hops, tiny):
    from flashtrace.attribution import LLMIFRAttribution

    model = tiny("llama")
    before = model.hf.config._attn_implementation
    model.hf.set_attn_implementation("eager")
    try:
        engine = LLMIFRAttribution(model.hf, model.tokenizer)
        raw = engine.calculate_ifr_multi_hop(
            PROMPT, ANSWER, sink_span=(7, 9), thinking_span=(1, 5), n_hops=hops
        )
    finally:
        model.hf.set_attn_implementation(before)
    theirs = raw.metadata["ifr"]
    ours = traced(model, variant="plain", hops=hops, span=(7, 8, 9), reasoning="1:6")
    length = ours.sequence.prompt_length
    total = theirs["observation_projected"]["sum"][:length].numpy()
    np.testing.assert_allclose(observed(ours), total, atol=1e-5)
    np.testing.assert_allclose(ours.arrays["carried"], theirs["thinking_ratios"], atol=1e-5)


def test_one_position_is_the_packages_exact_routes(tiny, peer):
    model = tiny("llama")
    theirs = peer(model, method="ifr-matrix", output_span=(4, 4))
    ours = traced(model, variant="plain", hops=0, span=(4,), reasoning="none")
    np.testing.assert_allclose(observed(ours), theirs.scores, atol=1e-5)


@pytest.mark.parametrize("architecture", ["llama", "qwen3", "gemma2", "gpt2"])
def test_scores_are_the_hops_summed(architecture, tiny):
    model = tiny(architecture)
    found = traced(model, hops=2)
    readings = sum(found.arrays[f"readings/hop_{k}"] for k in range(3))
    length = found.sequence.prompt_length
    np.testing.assert_allclose(found.arrays["scores"][:length], readings[:length], atol=1e-6)
    rate = [1.0, *found.arrays["carried"]]
    totals = found.arrays["hops"]
    expected = sum(rate[k] * totals[k] for k in range(3))
    np.testing.assert_allclose(found.arrays["scores"][:length], expected[:length], atol=1e-5)


def test_the_explained_span_starts_the_trace(tiny):
    model = tiny("llama")
    found = traced(model, span=(7, 8), hops=0, variant="plain", reasoning="none")
    ids, start = found.sequence.ids, found.sequence.prompt_length
    expected = routes.of_span(model, ids, [start + 7, start + 8], FakeRun())
    np.testing.assert_allclose(observed(found), expected.tokens.sum(axis=0)[:start], atol=1e-6)
    before = traced(
        model, span=(7, 8), hops=0, variant="plain", rows="predicting", reasoning="none"
    )
    assert before.values["explained_span"] == [start + 6, start + 7]


def test_stop_words_get_nothing_and_start_nothing(tiny):
    found = traced(tiny("llama"), hops=1)
    sequence = found.sequence
    comma = sequence.text.index(",")
    places = [p for p, (a, b) in enumerate(sequence.offsets) if a <= comma < b]
    assert [found.arrays["scores"][p] for p in places] == [0.0]
    assert 0 < found.values["mass"]["stop"] < 1
    kept = traced(tiny("llama"), hops=1, variant="plain")
    assert kept.arrays["scores"][places[0]] > 0
    assert kept.values["mass"]["stop"] == 0


def test_the_end_of_the_answer_starts_nothing(tiny):
    model = tiny("llama")
    with_end, without = (traced(model, ids=answer_ids(model, end=e)) for e in (True, False))
    np.testing.assert_allclose(observed(with_end), observed(without), atol=1e-6)


def test_an_answer_of_stop_words_alone_is_explained_all_the_same(tiny):
    model = tiny("llama")
    found = traced(model, ids=answer_ids(model, ",", end=False))
    assert "all stop tokens" in found.notes[0]
    assert observed(found).sum() > 0


def test_reasoning_is_found_carried_and_not_explained_itself(tiny):
    model = tiny("llama")
    ids = answer_ids(model, "<think>the river runs</think> seven")
    found = traced(model, ids=ids, hops=1)
    sequence, thought = found.sequence, found.values["reasoning"]
    start, stop = sequence.offsets[thought[0]][0], sequence.offsets[thought[-1]][1]
    assert sequence.text[start:stop].strip() == "the river runs"
    assert not set(thought) & set(found.values["explained_span"])
    assert set(thought) <= set(found.values["carriers"])
    assert found.arrays["carried"][0] > found.arrays["carried"][1] > 0


def test_text_before_the_reasoning_is_observed(tiny):
    model = tiny("llama")
    found = traced(model, span=(9, 10), reasoning="5:8")
    sequence = found.sequence
    scored = np.flatnonzero(~np.isnan(found.arrays["scores"]))
    assert scored.tolist() == list(range(sequence.prompt_length + 5))


def test_mass_is_a_share_of_the_scores(tiny):
    model = tiny("llama")
    prompt = Prompt.of("What is two plus three?", chat=True)
    found = explain(model, FlashTrace, prompt=prompt, target=Target(ids=answer_ids(model)))
    scores, sequence = found.arrays["scores"], found.sequence
    template = [p for p in range(sequence.prompt_length) if sequence.roles[p] == "template"]
    share = scores[template].sum() / scores[: sequence.prompt_length].sum()
    assert found.values["mass"]["template"] == pytest.approx(share, abs=1e-5)
    assert 0 < share < 1


def test_left_out_tokens_have_the_score_zero(tiny):
    model = tiny("llama", bos=True)
    found = traced(model, exclude_first=True, exclude_special=True)
    assert found.arrays["scores"][0] == 0
    assert found.arrays["readings/hop_0"][0] > 0


@pytest.mark.parametrize("asked", ["9:3", "0:400"])
def test_reasoning_outside_the_answer(asked, tiny):
    with pytest.raises(InputError, match="no part of the answer"):
        traced(tiny("llama"), reasoning=asked)


@pytest.mark.parametrize("asked", ["a", "1-3", "1:2:3", "autos", ""])
def test_reasoning_that_is_no_range(asked):
    with pytest.raises(ValueError, match="reasoning"):
        FlashTrace.Parameters(reasoning=asked)


def test_on_the_bundled_model_the_sink_is_position_0_and_the_needle_is_found(smollm2):
    from backend.tokens.examples import example

    prompt = example("needle").prompt
    ids = tuple(smollm2.tokenizer(" 7481.", add_special_tokens=False)["input_ids"])
    found = explain(smollm2, FlashTrace, prompt=prompt, target=Target(ids=ids))
    assert found.values["sinks"] == [0]
    top = np.argsort(-np.nan_to_num(found.arrays["scores"]))[:8]
    assert set(found.sequence.gold) <= set(top.tolist())
