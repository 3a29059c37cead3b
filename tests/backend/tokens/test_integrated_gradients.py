"""Integrated gradients against a Riemann sum, captum's own loop, and completeness."""

import warnings

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from backend.tokens import integrated_gradients, path
from backend.tokens.explanation import Prompt
from backend.tokens.integrated_gradients import (
    IntegratedGradients,
    IntegratedGradientsParameters,
    baseline,
)
from tests.backend.tokens.ablate import PROMPT, logprobs, target
from tests.backend.tokens.passage import explain
from tests.backend.tokens.test_gradient_x_input import f
from tests.fake import FakeRun
from tests.tiny import ARCHITECTURES, untouched


def integrated(model, run=None, span=None, prompt=PROMPT, **parameters):
    about = target(model, span=span)
    return explain(model, IntegratedGradients, prompt=prompt, target=about, run=run, **parameters)


def riemann(hf, ids, explained, start, steps):
    """Midpoint sum of the path integral, [N] float64; `start` [d] stands at the context."""
    embeds = hf.get_input_embeddings()(torch.tensor(ids)).detach()
    lowest = embeds.clone()
    lowest[: explained[0]] = start
    total = torch.zeros_like(embeds, dtype=torch.float64)
    for k in range(steps):
        x = (lowest + (k + 0.5) / steps * (embeds - lowest)).requires_grad_(True)
        total += torch.autograd.grad(f(hf, x, ids, explained), x)[0].double() / steps
    return (total * (embeds - lowest)).sum(1).numpy()


@pytest.mark.parametrize("start", ["neutral", "zero", "mean"])
def test_equals_a_riemann_sum(tiny, start):
    # An RMSNorm jumps at zero; GPT-2's positions keep the path from zero smooth.
    architecture = "gpt2" if start == "zero" else "llama"
    model, hf = tiny(architecture), untouched(architecture)
    found = integrated(model, span=(1, 3), steps=64, baseline=start, points="even")
    weight = hf.get_input_embeddings().weight.detach()
    vector = {"neutral": weight[model.neutral_id], "mean": weight.mean(0), "zero": 0 * weight[0]}
    expected = riemann(hf, found.sequence.ids, found.explained, vector[start], 300)
    stop = found.explained[0]
    np.testing.assert_allclose(found.arrays["scores"][:stop], expected[:stop], atol=1e-3)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_scores_sum_to_the_difference(tiny, architecture):
    model, hf = tiny(architecture), untouched(architecture)
    found = integrated(model, steps=64, points="even")
    ids, stop = list(found.sequence.ids), found.explained[0]
    full = float(logprobs(hf, ids, found.explained).sum())
    empty = float(logprobs(hf, [model.neutral_id] * stop + ids[stop:], found.explained).sum())
    assert found.values["value"] == pytest.approx(full, abs=1e-4)
    assert found.values["baseline_value"] == pytest.approx(empty, abs=1e-4)
    assert np.nansum(found.arrays["scores"]) == pytest.approx(full - empty, abs=2e-3)
    gap = np.nansum(found.arrays["scores"].astype(float)) - (full - empty)
    assert found.values["completeness_gap"] == pytest.approx(gap, abs=2e-4)


def test_more_steps_leave_a_smaller_gap(tiny):
    gaps = [abs(integrated(tiny("qwen3"), steps=n).values["completeness_gap"]) for n in (4, 12, 48)]
    assert gaps[0] > 10 * gaps[1] > 100 * gaps[2]


def test_a_large_gap_is_a_warning_that_says_what_to_do(tiny):
    few, many = FakeRun(), FakeRun()
    coarse = integrated(tiny("llama"), few, steps=4, baseline="zero")
    assert coarse.values["relative_gap"] > 0.05
    (warning,) = few.warnings
    assert "raise the steps (now 4)" in warning
    assert "choose another baseline" in warning
    fine = integrated(tiny("llama"), many, steps=256)
    assert fine.values["relative_gap"] < 0.05
    assert many.warnings == []


def test_equals_captum_per_answer_token(tiny):
    """captum explains each answer token on its own; the sum over the answer is ours where all
    that stands before a token varies, so the answer is one token here."""
    from captum.attr import LayerIntegratedGradients, LLMGradientAttribution, TextTokenInput

    model, hf = tiny("llama"), untouched("llama")
    inputs = TextTokenInput(PROMPT.text, model.tokenizer, baselines=model.neutral_id)
    method = LLMGradientAttribution(
        LayerIntegratedGradients(hf, hf.get_input_embeddings()), model.tokenizer
    )
    first = target(model).ids[:1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = method.attribute(inputs, target=model.tokenizer.decode(list(first)), n_steps=50)
    found = explain(
        model,
        IntegratedGradients,
        prompt=PROMPT,
        target=target(model, ids=first),
        steps=50,
        points="even",
    )
    stop = found.sequence.prompt_length
    np.testing.assert_allclose(
        found.arrays["scores"][:stop], theirs.seq_attr.detach().numpy()[:stop], atol=1e-4
    )


def test_equals_captum_on_the_whole_answer(tiny):
    from captum.attr import IntegratedGradients as Captum

    model, hf = tiny("gpt2"), untouched("gpt2")
    found = integrated(model, steps=20, baseline="mean", points="even")
    ids, explained, stop = found.sequence.ids, found.explained, found.explained[0]
    embeds = hf.get_input_embeddings()(torch.tensor(ids)).detach()

    def forward(context):
        tail = embeds[stop:].expand(len(context), -1, -1)
        logits = hf(inputs_embeds=torch.cat([context, tail], dim=1)).logits.log_softmax(-1)
        return sum(logits[:, p - 1, ids[p]] for p in explained)

    start = hf.get_input_embeddings().weight.detach().mean(0).expand(1, stop, -1)
    theirs = Captum(forward).attribute(embeds[None, :stop], start, n_steps=20)
    np.testing.assert_allclose(
        found.arrays["scores"][:stop], theirs[0].sum(1).detach().numpy(), atol=2e-5
    )


def test_batches_of_steps_change_nothing(tiny, monkeypatch):
    whole = integrated(tiny("gemma2"), steps=9, points="even").arrays["scores"]
    monkeypatch.setattr(path, "ROWS_PER_BATCH", 2)
    run = FakeRun()
    part = integrated(tiny("gemma2"), run, steps=9, points="even")
    np.testing.assert_allclose(part.arrays["scores"], whole, atol=1e-5)
    assert run.batch_sizes == [2, 2, 2, 2, 1]
    assert (run.forward, run.backward) == (11, 9)


def test_a_prompt_that_is_its_own_baseline_scores_nothing(tiny):
    model, run = tiny("llama"), FakeRun()
    prompt = Prompt.of(model.tokenizer.convert_ids_to_tokens(model.neutral_id) * 3)
    found = integrated(model, run, prompt=prompt)
    assert (found.arrays["scores"][:3] == 0).all()
    assert found.values["relative_gap"] is None
    assert run.warnings == []


@pytest.mark.parametrize("architecture", ["gemma3_text", "cohere"])
def test_mean_baseline_is_the_mean_of_what_the_model_takes(tiny, architecture, monkeypatch):
    monkeypatch.setattr(integrated_gradients, "_VOCABULARY_ROWS", 100)
    model = tiny(architecture)
    every = model.embeddings(range(model.vocabulary)).double().mean(0)
    torch.testing.assert_close(baseline(model, "mean").double(), every, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize(
    "bad", [{"steps": 3}, {"steps": 513}, {"baseline": "black"}, {"points": "odd"}]
)
def test_choices_out_of_bounds_are_refused(bad):
    with pytest.raises(ValidationError):
        IntegratedGradientsParameters(**bad)
