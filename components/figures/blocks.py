"""Reduce a query × key matrix to what a screen can show, keeping its sums."""

from __future__ import annotations

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True, eq=False)
class Grid:
    """A matrix with the span of tokens behind each row and column.

    values: [rows, columns] float32; NaN where nothing is defined (keys after the query).
    undefined: [rows, columns] bool; where a query may read a key and the method gave no value.
    rows, columns: half-open spans, of query indices and of key positions.
    """

    values: np.ndarray
    undefined: np.ndarray
    rows: tuple[tuple[int, int], ...]
    columns: tuple[tuple[int, int], ...]

    @property
    def reduced(self) -> bool:
        """Whether any row or column stands for several tokens."""
        return any(b - a > 1 for a, b in (*self.rows, *self.columns))


def grid(matrix: np.ndarray, queries: np.ndarray, most: int) -> Grid:
    """Blank the keys after each query, then join neighbours until `most` a side are left.

    Keys of a block are summed and its queries averaged, so that a row still sums to what its
    queries' rows sum to on average.

    Args:
        matrix: [Q, N].
        queries: [Q] positions of the queries among the N tokens.
        most: largest number of rows and of columns.
    """
    rows, columns = _spans(matrix.shape[0], most), _spans(matrix.shape[1], most)
    seen = np.arange(matrix.shape[1])[None, :] <= queries[:, None]
    known = seen & ~np.isnan(matrix)
    sums = _reduce(np.where(known, matrix, 0.0).astype(np.float64), rows, columns)
    counts = np.diff([a for a, _ in rows] + [matrix.shape[0]])
    values = np.where(
        _reduce(known.astype(np.float64), rows, columns) > 0, sums / counts[:, None], np.nan
    )
    missing = _reduce((seen & ~known).astype(np.float64), rows, columns) > 0
    return Grid(values.astype(np.float32), missing & np.isnan(values), rows, columns)


def _spans(n: int, most: int) -> tuple[tuple[int, int], ...]:
    size = max(1, -(-n // most))
    return tuple((start, min(start + size, n)) for start in range(0, n, size))


def _reduce(
    matrix: np.ndarray, rows: tuple[tuple[int, int], ...], columns: tuple[tuple[int, int], ...]
) -> np.ndarray:
    by_row = np.add.reduceat(matrix, [a for a, _ in rows], axis=0)
    reduced: np.ndarray = np.add.reduceat(by_row, [a for a, _ in columns], axis=1)
    return reduced
