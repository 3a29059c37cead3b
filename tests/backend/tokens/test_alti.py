"""ALTI against its definition, written as loops."""

from __future__ import annotations

import numpy as np
import pytest

from backend.errors import Cancelled
from backend.tokens import matrices, written
from backend.tokens.alti import Alti
from tests.backend.tokens.passage import explain, parts_of, sequence_of, vectors
from tests.fake import FakeRun
from tests.tiny import ARCHITECTURES


def _shares(parts):
    """[N, N] rows summing to 1, by loops over queries and keys."""
    T = vectors(parts).sum(axis=0)
    x, m = parts.before.double().numpy(), parts.middle.double().numpy()
    n = len(m)
    closer = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            vector = T[i, j] + (x[i] if i == j else 0.0)
            closer[i, j] = max(0.0, np.abs(m[i]).sum() - np.abs(m[i] - vector).sum())
    return closer / closer.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("reading", ["rollout", "span", "received"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_scores_equal_the_definition(tiny, architecture, reading):
    model = tiny(architecture)
    found = explain(model, Alti, reading=reading)
    shares = [_shares(parts) for parts in parts_of(model, found.sequence.ids)]
    n, rows = len(found.sequence), [p - 1 for p in found.explained]
    if reading == "rollout":
        product = np.eye(n)
        for step in shares:
            product = step @ product
        expected = product[rows].mean(axis=0)
    elif reading == "span":
        expected = np.mean(shares, axis=0)[rows].mean(axis=0)
    else:
        mean = np.mean(shares, axis=0)
        expected = np.array([mean[j:, j].mean() for j in range(n)])
    stop = found.explained[0]
    np.testing.assert_allclose(found.arrays["scores"][:stop], expected[:stop], atol=2e-5)
    assert np.isnan(found.arrays["scores"][stop:]).all()


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_rows_are_shares(tiny, architecture):
    found = explain(tiny(architecture), Alti)
    shown = np.nansum(found.arrays["readings/rollout"])
    assert shown + found.values["left_out"] == pytest.approx(1.0, abs=1e-5)
    assert (np.nan_to_num(found.arrays["scores"]) >= 0).all()
    assert not found.signed


def test_blocks_of_one_row_change_nothing(tiny, monkeypatch):
    whole = explain(tiny("gpt2"), Alti).arrays["scores"]
    monkeypatch.setattr(written, "BLOCK_ELEMENTS", 1)
    np.testing.assert_allclose(explain(tiny("gpt2"), Alti).arrays["scores"], whole, atol=1e-6)


def test_over_the_budget_the_chain_is_made_where_it_is_chosen(tiny, monkeypatch):
    whole = explain(tiny("llama"), Alti)
    monkeypatch.setattr(matrices, "BUDGET", 3 * 4 * 4 * 3 * len(whole.sequence))
    part = explain(tiny("llama"), Alti)
    np.testing.assert_allclose(part.arrays["scores"], whole.arrays["scores"], atol=1e-6)
    rows = [p - 1 for p in whole.explained]
    np.testing.assert_allclose(
        part.arrays["attention"], whole.arrays["attention"][:, :, rows], atol=1e-6
    )
    np.testing.assert_allclose(part.arrays["layer_tokens"], whole.arrays["layer_tokens"], atol=1e-6)
    span = explain(tiny("llama"), Alti, reading="span")
    np.testing.assert_allclose(span.arrays["scores"], whole.arrays["readings/span"], atol=1e-6)
    assert "readings/rollout" not in span.arrays


def test_a_long_layer_can_be_stopped_inside(tiny):
    parts = parts_of(tiny("llama"), sequence_of(tiny("llama")).ids)[0]
    run = FakeRun(cancelled=True)
    with pytest.raises(Cancelled):
        written.proximity(parts, run.check_cancelled)
