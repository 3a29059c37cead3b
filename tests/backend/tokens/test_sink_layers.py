"""The measures of one layer and of one swept head against loops over written vectors."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from backend.tokens import sink_layers
from backend.tokens.attention_sinks import AttentionSinks
from tests.backend.tokens.passage import bias, explain, parts_of, sequence_of, vectors

ARCHITECTURES = ["llama", "qwen2", "gemma2", "gpt2", "gpt_neox"]
CLOSE = {"rtol": 2e-4, "atol": 2e-6}


def cosine(x, y):
    return float(x @ y / (np.linalg.norm(x) * np.linalg.norm(y)))


def attention_of(parts):
    return parts.attention.double().numpy()


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("sink", [0, 3])
def test_shares_and_norms_equal_loops_over_written_vectors(tiny, architecture, sink):
    model = tiny(architecture)
    arrays = explain(model, AttentionSinks, position=sink).arrays
    for layer, parts in enumerate(parts_of(model, sequence_of(model).ids)):
        T, A, b = vectors(parts), attention_of(parts), bias(parts)
        heads, length = A.shape[:2]
        rows = range(sink + 1, length)
        for h in range(heads):
            assert arrays["rates"][layer, h] == pytest.approx(
                np.mean([A[h, i, sink] for i in rows]), rel=1e-5
            )
        shares = np.zeros((heads, len(rows)))
        for k, i in enumerate(rows):
            o = T[:, i].sum(axis=(0, 1)) + b[i]
            for h in range(heads):
                shares[h, k] = T[h, i, sink] @ o / (o @ o)
        attention = np.mean([A[h, i, sink] for h in range(heads) for i in rows])
        contribution = np.mean([sum(shares[:, k]) for k in range(len(rows))])
        near = pytest.approx
        assert arrays["attention_share"][layer] == near(attention, rel=1e-5)
        assert arrays["contribution_share"][layer] == near(contribution, rel=2e-4, abs=2e-6)
        assert arrays["ratio"][layer] == near(attention / contribution, rel=1e-3)
        assert arrays["negative_share"][layer] == near((shares < 0).mean(), abs=1e-6)
        norms = [np.linalg.norm(T[h, i].sum(axis=0)) for h in range(heads) for i in rows]
        a = [A[h, i, sink] for h in range(heads) for i in rows]
        order = np.argsort(a, kind="stable")
        np.testing.assert_allclose(arrays["points/attention"][layer], np.array(a)[order], **CLOSE)
        np.testing.assert_allclose(arrays["points/norm"][layer], np.array(norms)[order], **CLOSE)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("sink", [0, 3])
def test_opposition_and_drift_equal_loops(tiny, architecture, sink):
    model = tiny(architecture)
    found = explain(model, AttentionSinks, position=sink)
    rows = found.values["rows"]
    assert rows == list(range(sink + 1, len(found.sequence)))
    for layer, parts in enumerate(parts_of(model, sequence_of(model).ids)):
        T, A = vectors(parts), attention_of(parts)
        x, after = parts.before.double().numpy(), parts.after.double().numpy()
        for k, i in enumerate(rows):
            own = T[:, i, sink].sum(axis=0)
            rest = np.delete(T[:, i], sink, axis=1).sum(axis=1)
            scaled = sum(rest[h] / (1 - A[h, i, sink]) for h in range(len(A)))
            update = rest.sum(axis=0)
            wanted = {
                "drift": 1 - cosine(x[i], after[i]),
                "drift_without": 1 - cosine(x[i], after[i] - own),
                "drift_renormalised": 1 - cosine(x[i], after[i] - own - update + scaled),
                "update_norm": np.linalg.norm(update),
            }
            if np.linalg.norm(own) > 1e-12:  # a sliding window may hide the sink
                wanted["opposition"] = -cosine(own, update)
            else:
                assert np.isnan(found.arrays["opposition"][layer, k])
            for name, value in wanted.items():
                np.testing.assert_allclose(found.arrays[name][layer, k], value, **CLOSE)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_sweep_is_the_parabola_of_one_head(tiny, architecture):
    model = tiny(architecture)
    found = explain(model, AttentionSinks, position=1, layer=2, head=3, query=4)
    assert {k: found.values["swept"][k] for k in ("layer", "head", "query")} == {
        "layer": 1,
        "head": 2,
        "query": 4,
    }
    parts = parts_of(model, sequence_of(model).ids)[1]
    T, A = vectors(parts)[2, 4], attention_of(parts)[2, 4]
    a = A[1]
    v0, u = T[1] / a, np.delete(T, 1, axis=0).sum(axis=0) / (1 - a)
    arrays = found.arrays
    sweep = arrays["curve/attention"].astype(float)
    np.testing.assert_allclose(sweep, np.linspace(0, 1, 101), atol=1e-7)
    written = [np.linalg.norm(s * v0 + (1 - s) * u) for s in np.linspace(0, 1, 101)]
    np.testing.assert_allclose(arrays["curve/norm"], written, rtol=1e-4)
    quadratic = [u @ u, 2 * u @ (v0 - u), (v0 - u) @ (v0 - u)]
    np.testing.assert_allclose(arrays["curve/quadratic"], quadratic, rtol=1e-3)
    assert arrays["curve/quadratic"][2] > 0
    best = u @ (u - v0) / ((u - v0) @ (u - v0))
    assert arrays["curve/minimum"][0] == pytest.approx(best, rel=1e-3)
    assert arrays["curve/actual"][0] == pytest.approx(a, rel=1e-5)
    real = np.linalg.norm(T.sum(axis=0))
    q = arrays["curve/quadratic"].astype(float)
    assert np.sqrt(q[0] + q[1] * a + q[2] * a * a) == pytest.approx(real, rel=1e-4)


def test_no_layers_tensors_are_kept(tiny):
    model = tiny("llama")
    for parts in parts_of(model, sequence_of(model).ids):
        measured = sink_layers.measure(sink_layers.after(parts, 0), 0)
        for field in dataclasses.fields(measured):
            kept = getattr(measured, field.name)
            for tensor in (parts.attention, parts.values, parts.before, parts.after):
                assert not np.shares_memory(kept, tensor.numpy()), field.name
