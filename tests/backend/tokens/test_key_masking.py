"""Key masking against the untouched model with a mask written out entry by entry."""

import numpy as np
import pytest
import torch

from backend.tokens.key_masking import KeyMasking
from backend.tokens.sequence import unit_scores
from tests.backend.tokens.ablate import PROMPT, additive_mask, logprobs, target
from tests.backend.tokens.passage import explain
from tests.fake import FakeRun
from tests.tiny import untouched

WITHOUT_WINDOW = ("llama", "qwen2", "qwen3", "phi3", "gpt2", "gpt_neox")


def key_masking(model, run=None, span=None, **parameters):
    about = target(model, span=span)
    return explain(model, KeyMasking, prompt=PROMPT, target=about, run=run, **parameters)


@pytest.mark.parametrize("architecture", WITHOUT_WINDOW)
def test_equals_one_mask_at_a_time(tiny, architecture):
    hf = untouched(architecture)
    found = key_masking(tiny(architecture))
    ids, explained = found.sequence.ids, found.explained
    full = logprobs(hf, ids, explained, additive_mask(len(ids), ()))
    for j in range(explained[0]):
        hidden = logprobs(hf, ids, explained, additive_mask(len(ids), (j,)))
        np.testing.assert_allclose(found.arrays["by_answer"][:, j], full - hidden, atol=3e-5)
    np.testing.assert_allclose(
        found.arrays["scores"], found.arrays["by_answer"].sum(axis=0), atol=1e-5
    )


@pytest.mark.parametrize("architecture", ["gemma2", "mistral"])
def test_outside_the_window_of_one_layer_a_key_is_hidden_already(tiny, architecture):
    model = tiny(architecture, num_hidden_layers=1)
    found = key_masking(model, span=(3,))
    query = found.explained[0] - 1
    far = found.arrays["scores"][: query - 5]
    assert len(far) > 2
    np.testing.assert_allclose(far, 0.0, atol=1e-5)
    assert np.abs(found.arrays["scores"][query - 5 : query]).min() > 1e-4


def test_words_go_at_once_and_their_score_is_shared(tiny):
    hf = untouched("llama")
    found = key_masking(tiny("llama"), level="word")
    ids, explained = found.sequence.ids, found.explained
    units = tuple(u for u in found.sequence.units("word") if u.start < explained[0])
    full = logprobs(hf, ids, explained).sum()
    for unit, score in zip(units, unit_scores(found.arrays["scores"], units), strict=True):
        mask = additive_mask(len(ids), range(unit.start, unit.stop))
        assert score == pytest.approx(
            float(full - logprobs(hf, ids, explained, mask).sum()), abs=1e-4
        )


def test_the_last_query_still_sees_itself(tiny):
    """The token the first answer token is read from has no later query before that answer."""
    found = key_masking(tiny("llama"), span=(0,))
    assert found.arrays["scores"][found.explained[0] - 1] == pytest.approx(0.0, abs=1e-5)


def test_model_and_passes_are_as_they_should_be(tiny):
    model, run = tiny("llama"), FakeRun()
    before = model.hf(torch.arange(5, 15)[None]).logits
    found = key_masking(model, run)
    assert (run.forward, run.backward) == (found.explained[0] + 1, 0)
    assert torch.equal(model.hf(torch.arange(5, 15)[None]).logits, before)
