"""Gradient × input against finite differences and captum."""

import warnings

import numpy as np
import pytest
import torch

from backend.tokens.gradient_x_input import GradientXInput
from tests.backend.tokens.ablate import PROMPT, target
from tests.backend.tokens.passage import explain
from tests.fake import FakeRun
from tests.tiny import ARCHITECTURES, untouched

STEP = 1e-2


def gradient_x_input(model, run=None, span=None, **parameters):
    about = target(model, span=span)
    return explain(model, GradientXInput, prompt=PROMPT, target=about, run=run, **parameters)


def f(hf, embeds, ids, explained):
    """Summed log-probability of embeddings [N, d]."""
    logprobs = hf(inputs_embeds=embeds[None]).logits[0].double().log_softmax(-1)
    return sum(logprobs[p - 1, ids[p]] for p in explained)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_signed_is_the_slope_of_growing_the_embedding(tiny, architecture):
    hf = untouched(architecture)
    found = gradient_x_input(tiny(architecture), span=(0, 2))
    ids, explained = found.sequence.ids, found.explained
    with torch.no_grad():
        embeds = hf.get_input_embeddings()(torch.tensor(ids))
        for j in range(explained[0]):
            scale = torch.ones(len(ids), 1)
            scale[j] += STEP
            up = f(hf, embeds * scale, ids, explained)
            scale[j] -= 2 * STEP
            down = f(hf, embeds * scale, ids, explained)
            slope = float((up - down) / (2 * STEP))
            assert found.arrays["scores"][j] == pytest.approx(slope, abs=2e-3)
    assert np.isnan(found.arrays["scores"][explained[0] :]).all()


@pytest.mark.parametrize("reading", ["signed", "norm", "gradient"])
def test_readings_of_one_gradient(tiny, reading):
    model, hf = tiny("qwen2"), untouched("qwen2")
    found = gradient_x_input(model, reading=reading)
    ids, stop = found.sequence.ids, found.explained[0]
    embeds = hf.get_input_embeddings()(torch.tensor(ids)).detach().requires_grad_(True)
    (gradient,) = torch.autograd.grad(f(hf, embeds, ids, found.explained), embeds)
    product = (gradient * embeds.detach()).numpy()
    expected = {
        "signed": product.sum(1),
        "norm": np.linalg.norm(product, axis=1),
        "gradient": np.linalg.norm(gradient.numpy(), axis=1),
    }
    for name, reference in expected.items():
        np.testing.assert_allclose(
            found.arrays[f"readings/{name}"][:stop], reference[:stop], atol=1e-5, rtol=1e-4
        )
    np.testing.assert_array_equal(found.arrays["scores"], found.arrays[f"readings/{reading}"])
    assert found.signed == (reading == "signed")
    assert found.values["on_answer"] == pytest.approx(
        float(expected["signed"][stop:].sum()), abs=1e-5
    )


def test_equals_captum_summed_over_the_answer(tiny):
    from captum.attr import LayerGradientXActivation, LLMGradientAttribution, TextTokenInput

    model, hf = tiny("llama"), untouched("llama")
    found = gradient_x_input(model)
    method = LLMGradientAttribution(
        LayerGradientXActivation(hf, hf.get_input_embeddings()), model.tokenizer
    )
    inputs = TextTokenInput(PROMPT.text, model.tokenizer)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = method.attribute(inputs, target=model.tokenizer.decode(list(target(model).ids)))
    stop = found.sequence.prompt_length
    # Each answer token is explained on its own there, by the tokens of the prompt alone here.
    np.testing.assert_allclose(
        found.arrays["scores"][:stop], theirs.seq_attr.detach().numpy()[:stop], atol=1e-4
    )


def test_one_pass_each_way(tiny):
    run = FakeRun()
    gradient_x_input(tiny("llama"), run)
    assert (run.forward, run.backward) == (1, 1)
