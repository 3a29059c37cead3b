"""Norm-based attention against the lengths of vectors built one by one."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from backend.tokens import matrices, written
from backend.tokens.attention_norm import AttentionNorm
from tests.backend.tokens.passage import explain, parts_of, sequence_of, vectors
from tests.tiny import ARCHITECTURES


def _lengths(parts, kind):
    """[Q, N] by loops over queries and keys."""
    T, x = vectors(parts), parts.before.double().numpy()
    _, count, length, _ = T.shape
    result = np.zeros((count, length))
    for i in range(count):
        for j in range(length):
            if kind == "heads":
                result[i, j] = sum(np.linalg.norm(T[h, i, j]) for h in range(len(T)))
            else:
                whole = T[:, i, j].sum(axis=0)
                if kind == "block" and j == int(parts.queries[i]):
                    whole = whole + x[j]
                result[i, j] = np.linalg.norm(whole)
    return result


@pytest.mark.parametrize("normalisation", ["row", "none"])
@pytest.mark.parametrize("kind", ["heads", "token", "block"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_lengths_equal_a_plain_loop(tiny, architecture, kind, normalisation):
    model = tiny(architecture)
    found = explain(model, AttentionNorm, vectors=kind, normalisation=normalisation)
    queries = [p - 1 for p in found.explained]
    rows = []
    for parts in parts_of(model, found.sequence.ids):
        heads = np.linalg.norm(vectors(parts), axis=-1)
        ours = found.arrays["contributions"][parts.index]
        np.testing.assert_allclose(ours, heads, rtol=1e-3, atol=1e-5)
        lengths = _lengths(parts, kind)
        if normalisation == "row":
            lengths /= lengths.sum(axis=1, keepdims=True)
        rows.append(lengths[queries].mean(axis=0))
    expected = np.mean(rows, axis=0)
    stop = found.explained[0]
    np.testing.assert_allclose(found.arrays["scores"][:stop], expected[:stop], rtol=1e-3)
    assert (found.arrays["attention"].sum(axis=3) > 0.999).all()


def test_heads_that_cancel_have_a_long_sum_of_lengths_and_no_length_of_the_sum(tiny):
    parts = parts_of(tiny("llama"), sequence_of(tiny("llama")).ids)[0]
    opposite = dataclasses.replace(
        parts,
        attention=parts.attention[:1].repeat(2, 1, 1),
        values=parts.values[:1].repeat(2, 1, 1),
        weight=torch.cat([parts.weight[:1], -parts.weight[:1]]),
    )
    assert written.head_lengths(opposite).sum() > 1
    assert written.token_lengths(opposite).max() < 1e-6


@pytest.mark.parametrize("kind", ["heads", "token", "block"])
def test_over_the_budget_rows_and_scores_are_the_same(tiny, monkeypatch, kind):
    whole = explain(tiny("gemma2"), AttentionNorm, vectors=kind)
    monkeypatch.setattr(matrices, "BUDGET", 3 * 4 * 8 * 3 * len(whole.sequence))
    rows = [p - 1 for p in whole.explained]
    for reading in ("span", "received"):
        part = explain(tiny("gemma2"), AttentionNorm, vectors=kind, reading=reading)
        assert part.values["queries"] == rows
        expected = whole.arrays["contributions"][:, :, rows]
        np.testing.assert_allclose(part.arrays["contributions"], expected, rtol=1e-4, atol=1e-6)
        stop = whole.explained[0]
        np.testing.assert_allclose(
            part.arrays["scores"][:stop], whole.arrays[f"readings/{reading}"][:stop], rtol=1e-4
        )


def test_a_gain_that_is_no_product_is_refused(tiny):
    parts = parts_of(tiny("gemma2"), sequence_of(tiny("gemma2")).ids)[0]
    odd = parts.gain.clone()
    odd[1, 0] *= 2
    with pytest.raises(ValueError, match="factor per query"):
        written.token_lengths(dataclasses.replace(parts, gain=odd))
