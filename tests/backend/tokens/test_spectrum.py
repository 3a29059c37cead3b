"""Counts of directions where the answer is known, and against numpy's own decomposition."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from backend.tokens.spectrum import Covariance, entropy_rank, singular_values, variance_count


def test_a_cloud_even_in_k_directions_has_k_of_them():
    rng = np.random.default_rng(0)
    for width, k in ((12, 5), (40, 40), (9, 1)):
        basis = np.linalg.qr(rng.normal(size=(width, width)))[0][:, :k]
        # Plus and minus each direction: the mean is exactly 0 and all eigenvalues are equal.
        rows = np.concatenate([basis.T, -basis.T]) * 3.0 + 100.0
        covariance = Covariance(width, "cpu")
        for part in np.array_split(rows, 3):
            covariance.add(torch.from_numpy(part))
        values = covariance.eigenvalues()
        assert covariance.count == 2 * k
        np.testing.assert_allclose(values[:k], 9.0 / k, rtol=1e-9)
        np.testing.assert_allclose(values[k:], 0.0, atol=1e-10)
        assert entropy_rank(np.sqrt(values)) == pytest.approx(k, rel=1e-4)
        assert variance_count(values) == int(np.ceil(0.99 * k))


def test_portions_equal_numpy_on_all_rows_at_once():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(50, 7)) * rng.uniform(0.1, 5.0, size=7) + 30.0
    covariance = Covariance(7, "cpu")
    covariance.add(torch.from_numpy(rows[:1]))
    covariance.add(torch.from_numpy(rows[1:]))
    expected = np.sort(np.linalg.eigvalsh(np.cov(rows.T, bias=True)))[::-1]
    np.testing.assert_allclose(covariance.eigenvalues(), expected, rtol=1e-9)
    s = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False)
    p = s / s.sum()
    expected_rank = np.exp(-(p * np.log(p)).sum())
    assert entropy_rank(np.sqrt(covariance.eigenvalues())) == pytest.approx(expected_rank)


def test_counting_variance_by_hand():
    assert variance_count(np.array([90.0, 9.0, 1.0])) == 2
    assert variance_count(np.array([90.0, 8.9, 1.1])) == 3
    assert variance_count(np.array([1.0, 0.0])) == 1
    assert variance_count(np.array([6.0, 3.0, 1.0]), share=0.6) == 1
    assert variance_count(np.zeros(4)) == 0
    assert entropy_rank(np.zeros(4)) == 0.0
    assert entropy_rank(np.array([2.0, 1.0, 1.0])) == pytest.approx(2.0**1.5)


@pytest.mark.parametrize("shape", [(5, 9), (9, 5), (6, 6), (1, 4)])
def test_singular_values_of_either_shape(shape):
    rows = np.random.default_rng(2).normal(size=shape)
    found = singular_values(torch.from_numpy(rows))
    np.testing.assert_allclose(found, np.linalg.svd(rows, compute_uv=False), rtol=1e-8)


def test_no_rows_have_no_covariance():
    with pytest.raises(ValueError, match="no rows"):
        Covariance(3, "cpu").eigenvalues()
