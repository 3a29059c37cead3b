"""Apache Parquet as a frame. Only plain columns are read: no extension type, nothing nested."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from backend import delimited
from backend.errors import InputError, shown
from backend.names import apart, listed
from backend.settings import Settings
from backend.tables.frame import Frame, checked_size

LONGEST_WORD = 10_000
"""Characters of a cell."""


def read(name: str, data: bytes, settings: Settings) -> Frame:
    """The table of a .parquet file.

    Raises:
        InputError: it is broken or too large, or no column of it can be read.
    """
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    try:
        file = parquet.ParquetFile(io.BytesIO(data), read_dictionary=_words(data))
        _check(name, file.metadata, settings)
        table = file.read(use_threads=False)
        names, doubled = apart(table.column_names)
        columns, unread = {}, []
        for column, cells in zip(names, table.columns, strict=True):
            values = _column(name, column, cells)
            if values is None:
                unread.append(f"{column} ({shown(str(cells.type))})")
            else:
                columns[column] = values
    except (arrow.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        raise InputError(
            f"The Parquet file cannot be read ({shown(str(error))}).", name, "Write it again."
        ) from error
    notes = [f"Columns of the same name are kept apart by a number: {listed(doubled)}."] * bool(
        doubled
    )
    if unread:
        notes.append(f"Columns that are neither numbers nor words are not read: {listed(unread)}.")
    checked_size(name, table.num_rows, len(columns), settings.max_samples, settings.max_columns)
    return Frame(name, columns, notes=tuple(notes))


def _words(data: bytes) -> list[str]:
    """Columns of words: they stay a dictionary, as a repeated long one would fill the memory."""
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    schema = parquet.ParquetFile(io.BytesIO(data)).schema_arrow
    words = (arrow.string(), arrow.large_string(), arrow.string_view())
    return [field.name for field in schema if field.type in words]


def _check(name: str, metadata: Any, settings: Settings) -> None:
    checked_size(
        name, metadata.num_rows, metadata.num_columns, settings.max_samples, settings.max_columns
    )
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    if sum(group.total_byte_size for group in groups) > settings.max_unpacked_mb * 1e6:
        raise InputError(
            f"It unpacks to more than {settings.max_unpacked_mb:g} MB (VITRINE_MAX_UNPACKED_MB).",
            name,
            "Bring fewer rows or columns.",
        )


def _column(name: str, column: str, cells: Any) -> np.ndarray | None:
    """A column as a frame holds it, or None where it is of no plain type."""
    import pyarrow as arrow

    kind = cells.type
    if arrow.types.is_floating(kind) or arrow.types.is_integer(kind) or arrow.types.is_null(kind):
        return np.asarray(cells.cast(arrow.float64(), safe=False).to_numpy(), dtype=np.float64)
    if arrow.types.is_boolean(kind):
        return np.asarray(cells.cast(arrow.int8()).cast(arrow.float64()).to_numpy(), np.float64)
    if arrow.types.is_dictionary(kind):
        if not (
            arrow.types.is_string(kind.value_type) or arrow.types.is_large_string(kind.value_type)
        ):
            return _column(name, column, cells.cast(kind.value_type))
        parts = [_decoded(name, column, chunk) for chunk in cells.chunks]
        return np.concatenate(parts) if parts else np.array([], dtype=object)
    return None


def _decoded(name: str, column: str, chunk: Any) -> np.ndarray:
    import pyarrow.compute as compute

    longest = compute.max(compute.utf8_length(chunk.dictionary)).as_py() or 0
    if longest > LONGEST_WORD:
        raise InputError(
            f"A cell of column '{shown(column)}' has {longest:,} characters; at most "
            f"{LONGEST_WORD:,} are read.",
            name,
            "Leave that column out.",
        )
    missing = delimited.MISSING
    words = [word.strip() if word else "" for word in chunk.dictionary.to_pylist()]
    words = ["" if word.lower() in missing else word for word in words] + [""]
    places = chunk.indices.fill_null(len(words) - 1).to_numpy(zero_copy_only=False)
    return np.asarray(np.array(words, dtype=object)[places])
