"""Effective dimensions against numpy on the parts by hand, planted subspaces, and refusals."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from backend.errors import InputError
from backend.tokens import blocks, effective_dimension, streams
from backend.tokens.effective_dimension import WINDOW, EffectiveDimension
from backend.tokens.explanation import Prompt, Target
from tests.backend.tokens.passage import explain, parts_of
from tests.fake import FakeRun
from tests.tiny import ARCHITECTURES, FURTHER
from tests.tiny import tiny as build

LONG = Prompt.of("The river runs by the old mill and the wind is cold today. " * 30)
SHORT = Prompt.of("The capital of France is")


def shares(rows):
    """Both definitions of rows [n, d], by a singular value decomposition in float64."""
    s = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False)
    k = 1 + next(i for i, v in enumerate(np.cumsum(s**2) / (s**2).sum()) if v >= 0.99)
    p = s[s > 0] / s.sum()
    return k / rows.shape[1], np.exp(-(p * np.log(p)).sum()) / rows.shape[1]


@pytest.mark.parametrize("skip", [0, 4])
@pytest.mark.parametrize("architecture", [*ARCHITECTURES, *FURTHER])
def test_every_site_and_layer_by_hand(tiny, architecture, skip):
    model = tiny(architecture)
    found = explain(model, EffectiveDimension, prompt=LONG, skip=skip)
    assert found.values["tokens"] == len(found.sequence) - skip >= 320
    for parts in parts_of(model, found.sequence.ids, queries=[0]):
        after, middle = parts.after.double().numpy(), parts.middle.double().numpy()
        sites = (parts.attention_output.double().numpy(), after - middle, after)
        for site, rows in enumerate(sites):
            at = (site, parts.index)
            variance, entropy = shares(rows[skip:])
            assert found.arrays["variance_share"][at] == pytest.approx(variance)
            assert found.arrays["entropy_share"][at] == pytest.approx(entropy, rel=1e-3)
    spectrum = found.arrays["spectrum"]
    np.testing.assert_allclose(spectrum.sum(axis=-1), 1.0, rtol=1e-5)
    assert (np.diff(spectrum, axis=-1) <= 1e-9).all()
    assert not any("less that before" in note for note in found.notes)


def test_a_planted_subspace_is_measured():
    """The MLP of block 1 can only write 6 of 32 directions; that of block 2 nothing."""
    model = build("llama", seed=5)
    rng = np.random.default_rng(0)
    basis = torch.tensor(np.linalg.qr(rng.normal(size=(32, 6)))[0], dtype=torch.float32)
    with torch.no_grad():
        weight = model.hf.model.layers[1].mlp.down_proj.weight
        weight.copy_(basis @ basis.mT @ weight)
        model.hf.model.layers[2].mlp.down_proj.weight.zero_()
    found = explain(model, EffectiveDimension, prompt=LONG)
    variance, entropy = found.arrays["variance_share"], found.arrays["entropy_share"]
    assert variance[1, 1] <= 6 / 32 < variance[1, 0]
    assert 3 / 32 < entropy[1, 1] <= 6.001 / 32
    assert found.arrays["spectrum"][1, 1, 6:].max() < 1e-9
    assert variance[1, 2] == entropy[1, 2] == 0.0


def test_an_even_subspace_gives_exactly_k_of_d(monkeypatch):
    """Residuals put in the place of the model's: ± each of 8 directions of 32, equally often."""
    model = build("llama", seed=5)
    basis = np.linalg.qr(np.random.default_rng(1).normal(size=(32, 8)))[0].T
    rows = torch.tensor(np.tile(np.concatenate([basis, -basis]), (21, 1)), dtype=torch.float32)

    def capture(_model, ids, each, queries):
        for index in range(3):
            zero = torch.zeros(len(ids), 32)
            after = torch.cat([rows[:1], rows])[: len(ids)]
            each(
                streams.LayerParts(
                    index=index, attention=zero, values=zero, queries=zero, weight=zero,
                    bias=None, before=zero, attention_output=after, middle=after, after=after,
                    gain=None, parallel=False,
                )
            )  # fmt: skip

    monkeypatch.setattr(streams, "capture", capture)
    found = streams.spectra(model, [range(337)], 1, FakeRun()).arrays()
    np.testing.assert_allclose(found["entropy_share"][[0, 2]], 8 / 32, rtol=1e-4)
    np.testing.assert_allclose(found["variance_share"][[0, 2]], 8 / 32)
    np.testing.assert_allclose(found["entropy_share"][1], 0.0)


def test_too_few_tokens_are_refused_with_the_numbers(tiny):
    with pytest.raises(InputError) as refused:
        explain(tiny("llama"), EffectiveDimension, prompt=SHORT)
    n = len(tiny("llama").encode(SHORT, (70, 80, 90))) - 4
    assert f"There are {n} tokens" in str(refused.value)
    assert "needs 320 (10 a dimension)" in str(refused.value)
    assert "Bring a longer text" in str(refused.value)
    assert "fill to random" in str(refused.value)


def test_the_advice_fits_what_the_model_can_read(monkeypatch):
    model = build("llama", max_position_embeddings=300)
    with pytest.raises(InputError, match="More than 300 tokens do not fit: choose a smaller"):
        explain(model, EffectiveDimension, prompt=SHORT)
    wide = build("llama")
    monkeypatch.setattr(type(wide), "limit", 200)
    with pytest.raises(InputError, match="At most 200 tokens fit: raise VITRINE_MAX_TOKENS"):
        explain(wide, EffectiveDimension, prompt=SHORT)
    monkeypatch.undo()
    with pytest.raises(InputError, match="longer text"):
        explain(model, EffectiveDimension, prompt=SHORT, tokens_per_dimension=9)


def test_fewer_tokens_when_asked_for_carry_a_warning(tiny):
    run = FakeRun()
    found = explain(tiny("llama"), EffectiveDimension, prompt=LONG, run=run)
    assert run.warnings == []
    assert run.forward == 1
    lower = {"prompt": Prompt.of("The river runs. " * 12), "tokens_per_dimension": 1}
    found = explain(tiny("llama"), EffectiveDimension, run=run, **lower)
    (warning,) = run.warnings
    count = found.values["tokens"]
    assert 32 <= count < 320
    assert f"{count / 32:.1f} tokens a dimension instead of 10" in warning
    explain(tiny("llama"), EffectiveDimension, prompt=LONG, tokens_per_dimension=1, run=run)
    assert run.warnings == [warning]
    with pytest.raises(InputError, match="needs 32 "):
        explain(tiny("llama"), EffectiveDimension, prompt=SHORT, tokens_per_dimension=1)


def test_random_windows_fill_up_and_are_named(tiny):
    run = FakeRun()
    model = tiny("llama")
    wanted = {"prompt": SHORT, "fill": "random", "tokens_per_dimension": 40}
    found = explain(model, EffectiveDimension, run=run, **wanted)
    values = found.values
    assert values["tokens"] == values["needed"] == 40 * 32
    assert values["text_tokens"] == len(found.sequence) - 4
    assert values["random_tokens"] == values["tokens"] - values["text_tokens"]
    assert run.forward == 1 + -(-values["random_tokens"] // (WINDOW - 4)) == 4
    assert any(
        f"{values['random_tokens']:,} of the 1,280 tokens are random" in n for n in found.notes
    )
    other = explain(model, EffectiveDimension, run=FakeRun(seed=1), **wanted)
    assert not np.array_equal(other.arrays["spectrum"], found.arrays["spectrum"])
    enough = explain(model, EffectiveDimension, prompt=LONG, fill="random")
    assert enough.values["random_tokens"] == 0


def test_random_ids_are_ordinary_and_seeded(tiny):
    model = tiny("llama")
    windows = effective_dimension._random_windows(model, 3000, 1, FakeRun(seed=4))
    assert [len(w) for w in windows] == [WINDOW] * 5 + [3000 - 5 * (WINDOW - 1) + 1]
    ids = np.concatenate(windows)
    assert set(ids) == set(range(5, len(model.tokenizer)))  # the first five are special
    assert windows == effective_dimension._random_windows(model, 3000, 1, FakeRun(seed=4))


def test_a_text_shorter_than_what_is_left_out(tiny):
    found = explain(tiny("llama"), EffectiveDimension, prompt=SHORT, fill="random", skip=20).values
    assert (found["text_tokens"], found["random_tokens"], found["tokens"]) == (0, 320, 320)


def test_windows_are_independent_texts(tiny):
    """Two windows give what the covariance of both windows' rows gives."""
    model = tiny("gpt2")
    windows = [list(range(5, 60)), list(range(100, 160))]
    found = streams.spectra(model, windows, 1, FakeRun()).eigenvalues
    rows = [
        np.concatenate([model.lens(w)[layer + 1].double().numpy()[1:] for w in windows])
        for layer in range(3)
    ]
    for layer in range(3):
        expected = np.linalg.eigvalsh(np.cov(rows[layer].T, bias=True))[::-1]
        np.testing.assert_allclose(found[2, layer], expected, rtol=1e-4, atol=1e-8)


def test_layers_in_groups_change_nothing(tiny, monkeypatch):
    whole = explain(tiny("gemma2"), EffectiveDimension, prompt=LONG)
    monkeypatch.setattr(streams, "MEMORY", 3 * 32 * 32 * 8 * 2)
    run = FakeRun()
    pieces = explain(tiny("gemma2"), EffectiveDimension, prompt=LONG, run=run)
    assert run.forward == 2
    assert run.reports[-1][0] == run.reports[-1][1]
    for name in ("variance_share", "entropy_share", "spectrum"):
        np.testing.assert_array_equal(pieces.arrays[name], whole.arrays[name])


def test_where_the_last_module_is_not_all_that_is_added_the_difference_is_taken(tiny, monkeypatch):
    model = tiny("qwen2")
    whole = explain(model, EffectiveDimension, prompt=LONG)

    def half(output):
        return blocks.first(output) * 0.5

    monkeypatch.setattr(streams, "first", half)
    found = explain(model, EffectiveDimension, prompt=LONG)
    assert any("In 3 of 3 layers" in note for note in found.notes)
    for name in ("variance_share", "entropy_share"):
        np.testing.assert_allclose(found.arrays[name], whole.arrays[name], rtol=1e-4)


def test_bad_choices(tiny):
    for bad in ({"tokens_per_dimension": 0}, {"fill": "text"}, {"scree_layer": 0}, {"skip": -1}):
        with pytest.raises(ValidationError):
            EffectiveDimension.Parameters(**bad)
    with pytest.raises(InputError, match="3 layers"):
        explain(tiny("llama"), EffectiveDimension, prompt=LONG, scree_layer=4)
    with pytest.raises(InputError, match="no answer"):
        explain(tiny("llama"), EffectiveDimension, prompt=LONG, target=Target())
    assert explain(tiny("llama"), EffectiveDimension, prompt=LONG).values["layer"] == 1


@pytest.mark.model
@pytest.mark.slow
def test_the_bundled_model_adds_flat_attention_to_a_full_residual(smollm2):
    wanted = {"fill": "random", "tokens_per_dimension": 2}
    found = explain(smollm2, EffectiveDimension, prompt=SHORT, **wanted)
    attention, mlp, residual = found.arrays["entropy_share"].mean(axis=1)
    assert found.values["tokens"] == 2 * 576
    assert attention < 0.7 * mlp
    assert attention < 0.8 * residual
