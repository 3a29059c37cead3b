"""From one matrix [queries, keys] a layer to one number a token.

- span: the rows of the queries that predict the explained tokens, mean over rows and layers.
- last: the row that predicts the first explained token, mean over layers.
- received: what a key receives from the queries at or after it, mean over those and over layers.
- rollout: the layers' matrices multiplied, read at the span's rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from backend.bundle import Arrays

Reading = Literal["span", "last", "received", "rollout"]

CHAIN_BYTES = 256 * 2**20


class Readings:
    """Means over rows, collected layer by layer.

    Args:
        layers: how many will be added at most.
        length: N, the number of tokens.
        queries: positions of the queries that predict the explained tokens.
    """

    def __init__(self, layers: int, length: int, queries: Sequence[int]) -> None:
        self.length, self.queries = length, list(queries)
        self.by_layer: Arrays = {
            name: np.full((layers, length), np.nan, dtype=np.float32) for name in ("span", "last")
        }
        self.undefined = 0
        """Rows seen so far that hold NaN."""

    def add(self, layer: int, matrix: np.ndarray, rows: Sequence[int]) -> None:
        """Read one layer.

        Args:
            matrix: [rows, N]; a row of NaN is undefined and left out of every mean.
            rows: query positions of the matrix's rows: all of them, or just the explained ones.
        """
        at = {position: i for i, position in enumerate(rows)}
        span = matrix[[at[q] for q in self.queries]]
        self.by_layer["span"][layer] = defined_mean(span)
        self.by_layer["last"][layer] = span[0]
        undefined = np.isnan(matrix).any(axis=1)
        self.undefined += int(undefined.sum())
        if len(rows) == self.length:
            self._received()[layer] = _received(matrix, undefined)

    def _received(self) -> np.ndarray:
        like = self.by_layer["span"]
        return self.by_layer.setdefault("received", np.full_like(like, np.nan))

    def means(self, layers: slice) -> Arrays:
        """Each reading's mean over some layers, [N]; 0 where no row of theirs is defined."""
        return {
            name: np.nan_to_num(defined_mean(values[layers]))
            for name, values in self.by_layer.items()
        }


def defined_mean(rows: np.ndarray) -> np.ndarray:
    """Mean over axis 0 of the rows without NaN; NaN where there is none."""
    good = rows[~np.isnan(rows).any(axis=1)]
    if not len(good):
        return np.full(rows.shape[1], np.nan, dtype=np.float32)
    mean: np.ndarray = good.mean(axis=0, dtype=np.float64)
    return mean


def _received(matrix: np.ndarray, undefined: np.ndarray) -> np.ndarray:
    """(1 / |{i >= j}|) Σ_{i >= j} M[i, j] over the defined rows i, [N]; NaN where there is none."""
    sums = matrix[~undefined].sum(axis=0, dtype=np.float64)
    counts = np.cumsum(~undefined[::-1])[::-1]
    result: np.ndarray = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return result


class Chain:
    """A product of [N, N] matrices, later layers from the left, read at some rows.

    The matrices are kept while they are small, since rows times matrices cost N² each; beyond
    `CHAIN_BYTES` they are multiplied out, N³ each.
    """

    def __init__(self) -> None:
        self._steps: list[np.ndarray] = []

    def add(self, step: np.ndarray) -> None:
        """Append the next layer's matrix [N, N]."""
        self._steps.append(step)
        if len(self._steps) > 2 and sum(s.nbytes for s in self._steps) > CHAIN_BYTES:
            product = self._steps[0]
            for later in self._steps[1:]:
                product = later @ product
            self._steps = [product]

    def mean_row(self, queries: Sequence[int]) -> np.ndarray:
        """Mean of the product's rows at these positions, [N].

        Raises:
            ValueError: nothing was added.
        """
        if not self._steps:
            raise ValueError("a chain of no layers has no rows")
        row = np.zeros(self._steps[0].shape[0], dtype=self._steps[0].dtype)
        np.add.at(row, list(queries), 1.0 / len(queries))
        for step in reversed(self._steps):
            row = row @ step
        return row


def stochastic(matrix: np.ndarray) -> np.ndarray:
    """Rows divided by their sum; a row that is undefined or sums to 0 keeps its own token.

    Args:
        matrix: [N, N] non-negative, NaN allowed; changed in place and returned.
    """
    sums = matrix.sum(axis=1)
    lost = np.isnan(sums) | (sums <= 0)
    matrix[lost] = np.eye(len(matrix), dtype=matrix.dtype)[lost] if lost.any() else 0
    sums[lost] = 1.0
    matrix /= sums[:, None]
    return matrix
