"""A table as it was brought: named columns of numbers or words."""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np

from backend.errors import InputError

Role = Literal[
    "logit", "probability", "truth", "label", "prediction", "class", "group", "reference"
]


@dataclasses.dataclass(frozen=True)
class Frame:
    """Columns of n cells each.

    A column of numbers is [n] float64 with NaN where a cell is empty; a column of words is [n] of
    str, "" where a cell is empty.
    """

    name: str
    """Of the file."""
    columns: dict[str, np.ndarray]
    roles: dict[str, tuple[Role, str]] = dataclasses.field(default_factory=dict)
    """What a column is, and of which concept or class, where the file itself says so."""
    class_names: tuple[str, ...] = ()
    group_names: tuple[str, ...] = ()
    arrays: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    """What is no column: images, embedding, head/<i>/weight, as a `ConceptTable` names them."""
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def numeric(self, column: str) -> bool:
        """Whether a column holds numbers."""
        return self.columns[column].dtype.kind == "f"

    def missing(self, column: str) -> np.ndarray:
        """[n] bool: the empty cells of a column."""
        cells = self.columns[column]
        return np.isnan(cells) if self.numeric(column) else np.asarray(cells == "")


def checked_size(name: str, rows: int, columns: int, most_rows: int, most_columns: int) -> None:
    """Check the size of a table.

    Raises:
        InputError: it has no row, or too many rows or columns.
    """
    if not rows or not columns:
        raise InputError("There is no sample in it.", name, "Bring a table with at least one row.")
    if rows > most_rows:
        raise InputError(
            f"There are more than {most_rows:,} samples (VITRINE_MAX_SAMPLES).",
            name,
            "Bring fewer, for example a random part of them.",
        )
    if columns > most_columns:
        raise InputError(
            f"There are {columns:,} columns; at most {most_columns:,} are read "
            "(VITRINE_MAX_COLUMNS).",
            name,
            "Leave out the columns that are no concept.",
        )
