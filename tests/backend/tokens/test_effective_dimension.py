"""Effective dimension: planted ranks, a singular value decomposition beside it, and refusals."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from backend.errors import InputError
from backend.tokens.capture import capture
from backend.tokens.effective_dimension import (
    PARTS,
    EffectiveDimension,
    _layers,
    reference_text,
)
from backend.tokens.explanation import Prompt, Target
from backend.tokens.spectrum import (
    Covariance,
    entropy_rank,
    singular_values,
    variance_count,
)
from tests.backend.tokens.passage import explain
from tests.fake import FakeRun

LONG = Prompt.of("The river runs by the old mill and the wind is cold today. " * 40)


def cloud(rank, count=400, width=12, seed=0):
    """Rows even in `rank` directions, with a mean far off."""
    generator = torch.Generator().manual_seed(seed)
    even = torch.linalg.qr(torch.randn(count, rank, generator=generator))[0]
    even = even - even.mean(dim=0)
    even = torch.linalg.qr(even)[0]
    turned = torch.linalg.qr(torch.randn(width, width, generator=generator))[0][:rank]
    return 7.0 + even @ turned


@pytest.mark.parametrize("rank", [1, 3, 12])
def test_a_cloud_even_in_k_directions(rank):
    covariance = Covariance(12, "cpu")
    for part in cloud(rank).split(90):
        covariance.add(part)
    eigenvalues = covariance.eigenvalues()
    assert variance_count(eigenvalues) == rank
    assert entropy_rank(np.sqrt(eigenvalues)) == pytest.approx(rank, rel=1e-3)


def test_counts_by_hand():
    assert variance_count(np.array([90.0, 9.0, 0.5, 0.5])) == 2
    assert variance_count(np.array([90.0, 8.9, 1.0, 0.1])) == 3
    assert variance_count(np.zeros(3)) == 0
    assert entropy_rank(np.array([2.0, 2.0, 0.0])) == pytest.approx(2.0)
    assert entropy_rank(np.zeros(3)) == 0.0
    p = np.array([0.5, 0.25, 0.25])
    assert entropy_rank(4 * p) == pytest.approx(np.exp(-(p * np.log(p)).sum()))


def test_eigenvalues_are_those_of_a_decomposition():
    rows = torch.randn(50, 6, generator=torch.Generator().manual_seed(1))
    covariance = Covariance(6, "cpu")
    covariance.add(rows)
    centred = rows.double() - rows.double().mean(dim=0)
    expected = torch.linalg.svdvals(centred) ** 2 / 50
    np.testing.assert_allclose(covariance.eigenvalues(), expected, rtol=1e-8)
    np.testing.assert_allclose(
        singular_values(rows), torch.linalg.svdvals(rows.double()), rtol=1e-6
    )
    with pytest.raises(ValueError, match="no rows"):
        Covariance(6, "cpu").eigenvalues()


@pytest.mark.parametrize("architecture", ["llama", "gemma2", "gpt2", "gpt_neox"])
def test_every_layer_and_part_equals_a_decomposition(architecture, tiny):
    model = tiny(architecture)
    found = explain(model, EffectiveDimension, prompt=LONG, text="prompt", skip=0)
    ids = found.sequence.ids
    assert found.values["tokens"] == len(ids) >= 10 * model.width
    rows = {}

    def keep(parts):
        outputs = (parts.attention_output, parts.after - parts.middle, parts.after)
        for part, output in enumerate(outputs):
            rows.setdefault((part, parts.index), []).append(output.double().clone())

    for start in range(0, len(ids), 512):
        capture(model, ids[start : start + 512], keep, ())
    for (part, layer), windows in rows.items():
        x = torch.cat(windows)
        s = torch.linalg.svdvals(x - x.mean(dim=0)).numpy()
        held = np.cumsum(s**2) / (s**2).sum()
        assert found.arrays["variance_share"][part, layer] == pytest.approx(
            (int((held < 0.99).sum()) + 1) / model.width
        )
        p = s / s.sum()
        assert found.arrays["entropy_share"][part, layer] == pytest.approx(
            np.exp(-(p[p > 0] * np.log(p[p > 0])).sum()) / model.width, rel=1e-3
        )
        np.testing.assert_allclose(
            found.arrays["spectrum"][part, layer], s**2 / (s**2).sum(), atol=1e-5
        )


def test_too_few_tokens_are_refused_with_both_numbers(tiny):
    model = tiny("llama")
    with pytest.raises(InputError, match=r"has \d+ tokens to measure; 320 are needed, 10 times"):
        explain(model, EffectiveDimension, text="prompt")


def test_fewer_tokens_can_be_asked_for_and_are_warned_of(tiny):
    run = FakeRun()
    found = explain(
        tiny("llama"), EffectiveDimension, prompt=LONG, text="prompt",
        tokens_per_dimension=2, run=run,
    )  # fmt: skip
    assert "are few for 32 dimensions" in run.warnings[0]
    assert found.values["tokens"] >= 64


def test_the_reference_is_read_as_far_as_is_needed(tiny):
    run = FakeRun()
    found = explain(tiny("llama"), EffectiveDimension, run=run)
    assert 320 <= found.values["tokens"] < 320 + 511
    assert found.values["text"] == "reference"
    assert run.forward == 1
    assert found.values["parts"] == list(PARTS)
    assert len(reference_text()) > 300_000


def test_wide_models_have_some_of_their_layers_measured():
    class Wide:
        width, layers = 4096, 32

    chosen = _layers(Wide())
    assert 1 < len(chosen) < 32
    assert (chosen[0], chosen[-1]) == (0, 31)
    assert len(chosen) * 3 * 4096**2 * 8 <= 2**30


def test_first_tokens_are_left_out(tiny):
    model = tiny("llama")
    with_first, without = (
        explain(model, EffectiveDimension, prompt=LONG, text="prompt", skip=chosen)
        for chosen in (0, 3)
    )
    windows = -(-len(with_first.sequence) // 512)
    assert with_first.values["tokens"] - without.values["tokens"] == 3 * windows


def test_the_bundled_models_attention_fills_less_than_its_residual_stream(smollm2):
    found = explain(smollm2, EffectiveDimension, target=Target(ids=(28,)), tokens_per_dimension=3)
    attention, _, residual = found.arrays["entropy_share"].mean(axis=1)
    assert attention < residual
