"""Leave-one-out against loops over the untouched model, and against captum."""

import warnings

import numpy as np
import pytest
from pydantic import ValidationError

from backend.errors import InputError
from backend.tokens.explanation import Prompt
from backend.tokens.key_masking import KeyMasking
from backend.tokens.leave_one_out import LeaveOneOut, LeaveOneOutParameters
from backend.tokens.sequence import unit_scores
from tests.backend.tokens.ablate import PROMPT, additive_mask, logprobs, target
from tests.backend.tokens.passage import explain
from tests.fake import FakeRun
from tests.tiny import ARCHITECTURES, untouched


def leave_one_out(model, prompt=PROMPT, run=None, span=None, **parameters):
    about = target(model, span=span)
    return explain(model, LeaveOneOut, prompt=prompt, target=about, run=run, **parameters)


@pytest.mark.parametrize("operator", ["neutral", "delete"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_equals_one_removal_at_a_time(tiny, architecture, operator):
    model, hf = tiny(architecture), untouched(architecture)
    found = leave_one_out(model, operator=operator, span=(0, 1, 3))
    ids, explained = list(found.sequence.ids), found.explained
    full = logprobs(hf, ids, explained)
    for j in range(explained[0]):
        if operator == "neutral":
            without = logprobs(hf, [*ids[:j], model.neutral_id, *ids[j + 1 :]], explained)
        else:
            without = logprobs(hf, [*ids[:j], *ids[j + 1 :]], [p - 1 for p in explained])
        drop = (full - without).numpy()
        np.testing.assert_allclose(found.arrays["by_answer"][:, j], drop, atol=3e-5)
        assert found.arrays["scores"][j] == pytest.approx(drop.sum(), abs=1e-4)
    assert found.values["value"] == pytest.approx(float(full.sum()), abs=1e-4)
    assert np.isnan(found.arrays["scores"][explained[0] :]).all()
    assert np.isnan(found.arrays["by_answer"][:, explained[0] :]).all()


@pytest.mark.parametrize("level", ["token", "word"])
@pytest.mark.parametrize("architecture", ["llama", "gpt2"])
def test_hiding_is_a_way_to_leave_out(tiny, architecture, level):
    """By hand, with the mask written out, and bit for bit what key masking gives."""
    model, hf = tiny(architecture), untouched(architecture)
    found = leave_one_out(model, operator="key_masking", level=level, span=(0, 1, 3))
    sequence, explained = found.sequence, found.explained
    units = tuple(u for u in sequence.units(level) if u.start < explained[0])
    full = logprobs(hf, sequence.ids, explained).sum()
    for unit, score in zip(units, unit_scores(found.arrays["scores"], units), strict=True):
        mask = additive_mask(len(sequence.ids), range(unit.start, unit.stop))
        hidden = logprobs(hf, sequence.ids, explained, mask).sum()
        assert score == pytest.approx(float(full - hidden), abs=1e-4)
    about = target(model, span=(0, 1, 3))
    other = explain(model, KeyMasking, prompt=PROMPT, target=about, level=level)
    np.testing.assert_array_equal(found.arrays["by_answer"], other.arrays["by_answer"])
    assert found.values == other.values


def captum_scores(hf, model, **options):
    """What captum gives for the same removals, [prompt tokens]."""
    from captum.attr import FeatureAblation, LLMAttribution, TextTokenInput

    inputs = TextTokenInput(PROMPT.text, model.tokenizer, baselines=model.neutral_id)
    method = LLMAttribution(FeatureAblation(hf), model.tokenizer)
    answer = model.tokenizer.decode(list(target(model).ids))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return method.attribute(inputs, target=answer, **options).seq_attr.numpy()


@pytest.mark.parametrize("architecture", ["llama", "gpt2"])
def test_equals_captum_without_its_cache(tiny, architecture):
    """captum's default feeds the whole sequence again on top of a filled key-value cache: from
    the second answer token on its log-probabilities are those of another text."""
    model, hf = tiny(architecture), untouched(architecture)
    found = leave_one_out(model)
    ours = found.arrays["scores"][: found.sequence.prompt_length]
    np.testing.assert_allclose(captum_scores(hf, model, use_cached_outputs=False), ours, atol=1e-4)
    np.testing.assert_allclose(captum_scores(hf, model, forward_in_tokens=False), ours, atol=1e-4)
    assert np.abs(captum_scores(hf, model) - ours).max() > 0.05


@pytest.mark.parametrize("level", ["word", "sentence"])
@pytest.mark.parametrize("operator", ["neutral", "delete"])
def test_a_group_goes_at_once_and_its_score_is_its_tokens_sum(tiny, level, operator):
    model, hf = tiny("llama"), untouched("llama")
    prompt = Prompt.of("The code for the vault. It is five, naïve 👩‍🚀 I think. So")
    found = leave_one_out(model, prompt, level=level, operator=operator)
    sequence = found.sequence
    units = [u for u in sequence.units(level) if u.start < found.explained[0]]
    sums = unit_scores(found.arrays["scores"], tuple(units))
    full = logprobs(hf, sequence.ids, found.explained).sum()
    assert 1 < len(units) < found.explained[0]
    for unit, score in zip(units, sums, strict=True):
        ids = list(sequence.ids)
        width = unit.stop - unit.start
        answer = list(found.explained)
        if operator == "neutral":
            ids[unit.start : unit.stop] = [model.neutral_id] * width
        else:
            del ids[unit.start : unit.stop]
            answer = [p - width for p in answer]
        assert score == pytest.approx(float(full - logprobs(hf, ids, answer).sum()), abs=1e-4)
        inside = found.arrays["scores"][unit.start : unit.stop]
        assert (inside == inside[0]).all()


def test_earlier_answer_tokens_are_context(tiny):
    model, hf = tiny("llama"), untouched("llama")
    found = leave_one_out(model, span=(2,))
    ids, j = list(found.sequence.ids), found.sequence.prompt_length + 1
    without = [*ids[:j], model.neutral_id, *ids[j + 1 :]]
    drop = logprobs(hf, ids, found.explained) - logprobs(hf, without, found.explained)
    assert found.arrays["scores"][j] == pytest.approx(float(drop), abs=1e-5)


def test_a_repeated_word_has_a_score_at_each_place(tiny):
    found = leave_one_out(tiny("llama"), Prompt.of("code code code"))
    assert len(set(found.arrays["scores"][: found.explained[0]].tolist())) == found.explained[0]


def test_a_token_that_is_the_neutral_one_already_scores_nothing(tiny):
    model = tiny("llama")
    prompt = Prompt.of(f"The{model.tokenizer.convert_ids_to_tokens(model.neutral_id)} code")
    found = leave_one_out(model, prompt)
    at = found.sequence.ids.index(model.neutral_id)
    assert found.arrays["scores"][at] == pytest.approx(0.0, abs=1e-5)


def test_deleting_all_there_is_says_what_to_do(tiny):
    with pytest.raises(InputError, match="Choose the operator `neutral`"):
        leave_one_out(tiny("llama"), Prompt.of("a"), operator="delete")
    single = leave_one_out(tiny("llama"), Prompt.of("a"))
    assert np.isfinite(single.arrays["scores"][0])


def test_counts_a_pass_for_each_removal(tiny):
    run = FakeRun()
    found = leave_one_out(tiny("llama"), run=run)
    assert (run.forward, run.backward) == (found.explained[0] + 1, 0)
    assert run.reports[-1][0] == run.reports[-1][1] == found.explained[0] + 1


@pytest.mark.parametrize("bad", [{"operator": "zero"}, {"level": "page"}, {"k": 1}])
def test_unknown_choices_are_refused(bad):
    with pytest.raises(ValidationError):
        LeaveOneOutParameters(**bad)
