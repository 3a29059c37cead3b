"""A remembered pass gives the same numbers as a new one, and never outgrows its memory."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from backend.errors import Cancelled
from backend.tokens import routes
from backend.tokens.states import Kept, each_layer
from tests.backend.tokens.passage import parts_of
from tests.fake import FakeRun

IDS = tuple(range(5, 20))


@pytest.fixture
def model(tiny, monkeypatch):
    def build(architecture="llama", **changes):
        found = tiny(architecture, **changes)
        monkeypatch.setattr(found, "kept", Kept(10**9))
        return found

    return build


def layers_of(model, ids=IDS, run=None):
    found = []
    each_layer(model, ids, found.append, run or FakeRun())
    return found


@pytest.mark.parametrize("architecture", ["llama", "qwen2", "qwen3", "gemma2", "gpt2", "gpt_neox"])
def test_rows_and_values_are_those_of_a_capture(architecture, model):
    found = model(architecture)
    for layer, parts in zip(layers_of(found), parts_of(found, IDS), strict=True):
        at = torch.tensor([2, 7, 11])
        rows = layer.rows(at)
        torch.testing.assert_close(rows, parts.attention[:, at, :12], atol=1e-6, rtol=1e-5)
        values = layer.values(len(IDS)).repeat_interleave(
            found.heads // found.kv_heads if architecture not in ("gpt2", "gpt_neox") else 1, dim=0
        )
        torch.testing.assert_close(values, parts.values, atol=1e-6, rtol=1e-5)
        written = torch.einsum("hqn,hne,hed->qd", parts.attention, parts.values, layer.weight())
        if layer.query_gain is not None:
            written = written * layer.query_gain[:, None]
        if parts.bias is None:
            torch.testing.assert_close(written, layer.middle - layer.before, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("architecture", ["llama", "qwen3", "gemma2", "gpt2", "gpt_neox"])
def test_attended_is_the_weighted_sum_of_the_rows(architecture, model, monkeypatch):
    found = model(architecture)
    monkeypatch.setattr("backend.tokens.weighted_rows.ROWS", 3)
    at, w = torch.tensor([1, 2, 4, 5, 9, 10, 12]), torch.tensor([0.3, 0.1, 0.5, 2, 0.7, 1, 0.2])
    with_normaliser = 0
    for layer, parts in zip(layers_of(found), parts_of(found, IDS), strict=True):
        expected = torch.einsum("q,hqn->hn", w, parts.attention[:, at, :13])
        torch.testing.assert_close(layer.attended(at, w), expected, atol=1e-6, rtol=1e-5)
        with_normaliser += layer.heads.normaliser is not None
    assert bool(with_normaliser) == (architecture != "gemma2")  # a soft cap has rows of its own


def test_the_second_time_no_pass_is_made(model):
    found, first, second = model(), FakeRun(), FakeRun()
    one = routes.of_span(found, IDS, [9, 10], first)
    other = routes.of_span(found, IDS, [9, 10], second)
    assert (first.forward, second.forward) == (1, 0)
    np.testing.assert_array_equal(one.tokens, other.tokens)


def test_a_pass_that_does_not_fit_is_streamed_with_the_same_numbers(model):
    found = model()
    one = routes.of_span(found, IDS, [9, 10], FakeRun())
    found.kept = Kept(10)
    runs = [FakeRun(), FakeRun()]
    others = [routes.of_span(found, IDS, [9, 10], run) for run in runs]
    assert [run.forward for run in runs] == [1, 1]
    assert found.kept.size() == 0
    for other in others:
        np.testing.assert_array_equal(one.tokens, other.tokens)


def test_the_least_recently_used_pass_goes_first(model):
    found = model()
    layers_of(found)
    found.kept.budget = int(found.kept.size() * 2.5)
    a, b, c = IDS, IDS[::-1], tuple(reversed(range(6, 21)))
    layers_of(found, b)
    layers_of(found, a)
    layers_of(found, c)
    assert list(found.kept.passes) == [a, c]
    assert found.kept.size() <= found.kept.budget


def test_memory_is_counted_in_full(model):
    found = model("qwen2")
    layers_of(found)
    width, heads, kv, e = found.width, found.heads, found.kv_heads, found.head_width
    numbers = found.layers * len(IDS) * (2 * width + (heads + 2 * kv) * e + heads)
    assert found.kept.size() == 4 * numbers


def test_a_cancelled_pass_is_not_remembered(model):
    found = model()
    with pytest.raises(Cancelled):
        layers_of(found, run=FakeRun(cancel_after=1))
    assert not found.kept.passes
    assert found.kept.size() == 0
