"""Attention rollout against a plain product of matrices."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from backend.tokens import readings
from backend.tokens.attention_rollout import AttentionRollout
from backend.tokens.explanation import Target
from tests.backend.tokens.passage import explain, parts_of
from tests.tiny import ARCHITECTURES


def _rollout(model, found, residual=0.5, layers=slice(None)):
    """Mean row of the product over the explained queries, by loops."""
    n = len(found.sequence)
    product = np.eye(n)
    for parts in parts_of(model, found.sequence.ids)[layers]:
        A = parts.attention.double().numpy()
        B = np.zeros((n, n))
        for i in range(n):
            for j in range(n):
                B[i, j] = (1 - residual) * A[:, i, j].mean() + residual * (i == j)
            B[i] /= B[i].sum()
        product = B @ product
    return product[[p - 1 for p in found.explained]].mean(axis=0)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_rollout_equals_a_plain_product(tiny, architecture):
    model = tiny(architecture)
    found = explain(model, AttentionRollout)
    expected = _rollout(model, found)
    stop = found.explained[0]
    np.testing.assert_allclose(found.arrays["scores"][:stop], expected[:stop], atol=1e-6)
    assert np.isnan(found.arrays["scores"][stop:]).all()
    assert expected.sum() == pytest.approx(1.0)
    assert found.values["left_out"] == pytest.approx(expected[stop:].sum(), abs=1e-6)


@pytest.mark.parametrize("residual", [0.0, 0.25, 1.0])
def test_the_residual_share_and_the_layer_range_count(tiny, residual):
    model, target = tiny("llama"), Target(ids=(70, 80), span=(0,))
    found = explain(model, AttentionRollout, residual=residual, layer_to=2, target=target)
    expected = _rollout(model, found, residual, slice(0, 2))
    stop = found.explained[0]
    np.testing.assert_allclose(found.arrays["scores"][:stop], expected[:stop], atol=1e-6)
    if residual == 1.0:  # nothing moves: the query keeps all of itself
        assert found.arrays["scores"][stop - 1] == pytest.approx(1.0)


def test_multiplying_out_early_changes_nothing(tiny, monkeypatch):
    kept = explain(tiny("llama"), AttentionRollout).arrays["scores"]
    monkeypatch.setattr(readings, "CHAIN_BYTES", 1)
    multiplied = explain(tiny("llama"), AttentionRollout).arrays["scores"]
    np.testing.assert_allclose(multiplied, kept, atol=1e-6)


@pytest.mark.parametrize("residual", [-0.1, 1.1])
def test_a_residual_share_outside_zero_to_one_is_refused(residual):
    with pytest.raises(ValidationError):
        AttentionRollout.Parameters(residual=residual)
