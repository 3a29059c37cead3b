"""Contribution Weights against their identities and against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from backend.errors import InputError
from backend.tokens.contribution_weights import ContributionWeights
from backend.tokens.explanation import Target
from tests.backend.tokens.passage import (
    PROMPT,
    REFERENCES,
    contributions,
    explain,
    parts_of,
)
from tests.tiny import ARCHITECTURES


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_contributions_sum_to_one_in_every_layer_and_row(tiny, architecture):
    found = explain(tiny(architecture), ContributionWeights)
    c = found.arrays["contributions"]
    n = len(found.sequence)
    assert c.shape == (3, 4, n, n)
    assert found.values["queries"] == list(range(n))
    total = c.sum(axis=(1, 3))
    has_bias = "others/bias" in found.arrays
    assert has_bias == (architecture in ("gpt2", "gpt_neox"))
    if has_bias:
        assert np.abs(found.arrays["others/bias"]).max() > 1e-3
        total = total + found.arrays["others/bias"]
    np.testing.assert_allclose(total, 1.0, atol=1e-4)
    np.testing.assert_allclose(found.arrays["attention"].sum(axis=3), 1.0, atol=1e-5)


@pytest.mark.parametrize("normalisation", ["output_norm", "none", "absolute"])
@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_contributions_equal_a_plain_loop(tiny, architecture, reference, normalisation):
    model = tiny(architecture)
    found = explain(model, ContributionWeights, reference=reference, normalisation=normalisation)
    for parts in parts_of(model, found.sequence.ids):
        expected, others = contributions(parts, reference, normalisation)
        c = found.arrays["contributions"][parts.index]
        scale = np.abs(expected).max()
        np.testing.assert_allclose(c, expected, atol=2e-5 * scale, rtol=2e-4)
        for name, value in others.items():
            stored = found.arrays.get(f"others/{name}", np.zeros((3, len(value))))
            np.testing.assert_allclose(stored[parts.index], value, atol=2e-4, rtol=2e-3)


@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("architecture", ["gpt2", "gemma2", "gpt_neox"])
def test_all_sources_sum_to_the_length_of_the_reference(tiny, architecture, reference):
    found = explain(
        tiny(architecture), ContributionWeights, reference=reference, normalisation="none"
    )
    c, norms = found.arrays["contributions"], found.arrays["norms"]
    total = c.sum(axis=3) if reference == "head_output" else c.sum(axis=(1, 3))
    for name in ("bias", "residual", "feed_forward"):
        total = total + found.arrays.get(f"others/{name}", 0.0)
    np.testing.assert_allclose(total, norms, rtol=1e-4)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_later_keys_and_keys_without_attention_contribute_nothing(tiny, architecture):
    arrays = explain(tiny(architecture), ContributionWeights).arrays
    c, A = arrays["contributions"], arrays["attention"]
    later = np.triu(np.ones(c.shape[2:], dtype=bool), 1)
    assert (c[..., later] == 0).all()
    assert (c[A == 0] == 0).all()
    if architecture in ("gemma2", "mistral"):  # the window hides early keys as well
        assert (A[..., -1, 0] == 0).any()


def test_scaling_the_output_projection_leaves_shares_unchanged(tiny):
    import torch

    from backend.tokens.models import DecoderModel
    from tests.tiny import tokenizer, untouched

    scaled = untouched("llama")
    with torch.no_grad():
        scaled.model.layers[0].self_attn.o_proj.weight.mul_(7.0)
    ours = explain(tiny("llama"), ContributionWeights).arrays
    other = explain(DecoderModel(scaled, tokenizer()), ContributionWeights).arrays
    np.testing.assert_allclose(ours["contributions"][0], other["contributions"][0], atol=1e-5)
    np.testing.assert_allclose(ours["norms"][0] * 7.0, other["norms"][0], rtol=1e-4)
    assert np.abs(ours["contributions"][2] - other["contributions"][2]).max() > 1e-3


def test_wrong_choices_are_answered(tiny):
    with pytest.raises(InputError, match=r"Layer 4 was asked for, the model has 3 layers"):
        explain(tiny("llama"), ContributionWeights, layer_to=4)
    with pytest.raises(InputError, match=r"layer_from: Layer 9"):
        explain(tiny("llama"), ContributionWeights, layer_from=9)
    with pytest.raises(ValidationError, match="before layer_from"):
        ContributionWeights.Parameters(layer_from=3, layer_to=2)
    with pytest.raises(ValidationError):
        ContributionWeights.Parameters(sign="upwards")
    for target in (Target(), Target(ids=())):
        with pytest.raises(InputError, match="no answer to explain"):
            explain(tiny("llama"), ContributionWeights, prompt=PROMPT, target=target)
