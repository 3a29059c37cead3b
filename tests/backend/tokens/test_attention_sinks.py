"""Attention sinks: which position is one, a planted one, confidence, and the bundled model."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from backend.errors import InputError
from backend.tokens import FAMILY, sink_measures
from backend.tokens.attention_sinks import AttentionSinks
from backend.tokens.explanation import Prompt, Target
from tests.backend.tokens.passage import explain, parts_of, sequence_of
from tests.fake import FakeRun

ARCHITECTURES = ["llama", "qwen2", "gemma2", "gpt2", "gpt_neox"]


def test_the_swept_head_is_the_one_with_the_highest_rate(tiny):
    found = explain(tiny("llama"), AttentionSinks)
    rates, swept = found.arrays["rates"], found.values["swept"]
    assert (swept["layer"], swept["head"]) == np.unravel_index(rates.argmax(), rates.shape)
    assert swept["query"] == found.explained[0] - 1
    inside = explain(tiny("llama"), AttentionSinks, layer=3).values["swept"]
    assert (inside["layer"], inside["head"]) == (2, rates[2].argmax())
    across = explain(tiny("llama"), AttentionSinks, head=2).values["swept"]
    assert (across["layer"], across["head"]) == (rates[:, 1].argmax(), 1)


@pytest.mark.parametrize("architecture", ["llama", "gpt2", "gemma2"])
def test_confidence_is_the_models_own(tiny, architecture, monkeypatch):
    model = tiny(architecture)
    monkeypatch.setattr(sink_measures, "LOGITS_AT_ONCE", 3 * model.vocabulary)
    found = explain(model, AttentionSinks, position=2)
    with torch.no_grad():
        logits = model.hf(torch.tensor([list(found.sequence.ids)])).logits[0].double()
    p = logits[found.values["rows"]].softmax(dim=-1)
    np.testing.assert_allclose(found.arrays["confidence"], p.amax(dim=-1), rtol=1e-4)
    np.testing.assert_allclose(found.arrays["entropy"], -(p * p.log()).sum(dim=-1), rtol=1e-4)


def test_groups_are_means_over_equally_many_queries(tiny):
    prompt = Prompt.of("The capital of France is Paris. The river runs by the old mill. " * 3)
    arrays = explain(tiny("llama"), AttentionSinks, prompt=prompt).arrays
    order = np.argsort(arrays["confidence"], kind="stable")
    parts = [[] for _ in range(10)]
    for rank, query in enumerate(order):
        parts[rank * 10 // len(order)].append(query)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    for group, members in enumerate(parts):
        for name in ("confidence", "entropy"):
            mean = arrays[name][members].astype(float).mean()
            assert arrays[f"groups/{name}"][group] == pytest.approx(mean, rel=1e-5)
        for name in sink_measures.ROWS:
            mean = arrays[name][:, members].astype(float).mean(axis=1)
            np.testing.assert_allclose(arrays[f"groups/{name}"][:, group], mean, rtol=1e-4)
    assert (np.diff(arrays["groups/confidence"]) >= 0).all()


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_what_a_position_receives(tiny, architecture):
    model = tiny(architecture)
    found = explain(model, AttentionSinks)
    layers = parts_of(model, sequence_of(model).ids)
    length = len(found.sequence)
    for j in range(length - 1):
        later = [p.attention.double().numpy()[:, j + 1 :, j].mean() for p in layers]
        assert found.arrays["received"][j] == pytest.approx(np.mean(later), rel=1e-4, abs=1e-6)
    assert np.isnan(found.arrays["received"][-1])


def plant(model, position):
    """Make `position` a sink of GPT-2's weights: all queries look at it, and it says nothing.

    Its position embedding outweighs all else, so its key and value are known; every query's bias
    points to that key, and the value's bias cancels that value.
    """
    hf, d = model.hf.transformer, model.width
    with torch.no_grad():
        mark = torch.randn(d, generator=torch.Generator().manual_seed(5))
        hf.wpe.weight[position] = 200 * mark / mark.norm()
        for block in hf.h:
            weight, bias = block.attn.c_attn.weight, block.attn.c_attn.bias
            made = block.ln_1(hf.wpe.weight[position]) @ weight + bias
            key = made[d : 2 * d].view(model.heads, -1)
            bias[:d] = (30 * key / key.norm(dim=-1, keepdim=True)).flatten()
            bias[2 * d :] -= made[2 * d :]
    return model


def test_a_planted_sink_is_found_where_it_is(tiny):
    model = plant(tiny("gpt2", seed=3), 2)
    prompt = Prompt.of("The capital of France is Paris and the river runs by the old mill.")
    found = explain(model, AttentionSinks, prompt=prompt)
    arrays = found.arrays
    assert [s["position"] for s in found.values["sinks"]] == [2]
    assert found.values["sink"] == 2
    assert found.values["sink_text"] == model.tokenizer.decode([found.sequence.ids[2]])
    assert found.values["rows"][0] == 3
    assert found.values["model_rate"] > 0.9
    assert (arrays["attention_share"] > 0.6).all()
    assert (np.abs(arrays["contribution_share"]) < 0.1 * arrays["attention_share"]).all()
    assert arrays["curve/minimum"][0] == pytest.approx(1, abs=0.1)
    silent = arrays["curve/norm"][0] * (1 - arrays["curve/attention"])
    np.testing.assert_allclose(arrays["curve/norm"], silent, atol=0.1 * silent[0])
    assert not any("most attended" in note for note in found.notes)


def test_threshold_decides_what_is_a_sink(tiny):
    model = tiny("llama")
    base = explain(model, AttentionSinks)
    received = base.arrays["received"]
    fewest = len(base.sequence) // 4
    eligible = received[: len(base.sequence) - fewest]
    strongest = int(eligible.argmax())
    low = float(np.sort(eligible)[-2]) * 0.99
    found = explain(model, AttentionSinks, threshold=low)
    listed = [s["position"] for s in found.values["sinks"]]
    assert listed == sorted(np.flatnonzero(eligible > low), key=lambda p: -eligible[p])
    assert len(listed) >= 2
    assert found.values["sink"] == listed[0] == strongest
    assert found.values["above"]
    assert found.values["model_rate"] == pytest.approx((found.arrays["rates"] > low).mean())
    none = explain(model, AttentionSinks, threshold=0.99)
    assert none.values["sinks"] == []
    assert none.values["sink"] == strongest
    assert not none.values["above"]
    assert any("most attended position is measured" in note for note in none.notes)
    asked = explain(model, AttentionSinks, threshold=low, position=len(eligible) - 1)
    assert asked.values["sink"] == len(eligible) - 1


def test_long_inputs_are_measured_at_evenly_spaced_rows(tiny):
    prompt = Prompt.of("The river runs by the old mill and the wind is cold today. " * 3)
    model = tiny("llama")
    whole = explain(model, AttentionSinks, prompt=prompt)
    length = len(whole.sequence)
    assert not any("evenly spaced" in note for note in whole.notes)
    found = explain(model, AttentionSinks, prompt=prompt, most_rows=16, position=0)
    expected = {round(k * (length - 1) / 15) for k in range(16)} | {found.explained[0] - 1}
    assert found.values["rows"] == sorted(expected - {0})
    assert any(f"at {len(expected)} of {length} query rows" in note for note in found.notes)
    at = [row - 1 for row in found.values["rows"]]
    fixed = explain(model, AttentionSinks, prompt=prompt, position=0)
    for name in ("opposition", "drift", "drift_renormalised", "update_norm"):
        some = fixed.arrays[name][:, at]
        np.testing.assert_allclose(found.arrays[name], some, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(found.arrays["confidence"], fixed.arrays["confidence"][at], 1e-4)


def test_a_view_gives_no_scores_and_counts_two_passes(tiny):
    run = FakeRun()
    found = explain(tiny("llama"), AttentionSinks, run=run)
    assert AttentionSinks in FAMILY.explainers
    assert AttentionSinks.role == "view"
    assert AttentionSinks.reconstruction
    assert found.values["view"] == "attention_sinks"
    assert found.arrays["scores"].shape == (len(found.sequence),)
    assert np.isnan(found.arrays["scores"]).all()
    assert any("Vitrine's own proposal" in note for note in found.notes)
    assert (run.forward, run.backward) == (2, 0)
    assert [done for done, _, _ in run.reports] == [1, 2, 3, 4, 5, 6]
    assert {total for _, total, _ in run.reports} == {6}


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"layer": 4}, "has 3 layers"),
        ({"head": 5}, "has 4 heads"),
        ({"position": 500}, "the text has"),
        ({"query": 500}, "the text has"),
        ({"position": 3, "query": 3}, "cannot look at the sink"),
    ],
)
def test_what_the_model_or_text_does_not_have_is_refused(tiny, bad, says):
    with pytest.raises(InputError, match=says):
        explain(tiny("llama"), AttentionSinks, **bad)


def test_the_last_token_is_no_sink(tiny):
    length = len(sequence_of(tiny("llama")))
    with pytest.raises(InputError, match="Choose a position from 0 to"):
        explain(tiny("llama"), AttentionSinks, position=length - 1)
    found = explain(tiny("llama"), AttentionSinks, position=length - 2)
    assert found.values["rows"] == [length - 1]
    assert found.arrays["groups/drift"].shape == (3, 1)


@pytest.mark.parametrize(
    "bad",
    [{"threshold": 0.0}, {"threshold": 1.0}, {"most_rows": 15}, {"layer": 0}, {"query": -1}],
)
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ValidationError):
        AttentionSinks.Parameters(**bad)


@pytest.mark.model
def test_the_bundled_model_parks_attention_on_its_first_token(smollm2):
    text = (
        "The capital of France is Paris, which lies on the river Seine. The capital of Italy is "
        "Rome. When asked about the capital of Spain, most people answer that it is"
    )
    answer = smollm2.tokenizer(" Madrid.", add_special_tokens=False)["input_ids"]
    target = Target(ids=tuple(answer))
    found = explain(smollm2, AttentionSinks, prompt=Prompt.of(text), target=target)
    arrays = found.arrays
    assert [s["position"] for s in found.values["sinks"]] == [0]
    assert found.values["sink"] == 0
    assert found.values["sinks"][0]["received"] > 0.4
    assert found.values["model_rate"] > 0.7
    attention, contribution = arrays["attention_share"], arrays["contribution_share"]
    assert attention.mean() > 2 * contribution.mean()
    assert (attention > contribution).mean() > 0.8
    assert (arrays["fit/curvature"] > 0).mean() > 0.8
    assert arrays["curve/quadratic"][2] > 0
