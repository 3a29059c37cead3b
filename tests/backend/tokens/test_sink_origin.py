"""The origin of sinks against plain loops in float64, and on the bundled model."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from backend.errors import InputError
from backend.tokens import blocks, feed_forward
from backend.tokens.attention import Intervention, intervening
from backend.tokens.explanation import Prompt, Target
from backend.tokens.sink_origin import SinkOrigin, onset
from backend.tokens.sink_position import query_rows
from tests.backend.tokens.passage import explain, parts_of, sequence_of
from tests.fake import FakeRun

FAMILIES = ["gpt2", "llama", "qwen2", "qwen3", "gemma2", "gpt_neox", "phi3"]


def heard(model, ids):
    """Per layer, float64: down-projection input, projection's input and output, q, k, MLP input."""
    seen = [{} for _ in model.blocks]
    hooks, count = [], [0]
    for at, block in zip(seen, model.blocks, strict=True):
        mlp = feed_forward.find(block)
        for name, module, when in (
            ("act", mlp.down, "before"),
            ("x", mlp.module, "before"),
            ("z", block.projection, "before"),
            ("o", block.projection, "after"),
        ):
            hooks.append((module, when, _keep(at, name)))

    def states(_module, heads):
        q, k = heads.query[0], heads.key[0]
        seen[count[0]].update(q=q.double().numpy(), k=k.double().numpy())
        count[0] += 1

    with (
        torch.no_grad(),
        intervening(model, Intervention(heads=states)),
        blocks.hooked(hooks),
    ):
        model.hf.base_model(input_ids=torch.tensor([list(ids)]), use_cache=False)
    return seen


def _keep(at, name):
    def hook(_module, args, output):
        x = output if isinstance(output, torch.Tensor) else args[0]
        at[name] = x[0].double().numpy().copy()

    return hook


def sink_by_loops(parts):
    """Mean received attention [N] and the sink, by loops over layers, heads, queries and keys."""
    A = np.stack([p.attention.double().numpy() for p in parts])
    N = A.shape[-1]
    received = np.full(N, np.nan)
    for j in range(N - 1):
        received[j] = np.mean([A[:, :, i, j].mean() for i in range(j + 1, N)])
    candidates = [j for j in range(N - 1) if N - 1 - j >= (N - 1) / 4]
    return A, received, max(candidates, key=lambda j: received[j])


@pytest.mark.parametrize("architecture", FAMILIES)
def test_the_sink_its_attention_and_its_onset(tiny, architecture):
    model = tiny(architecture)
    found = explain(model, SinkOrigin)
    A, received, sink = sink_by_loops(parts_of(model, found.sequence.ids))
    N = len(received)
    np.testing.assert_allclose(found.arrays["received"], received, rtol=1e-5)
    assert found.values["sink"] == sink
    later = range(sink + 1, N)
    ours = [[np.mean([A[n, h, i, sink] for i in later]) for h in range(4)] for n in range(3)]
    np.testing.assert_allclose(found.arrays["attention_sink"], ours, rtol=1e-5)
    rest = [
        np.mean([A[n, :, i, j].mean() for i in later for j in range(i + 1) if j != sink])
        for n in range(3)
    ]
    np.testing.assert_allclose(found.arrays["attention_others"], rest, rtol=1e-4)
    means = np.mean(ours, axis=1)
    assert found.values["onset"] == next(n for n in range(3) if means[n] >= 0.8 * means.max())


@pytest.mark.parametrize("architecture", FAMILIES)
def test_spread_norm_dominance_and_rank(tiny, architecture):
    model = tiny(architecture)
    found = explain(model, SinkOrigin)
    arrays, ids = found.arrays, found.sequence.ids
    for layer, seen in enumerate(heard(model, ids)):
        np.testing.assert_allclose(arrays["spread_in"][layer], seen["z"].std(axis=1), rtol=1e-4)
        np.testing.assert_allclose(arrays["spread_out"][layer], seen["o"].std(axis=1), rtol=1e-4)
    residuals = model.lens(ids).double().numpy()
    assert arrays["norm"].shape == arrays["dominance"].shape == residuals.shape[:2]
    for depth, x in enumerate(residuals):
        np.testing.assert_allclose(arrays["norm"][depth], np.linalg.norm(x, axis=1), rtol=1e-5)
        expected = np.abs(x).max(axis=1) / np.abs(x).mean(axis=1)
        np.testing.assert_allclose(arrays["dominance"][depth], expected, rtol=1e-5)
        assert arrays["dimension"][depth] == np.abs(x[found.values["sink"]]).argmax()
    for layer, x in enumerate(residuals[1:]):
        s = np.linalg.svd(x, compute_uv=False)
        p = s / s.sum()
        assert arrays["rank"][layer] == pytest.approx(np.exp(-(p * np.log(p)).sum()), rel=1e-5)


@pytest.mark.parametrize("architecture", FAMILIES)
def test_heard_queries_and_keys_are_those_of_the_attention(tiny, architecture):
    """Position encoding and norms included: their softmax is the captured attention."""
    model = tiny(architecture)
    ids = sequence_of(model).ids[:6]  # within the sliding window of gemma2
    cap = getattr(model.hf.config, "attn_logit_softcapping", None)
    for seen, parts in zip(heard(model, ids), parts_of(model, ids), strict=True):
        k = np.repeat(seen["k"], 4 // len(seen["k"]), axis=0)
        scale = getattr(model.hf.config, "query_pre_attn_scalar", seen["q"].shape[-1]) ** -0.5
        scores = seen["q"] @ k.transpose(0, 2, 1) * scale
        scores = cap * np.tanh(scores / cap) if cap else scores
        scores = np.where(np.tril(np.ones((6, 6))) > 0, scores, -np.inf)
        A = np.exp(scores - scores.max(axis=-1, keepdims=True))
        np.testing.assert_allclose(A / A.sum(axis=-1, keepdims=True), parts.attention, atol=1e-5)


@pytest.mark.parametrize("architecture", FAMILIES)
def test_locking_by_loops_over_pairs(tiny, architecture):
    model = tiny(architecture)
    found = explain(model, SinkOrigin)
    sink, N = found.values["sink"], len(found.sequence)
    for layer, seen in enumerate(heard(model, found.sequence.ids)):
        q, k = seen["q"], seen["k"]
        for head in range(4):
            keys = k[head // (4 // len(k))]

            def cosine(i, j, head=head, keys=keys, q=q):
                a, b = q[head, i], keys[j]
                return a @ b / (np.linalg.norm(a) * np.linalg.norm(b))

            ours = [cosine(i, sink) for i in range(sink + 1, N)]
            others = [cosine(i, j) for i in range(N) for j in range(i) if j != sink]
            at = (layer, head)
            assert found.arrays["locking_sink"][at] == pytest.approx(np.mean(ours), abs=1e-5)
            assert found.arrays["locking_others"][at] == pytest.approx(np.mean(others), abs=1e-5)
            assert found.arrays["locking_positive"][at] == pytest.approx(
                np.mean(np.array(ours) > 0)
            )


@pytest.mark.parametrize("architecture", FAMILIES)
def test_neurons_by_loops(tiny, architecture):
    model = tiny(architecture)
    found = explain(model, SinkOrigin, neurons=3)
    arrays, values, sink = found.arrays, found.values, found.values["sink"]
    layers, best = heard(model, found.sequence.ids), []
    for layer, seen in enumerate(layers):
        a = np.abs(seen["act"])
        others = np.delete(a, sink, axis=0)
        ratio = a[sink] / np.maximum(np.median(others, axis=0), np.median(others))
        assert arrays["neuron_of_layer"][layer] == ratio.argmax()
        assert arrays["neuron_ratio"][layer] == pytest.approx(ratio.max(), rel=1e-3)
        best.append(ratio)
    layer = int(np.argmax([r.max() for r in best]))
    assert values["neuron_layer"] == layer
    top = np.argsort(-best[layer])[:3]
    np.testing.assert_array_equal(arrays["neurons"], top)
    np.testing.assert_allclose(
        arrays["neuron_activation"], layers[layer]["act"][:, top].T, rtol=1e-3
    )
    parts = feed_forward.find(model.blocks[layer])
    columns = parts.columns().double().numpy()
    np.testing.assert_allclose(arrays["neuron_columns"], columns[top], rtol=1e-5)
    centred = columns - columns.mean(axis=1, keepdims=True)
    expected = (centred**4).mean(axis=1) / (centred**2).mean(axis=1) ** 2
    np.testing.assert_allclose(arrays["column_kurtosis"], expected, rtol=1e-4)
    assert values["dimensions"] == np.argsort(-np.abs(columns[top[0]]))[:10].tolist()
    rows = parts.gate_rows() if parts.gated else parts.up_rows()
    x, row = layers[layer]["x"], rows.double().numpy()[top]
    cosines = row @ x.T / np.outer(np.linalg.norm(row, axis=1), np.linalg.norm(x, axis=1))
    np.testing.assert_allclose(arrays["read_cosine"], cosines, atol=1e-5)
    assert ("gate_norm" in arrays) == parts.gated == values["gated"]


def test_a_mixture_of_experts_says_what_is_missing(tiny):
    found = explain(tiny("mixtral"), SinkOrigin)
    assert found.values["missing_mlp"] == [0, 1, 2]
    assert np.isnan(found.arrays["neuron_ratio"]).all()
    assert (found.arrays["neuron_of_layer"] == -1).all()
    assert "neurons" not in found.arrays
    assert "neuron_layer" not in found.values
    assert any("super neurons" in note and "No layer" in note for note in found.notes)
    assert np.isfinite(found.arrays["locking_sink"]).all()


def test_a_long_text_takes_some_rows_and_says_so(tiny, fake_run):
    model, prompt = tiny("llama"), Prompt.of("The river runs by the old mill. " * 12)
    found = explain(model, SinkOrigin, prompt=prompt, run=fake_run, most_rows=20)
    N = len(found.sequence)
    rows = query_rows(N, 20)
    assert len(rows) == found.values["rows"] == 20
    assert (rows[0], rows[-1]) == (0, N - 1)
    assert any(f"20 of {N:,} query rows" in note for note in found.notes)
    A = np.stack([p.attention.double().numpy() for p in parts_of(model, found.sequence.ids)])
    for j in (0, 3, N - 2):
        expected = np.mean([A[:, :, i, j].mean() for i in rows if i > j])
        assert found.arrays["received"][j] == pytest.approx(expected, rel=1e-4)
    assert np.isnan(found.arrays["received"][-1])
    assert fake_run.forward == 2
    assert fake_run.reports[-1][:2] == (6, 6)
    assert [done for done, _, _ in fake_run.reports] == [1, 2, 3, 4, 5, 6]


def test_onset_is_the_first_layer_near_the_largest():
    assert onset(np.array([0.1, 0.39, 0.4, 0.5, 0.2])) == 2
    assert onset(np.array([0.5, 0.1])) == 0


def test_two_tokens_and_bad_choices(tiny):
    found = explain(tiny("llama"), SinkOrigin, prompt=Prompt.of("T"), target=Target(ids=(70,)))
    assert len(found.sequence) == 2
    assert found.values["sink"] == 0
    assert np.isnan(found.arrays["locking_others"]).all()
    assert np.isfinite(found.arrays["neuron_ratio"]).all()
    with pytest.raises(ValidationError):
        SinkOrigin.Parameters(most_rows=1)
    with pytest.raises(ValidationError):
        SinkOrigin.Parameters(neurons=0)
    with pytest.raises(InputError, match="no answer to explain"):
        explain(tiny("llama"), SinkOrigin, target=Target())


@pytest.mark.model
def test_the_bundled_model(smollm2):
    text = "The capital of France is Paris. The river runs by the old mill and the wind is cold."
    ids = tuple(smollm2.tokenizer(" Anna gave Ben the book.")["input_ids"])
    run = FakeRun()
    found = explain(smollm2, SinkOrigin, prompt=Prompt.of(text), target=Target(ids=ids), run=run)
    arrays, values = found.arrays, found.values
    assert values["sink"] == 0
    means = arrays["attention_sink"].mean(axis=1)
    assert means[values["onset"]] >= 0.8 * means.max()
    assert (means[12:] > 5 * arrays["attention_others"][12:]).all()
    # One neuron of the twelfth layer pushes the first token into one dimension, which lasts.
    assert (values["neuron_layer"], int(arrays["neurons"][0])) == (11, 1229)
    assert values["dimensions"][0] == 507
    assert (arrays["dimension"][12:29] == 507).all()
    sink, others = arrays["dominance"][12:28, 0], arrays["dominance"][12:28, 1:].mean(axis=1)
    assert (sink > 5 * others).all()
    assert (arrays["norm"][12:28, 0] > 10 * arrays["norm"][12:28, 1:].mean(axis=1)).all()
    assert arrays["rank"][11] < 0.2 * arrays["rank"][10]
    assert (arrays["locking_sink"][12:].mean(axis=1) > 0.2).all()
    assert (arrays["locking_others"][12:].mean(axis=1) < 0.1).all()
