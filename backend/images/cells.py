"""Maps by cells of a coarse grid: what is compared of two maps, whose pixels hang together."""

from __future__ import annotations

import numpy as np

CELLS = 14
"""Cells a side."""


def cell_numbers(shape: tuple[int, int]) -> np.ndarray:
    """[h, w] int: the number of each pixel's cell, row by row."""
    rows, columns = (np.arange(side) * CELLS // side for side in shape)
    return np.asarray(rows[:, None] * CELLS + columns[None, :])


def pooled(scores: np.ndarray) -> np.ndarray:
    """[CELLS²] float64: the mean of a map [h, w] over each cell; of a smaller map, its pixels."""
    if min(scores.shape) < CELLS:
        return scores.ravel().astype(np.float64)
    cells = cell_numbers((scores.shape[0], scores.shape[1])).ravel()
    sums = np.bincount(cells, weights=scores.ravel().astype(np.float64), minlength=CELLS**2)
    return np.asarray(sums / np.bincount(cells, minlength=CELLS**2))
