"""Breast cancer: the carrier beside its library, medians, scales, parts."""

from __future__ import annotations

import numpy as np
import pytest

from backend.concepts import cancer
from tests.backend.concepts.carriers import carrier


@pytest.fixture(scope="module")
def arrays():
    return cancer.read(carrier("breast_cancer"))


def test_the_table_is_scikit_learns(arrays):
    from sklearn.datasets import load_breast_cancer

    known = load_breast_cancer()
    np.testing.assert_allclose(arrays["columns"], known.data, rtol=1e-6)
    np.testing.assert_array_equal(arrays["labels"], known.target)
    assert tuple(known.target_names) == cancer.CLASSES
    assert [f"mean {name}" for name in cancer.PROPERTIES] == list(known.feature_names[:10])


def test_concepts_are_means_above_their_median(arrays):
    data = cancer.data(arrays, seed=0)
    rows = [int(name.split()[1]) - 1 for name in data.training.references]
    means = arrays["columns"][rows, :10].astype(np.float64)
    np.testing.assert_array_equal(data.training.concepts, means > np.median(means, axis=0))
    assert abs(data.training.concepts.mean(axis=0) - 0.5).max() < 0.02
    rows = [int(name.split()[1]) - 1 for name in data.validation.references]
    np.testing.assert_array_equal(
        data.validation.concepts, arrays["columns"][rows, :10] > np.median(means, axis=0)
    )
    np.testing.assert_array_equal(data.validation.labels, arrays["labels"][rows])


def test_inputs_are_the_other_columns_standardised_on_training(arrays):
    data = cancer.data(arrays, seed=0)
    assert data.training.inputs.shape[1] == 20
    np.testing.assert_allclose(data.training.inputs.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(data.training.inputs.std(axis=0), 1, atol=1e-4)
    row = int(data.validation.references[7].split()[1]) - 1
    rows = [int(name.split()[1]) - 1 for name in data.training.references]
    others = arrays["columns"][:, 10:].astype(np.float64)
    expected = (others[row] - others[rows].mean(axis=0)) / others[rows].std(axis=0)
    np.testing.assert_allclose(data.validation.inputs[7], expected, rtol=1e-4, atol=1e-5)


def test_the_parts_share_no_row_and_have_equal_classes(arrays):
    data = cancer.data(arrays, seed=5)
    training, validation = set(data.training.references), set(data.validation.references)
    assert not training & validation
    assert (len(training), len(validation)) == (190, 379)
    assert abs(data.training.labels.mean() - data.validation.labels.mean()) < 0.01
    assert set(cancer.data(arrays, seed=5).training.references) == training
    assert set(cancer.data(arrays, seed=6).training.references) != training
