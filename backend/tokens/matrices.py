"""The per-head matrices an explanation keeps, within a budget."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from backend.bundle import Arrays
from backend.errors import InputError
from backend.tokens.subject import Subject

if TYPE_CHECKING:
    import torch

BUDGET = 192 * 2**20
"""Bytes of matrices up to which every query row is kept."""
LIMIT = 2 * 2**30
"""Bytes of matrices that are never passed."""

Keep = Literal["auto", "all", "none"]


@dataclasses.dataclass(frozen=True, eq=False)
class Matrices:
    """Named matrices [layers, heads, rows, N] float32, zero until written."""

    rows: tuple[int, ...]
    """Query positions of the rows."""
    arrays: Arrays
    notes: tuple[str, ...]
    within_budget: bool
    """Whether every row of all of them fits the budget."""

    @classmethod
    def of(cls, subject: Subject, model: Any, keep: Keep, names: tuple[str, ...]) -> Matrices:
        """Allocate what is kept of each named matrix.

        Raises:
            InputError: `all` rows take more than the limit.
        """
        row_bytes = model.layers * model.heads * len(subject) * 4 * len(names)
        rows, notes = _rows(subject, row_bytes, keep)
        shape = (model.layers, model.heads, len(rows), len(subject))
        arrays = {name: _zeros(shape) for name in names} if rows else {}
        return cls(rows, arrays, notes, row_bytes * len(subject) <= BUDGET)

    @contextlib.contextmanager
    def slot(self, name: str, layer: int, device: torch.device) -> Iterator[torch.Tensor]:
        """Zeros [heads, rows, N] on `device`; what they hold after the block is kept."""
        import torch

        own = torch.from_numpy(self.arrays[name][layer])
        if device.type == "cpu":
            yield own
        else:
            elsewhere = torch.zeros_like(own, device=device)
            yield elsewhere
            own.copy_(elsewhere)

    def put(self, name: str, layer: int, matrix: torch.Tensor) -> None:
        """Keep a layer's matrix [heads, rows, N]."""
        import torch

        torch.from_numpy(self.arrays[name][layer]).copy_(matrix)


def _zeros(shape: tuple[int, ...]) -> np.ndarray:
    """Zeros that cost little to write to for the first time.

    numpy asks the kernel for huge pages, and where memory is fragmented waiting for those took
    five times as long as the plain pages torch takes.
    """
    import torch

    zeros: np.ndarray = torch.zeros(shape).numpy()
    return zeros


def _rows(subject: Subject, row_bytes: int, keep: Keep) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Query positions whose rows are kept, and what to say about it."""
    length, queries = len(subject), subject.queries
    if keep == "none":
        return (), ()
    if keep == "all" and length * row_bytes > LIMIT:
        raise InputError(
            f"All matrices of {length} tokens take {length * row_bytes / 2**30:.1f} GB, "
            f"the limit is {LIMIT / 2**30:.0f} GB.",
            "matrices",
            "Choose `auto`: the scores stay the same, fewer rows are kept.",
        )
    if keep == "all" or length * row_bytes <= BUDGET:
        return tuple(range(length)), ()
    kept = queries[: max(1, BUDGET // row_bytes)]
    whose = "the explained tokens" if kept == queries else f"the first {len(kept)} explained tokens"
    note = (
        f"Matrices hold the query rows of {whose}: all {length} rows would take "
        f"{length * row_bytes / 2**20:.0f} MB, the budget is {BUDGET // 2**20} MB."
    )
    return kept, (note,)
