"""What a concept bottleneck model is trained and measured on."""

from __future__ import annotations

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Samples:
    """Samples with all that is known of them.

    Attributes:
        inputs: [n, height, width, 3] uint8 pictures, or [n, d] float32 columns.
        concepts: [n, k] int8, 0 or 1.
        labels: [n] int32.
        groups: [n] int32, an index into `Data.group_names`; -1 is none.
        references: a name for each sample, or nothing.
    """

    inputs: np.ndarray
    concepts: np.ndarray
    labels: np.ndarray
    groups: np.ndarray
    references: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def pictures(self) -> bool:
        """Whether the inputs are pictures."""
        return self.inputs.ndim == 4


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Data:
    """One data set: training and validation samples, and what their numbers mean."""

    title: str
    training: Samples
    validation: Samples
    concept_names: tuple[str, ...]
    class_names: tuple[str, ...]
    group_names: tuple[str, ...] = ()
    planted: tuple[str, ...] = ()
    """Groups that were made to fail."""
    exclusive: tuple[tuple[int, ...], ...] = ()
    """Concepts of which exactly one is true, for each such set."""
