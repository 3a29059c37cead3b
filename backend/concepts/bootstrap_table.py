"""A table of as many samples drawn from it with replacement (Efron & Tibshirani, 1993)."""

from __future__ import annotations

import dataclasses

import numpy as np

from backend.concepts.explanation import ConceptTable

PER_SAMPLE = (
    "logits", "concepts", "labels", "predictions", "task_logits", "groups", "images", "embedding",
)  # fmt: skip


def drawn(count: int, seed: int, kept: int | None = None) -> np.ndarray:
    """[count] sample numbers drawn with replacement.

    Args:
        kept: a sample that stays at its own place.
    """
    found = np.random.default_rng(seed).integers(0, count, size=count)
    if kept is not None:
        found[kept] = kept
    return found


def bootstrapped(table: ConceptTable, seed: int, kept: int | None = None) -> ConceptTable:
    """The table with its samples drawn anew; the head stays.

    Args:
        kept: a sample that stays at its own place, so that its decision can be explained again.
    """
    rows = drawn(len(table), seed, kept)
    arrays = {
        name: array[rows] if name in PER_SAMPLE else array for name, array in table.arrays.items()
    }
    references = tuple(table.references[row] for row in rows) if table.references else ()
    return dataclasses.replace(
        table, arrays=arrays, references=references, origin={"bootstrap": seed}
    )
