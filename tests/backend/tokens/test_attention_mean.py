"""Attention as an explanation: mean over heads and layers, last layer, rollout."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from backend.errors import InputError
from backend.tokens import matrices
from backend.tokens.attention_last import AttentionLast
from backend.tokens.attention_mean import AttentionMean
from backend.tokens.explanation import Prompt, Target
from tests.backend.tokens.passage import explain, parts_of
from tests.tiny import ARCHITECTURES


def _attention(model, found):
    """[L, H, N, N] from a capture of its own."""
    return np.stack([p.attention.double().numpy() for p in parts_of(model, found.sequence.ids)])


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_mean_and_matrices_are_the_models_attention(tiny, architecture):
    model = tiny(architecture)
    found = explain(model, AttentionMean)
    A = _attention(model, found)
    np.testing.assert_allclose(found.arrays["attention"], A, atol=1e-6)
    expected = A.mean(axis=(0, 1))[[p - 1 for p in found.explained]].mean(axis=0)
    stop = found.explained[0]
    np.testing.assert_allclose(found.arrays["scores"][:stop], expected[:stop], atol=1e-6)
    assert np.isnan(found.arrays["scores"][stop:]).all()
    assert found.values["left_out"] == pytest.approx(expected[stop:].sum(), abs=1e-6)
    assert (found.unit, found.signed) == ("share of attention", False)


@pytest.mark.parametrize("reading", ["span", "last", "received"])
@pytest.mark.parametrize("explainer", [AttentionMean, AttentionLast])
def test_readings(tiny, explainer, reading):
    model = tiny("llama")
    found = explain(model, explainer, reading=reading, target=Target(ids=(70, 80, 90), span=(1,)))
    A = _attention(model, found).mean(axis=1)
    A = A.mean(axis=0) if explainer is AttentionMean else A[-1]
    p, n = found.sequence.prompt_length, len(found.sequence)
    row = range(p, p + 1)
    expected = [
        np.mean([A[i, j] for i in (range(j, n) if reading == "received" else row)])
        for j in range(p + 1)
    ]
    np.testing.assert_allclose(found.arrays["scores"][: p + 1], expected, atol=1e-6)
    assert np.isnan(found.arrays["scores"][p + 1 :]).all()
    for name in ("span", "last", "received"):
        assert found.arrays[f"readings/{name}"].shape == (n,)


def test_a_layer_range_is_the_mean_over_it(tiny):
    found = explain(tiny("llama"), AttentionMean, layer_from=2, layer_to=2)
    stop = found.explained[0]
    layer = found.arrays["layer_tokens"][1, :stop]
    np.testing.assert_allclose(found.arrays["scores"][:stop], layer, atol=1e-7)
    assert np.isnan(found.arrays["layer_tokens"][:, stop:]).all()


def test_the_scores_of_the_whole_row_sum_to_one(tiny):
    found = explain(tiny("qwen2"), AttentionMean, target=Target(ids=(70,)))
    assert np.nansum(found.arrays["scores"]) == pytest.approx(1.0, abs=1e-5)
    assert found.values["left_out"] == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize("explainer", [AttentionMean, AttentionLast])
def test_over_the_budget_rows_and_scores_are_the_same(tiny, monkeypatch, explainer):
    whole = explain(tiny("gemma2"), explainer)
    monkeypatch.setattr(matrices, "BUDGET", 3 * 4 * 4 * 3 * len(whole.sequence))
    part = explain(tiny("gemma2"), explainer)
    rows = [p - 1 for p in whole.explained]
    assert part.values["queries"] == rows
    np.testing.assert_allclose(
        part.arrays["attention"], whole.arrays["attention"][:, :, rows], atol=1e-6
    )
    np.testing.assert_allclose(part.arrays["scores"], whole.arrays["scores"], atol=1e-6)
    assert "readings/received" not in part.arrays
    assert any("`received`" in note and "rollout" not in note for note in part.notes)


def test_a_prompt_of_one_token(tiny):
    found = explain(tiny("llama"), AttentionMean, prompt=Prompt.of("T"), target=Target(ids=(70,)))
    assert found.sequence.prompt_length == 1
    np.testing.assert_allclose(found.arrays["scores"], [1.0, np.nan])


def test_the_last_layer_takes_no_layer_range(tiny):
    with pytest.raises(ValidationError):
        AttentionLast.Parameters(layer_from=1)
    with pytest.raises(ValidationError):
        AttentionMean.Parameters(reading="rollout")
    with pytest.raises(InputError, match="no answer to explain"):
        explain(tiny("llama"), AttentionLast, target=Target(text="Paris"))
