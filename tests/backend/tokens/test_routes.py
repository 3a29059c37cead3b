"""Routes into a span equal loops over heads, queries and keys, on every kind of block."""

from __future__ import annotations

import numpy as np
import pytest

from backend.errors import Cancelled
from backend.tokens import routes
from tests.backend.tokens.passage import parts_of, sequence_of, vectors
from tests.fake import FakeRun

ARCHITECTURES = ["llama", "qwen2", "qwen3", "gemma2", "gpt2", "gpt_neox", "phi3"]


def prox(part, whole):
    """max(0, ||y|| - ||y - z||) in L1, over the last axis."""
    return np.maximum(0.0, np.abs(whole).sum(-1) - np.abs(whole - part).sum(-1))


def by_loops(parts, positions, weights):
    """Tokens [N], heads [H], residual and feed-forward share of one layer, in float64."""
    T = vectors(parts)  # [H, Q, N, d], every row
    w = np.asarray(weights, dtype=np.float64)
    at = list(positions)
    middle, before = parts.middle.double().numpy()[at], parts.before.double().numpy()[at]
    whole, residual = w @ middle, prox(w @ before, w @ middle)
    near = prox(np.einsum("q,hqnd->hnd", w, T[:, at]), whole)
    total = near.sum() + residual
    after = w @ parts.after.double().numpy()[at]
    mlp, stream = prox(after - whole, after), prox(whole, after)
    return near.sum(0) / total, near.sum(1) / total, residual / total, mlp / (mlp + stream)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("weights", [[1, 1, 1], [0.2, 0.0, 0.7]])
def test_a_span_equals_loops(architecture, weights, tiny):
    model = tiny(architecture)
    ids = sequence_of(model).ids
    positions = [len(ids) - 5, len(ids) - 3, len(ids) - 2]
    found = routes.of_span(model, ids, positions, FakeRun(), weights=np.array(weights))
    for parts in parts_of(model, ids):
        tokens, heads, residual, feed_forward = by_loops(parts, positions, weights)
        layer = parts.index
        np.testing.assert_allclose(found.tokens[layer], tokens, atol=1e-5)
        np.testing.assert_allclose(found.heads[layer], heads, atol=1e-5)
        np.testing.assert_allclose(found.residual[layer], residual, atol=1e-5)
        np.testing.assert_allclose(found.feed_forward[layer], feed_forward, atol=1e-5)
        assert not found.tokens[layer, positions[-1] + 1 :].any()


@pytest.mark.parametrize("architecture", ["llama", "gemma2", "gpt2"])
def test_each_position_is_the_mean_of_spans_of_one(architecture, tiny):
    model = tiny(architecture)
    ids = sequence_of(model).ids
    positions = [3, 5, len(ids) - 1]
    alone = [routes.of_span(model, ids, [p], FakeRun()) for p in positions]
    found = routes.of_each(model, ids, positions, FakeRun())
    for name in ("tokens", "heads", "residual", "feed_forward", "attention"):
        mean = np.mean([getattr(one, name) for one in alone], axis=0)
        np.testing.assert_allclose(getattr(found, name), mean, atol=2e-6, err_msg=name)


def test_a_sliding_window_lets_no_route_past_it(tiny):
    model = tiny("mistral", sliding_window=4)
    ids = tuple(range(5, 25))
    found = routes.of_span(model, ids, [18, 19], FakeRun())
    assert found.tokens[:, 15:20].all()
    assert not found.tokens[:, :15].any()


def test_shares_do_not_change_with_the_weights_scale(tiny):
    model = tiny("llama")
    ids = sequence_of(model).ids
    one, other = (
        routes.of_span(model, ids, [4, 6], FakeRun(), weights=scale * np.array([1.0, 3.0]))
        for scale in (1, 1000)
    )
    np.testing.assert_allclose(one.tokens, other.tokens, atol=1e-6)


@pytest.mark.parametrize("architecture", ["llama", "gemma2", "gpt_neox"])
def test_tokens_and_residual_share_each_layer(architecture, tiny):
    model = tiny(architecture)
    found = routes.of_span(model, sequence_of(model).ids, [5, 6, 7], FakeRun())
    np.testing.assert_allclose(found.tokens.sum(axis=1) + found.residual, 1.0, atol=1e-5)
    np.testing.assert_allclose(found.heads.sum(axis=1) + found.residual, 1.0, atol=1e-5)
    assert (found.tokens >= 0).all()


def test_small_routes_are_dropped(tiny):
    model = tiny("llama")
    ids = sequence_of(model).ids
    parts = parts_of(model, ids)[0]
    near = prox(vectors(parts)[:, 7], parts.middle.double().numpy()[7])
    threshold = float(np.median(near[near > 0]))
    found = routes.of_span(model, ids, [7], FakeRun(), threshold=threshold)
    kept = np.where(near >= threshold, near, 0.0).sum(axis=0)
    assert (found.tokens[0] > 0).sum() == (kept > 0).sum() < (near.sum(axis=0) > 0).sum()
    np.testing.assert_allclose(
        found.tokens[0] / found.tokens[0].sum(), kept / kept.sum(), atol=1e-5
    )


def test_each_position_stops_when_cancelled(tiny):
    model = tiny("llama")
    ids = sequence_of(model).ids
    with pytest.raises(Cancelled):
        routes.of_each(model, ids, [4, 5], FakeRun(cancel_after=2))
