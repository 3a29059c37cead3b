"""What Contribution Weights makes of its matrices: readings, kept and undefined rows, omissions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from backend.errors import InputError
from backend.tokens import matrices
from backend.tokens.contribution_weights import ContributionWeights
from backend.tokens.explanation import Target
from tests.backend.tokens.passage import (
    REFERENCES,
    TARGET,
    contributions,
    explain,
    parts_of,
    sequence_of,
)


@pytest.mark.parametrize("sign", ["signed", "positive", "absolute"])
@pytest.mark.parametrize("reading", ["span", "last", "received"])
def test_readings_equal_plain_loops(tiny, reading, sign):
    target = Target(ids=TARGET.ids, span=(1, 2))
    found = explain(
        tiny("llama"),
        ContributionWeights,
        target=target,
        reading=reading,
        sign=sign,
        layer_from=2,
    )
    C = found.arrays["contributions"].astype(np.float64).sum(axis=1)
    C = {"signed": C, "positive": np.maximum(C, 0), "absolute": np.abs(C)}[sign]
    n, p = len(found.sequence), found.sequence.prompt_length
    assert found.explained == (p + 1, p + 2)
    expected = np.full(n, np.nan)
    for j in range(p + 1):
        per_layer = []
        for layer in (1, 2):
            rows = {"span": [p, p + 1], "last": [p], "received": range(j, n)}[reading]
            per_layer.append(np.mean([C[layer, i, j] for i in rows]))
        expected[j] = np.mean(per_layer)
    np.testing.assert_allclose(found.arrays["scores"], expected, atol=1e-6)
    np.testing.assert_array_equal(found.arrays["scores"], found.arrays[f"readings/{reading}"])
    assert found.signed == (sign == "signed")
    lost = C[1:].mean(axis=0)[[p, p + 1]].mean(axis=0)[p + 1 :].sum()
    if reading == "span":
        assert found.values["left_out"] == pytest.approx(lost, abs=1e-6)
        assert found.arrays["layer_tokens"].shape == (3, n)


@pytest.mark.parametrize("architecture", ["llama", "gpt2", "gemma2"])
def test_rollout_equals_a_plain_product(tiny, architecture):
    model = tiny(architecture)
    found = explain(model, ContributionWeights, reading="rollout")
    n = len(found.sequence)
    product = np.eye(n)
    for parts in parts_of(model, found.sequence.ids):
        c, others = contributions(parts, "residual", "output_norm")
        B = np.maximum(c.sum(axis=0), 0)
        for i in range(n):
            B[i, i] += max(0.0, others["residual"][i])
        product = (B / B.sum(axis=1, keepdims=True)) @ product
    rows = [p - 1 for p in found.explained]
    expected = product[rows].mean(axis=0)
    stop = found.explained[0]
    np.testing.assert_allclose(found.arrays["scores"][:stop], expected[:stop], atol=1e-5)
    assert np.isnan(found.arrays["scores"][stop:]).all()
    assert not found.signed


@pytest.mark.parametrize(
    ("reference", "normalisation"),
    list(itertools.product(REFERENCES, ["output_norm", "absolute"])),
)
def test_over_the_budget_the_kept_rows_and_scores_are_the_same(
    tiny, monkeypatch, reference, normalisation
):
    choice = {"reference": reference, "normalisation": normalisation}
    whole = explain(tiny("gpt2"), ContributionWeights, **choice)
    monkeypatch.setattr(matrices, "BUDGET", 3 * 4 * 8 * 3 * len(whole.sequence))
    for reading in ("span", "received"):
        part = explain(tiny("gpt2"), ContributionWeights, **choice, reading=reading)
        rows = [p - 1 for p in whole.explained]
        assert part.values["queries"] == rows
        assert any("budget" in note for note in part.notes)
        for name in ("contributions", "attention"):
            np.testing.assert_allclose(
                part.arrays[name], whole.arrays[name][:, :, rows], atol=1e-5, rtol=1e-3
            )
        for name in ("others/bias", "norms"):
            if name in whole.arrays:
                expected = whole.arrays[name][..., rows]
                np.testing.assert_allclose(part.arrays[name], expected, atol=1e-5, rtol=1e-3)
        stop = whole.explained[0]
        np.testing.assert_allclose(
            part.arrays["scores"][:stop], whole.arrays[f"readings/{reading}"][:stop], atol=1e-6
        )
        assert "readings/rollout" not in part.arrays
        missing = "`received` and `rollout`" if reading == "span" else "chosen: `rollout`"
        assert any(missing in note for note in part.notes)
    rolled = explain(tiny("gpt2"), ContributionWeights, **choice, reading="rollout")
    np.testing.assert_allclose(
        rolled.arrays["scores"][:stop], whole.arrays["readings/rollout"][:stop], atol=1e-6
    )


def test_a_budget_below_the_explained_rows_keeps_the_first(tiny, monkeypatch):
    n = len(sequence_of(tiny("llama")))
    monkeypatch.setattr(matrices, "BUDGET", 3 * 4 * 8 * n * 2)
    found = explain(tiny("llama"), ContributionWeights)
    assert found.values["queries"] == [p - 1 for p in found.explained[:2]]
    assert any("first 2 explained tokens" in note for note in found.notes)


def test_no_matrices_leaves_scores(tiny):
    bare = explain(tiny("llama"), ContributionWeights, matrices="none")
    full = explain(tiny("llama"), ContributionWeights)
    assert not {"contributions", "attention", "norms"} & set(bare.arrays)
    np.testing.assert_allclose(bare.arrays["scores"], full.arrays["scores"], atol=1e-6)


def test_all_matrices_beyond_the_limit_are_refused(tiny, monkeypatch):
    monkeypatch.setattr(matrices, "LIMIT", 1000)
    with pytest.raises(InputError, match=r"matrices: All matrices .* Choose `auto`"):
        explain(tiny("llama"), ContributionWeights, matrices="all")


def _silenced(layer, heads=None):
    """A llama whose output projection of one layer is zero (for some heads)."""
    import torch

    from backend.tokens.models import DecoderModel
    from tests.tiny import tokenizer, untouched

    silent = untouched("llama")
    weight = silent.model.layers[layer].self_attn.o_proj.weight
    with torch.no_grad():
        weight[:, slice(None) if heads is None else slice(0, 8 * heads)] = 0.0
    return DecoderModel(silent, tokenizer())


def test_a_layer_that_writes_nothing_is_undefined_and_said_so(tiny):
    found = explain(_silenced(1), ContributionWeights)
    c, n = found.arrays["contributions"], len(found.sequence)
    assert np.isnan(c[1]).all()
    assert not np.isnan(c[[0, 2]]).any()
    assert found.values["undefined_rows"] == n
    assert f"{n} rows have no direction" in " ".join(found.notes)
    C = c[[0, 2]].sum(axis=1)[:, [p - 1 for p in found.explained]].mean(axis=(0, 1))
    stop = found.explained[0]
    np.testing.assert_allclose(found.arrays["scores"][:stop], C[:stop], atol=1e-6)
    assert np.isfinite(found.arrays["readings/rollout"][:stop]).all()
    only = explain(_silenced(1), ContributionWeights, layer_from=2, layer_to=2)
    assert (only.arrays["scores"][:stop] == 0).all()


def test_a_head_that_writes_nothing_does_not_take_the_others_with_it(tiny):
    found = explain(_silenced(0, heads=1), ContributionWeights, reference="head_output")
    c = found.arrays["contributions"]
    assert np.isnan(c[0, 0]).all()
    np.testing.assert_allclose(c[0, 1:].sum(axis=2), 1.0, atol=1e-4)
    total = c[0, 1:].mean(axis=0)[found.explained[0] - 1]
    stop = found.explained[0]
    np.testing.assert_allclose(
        explain(
            _silenced(0, heads=1),
            ContributionWeights,
            reference="head_output",
            reading="last",
            layer_to=1,
        ).arrays["scores"][:stop],
        total[:stop],
        atol=1e-6,
    )


def test_tokens_left_out_score_zero_and_their_share_is_kept(tiny):
    model = tiny("llama", bos=True)
    full = explain(model, ContributionWeights)
    first = explain(model, ContributionWeights, exclude_first=True)
    special = explain(model, ContributionWeights, exclude_special=True)
    stop = full.explained[0]
    assert full.sequence.special[0]
    for some in (first, special):
        assert some.arrays["scores"][0] == 0
        np.testing.assert_array_equal(some.arrays["scores"][1:stop], full.arrays["scores"][1:stop])
        gone = full.arrays["scores"][0]
        assert some.values["left_out"] - full.values["left_out"] == pytest.approx(gone, abs=1e-6)
        assert some.arrays["readings/span"][0] == gone
