"""Cells of a coarse grid: means by hand, and what of two maps is compared."""

from __future__ import annotations

import numpy as np
import pytest

from backend.images.cells import CELLS, cell_numbers, pooled
from backend.images.grad_cam import GradCam
from tests.backend.images.made import explain


def test_cells_of_equal_size_are_block_means():
    scores = np.random.default_rng(0).normal(size=(28, 42))
    expected = scores.reshape(14, 2, 14, 3).mean(axis=(1, 3)).ravel()
    np.testing.assert_allclose(pooled(scores), expected)


@pytest.mark.parametrize("shape", [(14, 14), (15, 29), (32, 32), (224, 224)])
def test_each_cell_is_the_mean_of_its_pixels(shape):
    scores = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    cells = {}
    for (row, column), score in np.ndenumerate(scores):
        key = (row * CELLS // shape[0], column * CELLS // shape[1])
        cells.setdefault(key, []).append(float(score))
    assert len(cells) == CELLS**2
    expected = [np.mean(cells[divmod(i, CELLS)]) for i in range(CELLS**2)]
    found = pooled(scores)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_cells_are_numbered_row_by_row():
    numbers = cell_numbers((28, 28))
    np.testing.assert_array_equal(numbers[::2, ::2], np.arange(196).reshape(14, 14))


@pytest.mark.parametrize("shape", [(4, 4), (13, 40), (40, 13)])
def test_a_smaller_map_is_its_pixels(shape):
    scores = np.random.default_rng(2).normal(size=shape)
    np.testing.assert_array_equal(pooled(scores), scores.ravel())


def test_maps_are_compared_by_their_cells(cnn, photos):
    found = explain(GradCam, cnn, photos, image=1)
    compared = found.explanation.compared()
    assert compared.shape == (CELLS**2,)
    assert np.ptp(compared) > 0
    np.testing.assert_array_equal(compared, pooled(found.scores))
