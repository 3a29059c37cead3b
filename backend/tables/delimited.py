"""Delimited text as a frame: .csv and .tsv, as spreadsheets of any country write them."""

from __future__ import annotations

from collections.abc import Iterator

from backend.delimited import NUMBER, converted, decoded, delimiter_of
from backend.delimited import rows as divided
from backend.errors import InputError
from backend.names import apart, listed
from backend.settings import Settings
from backend.tables.frame import Frame, checked_size


def read(name: str, data: bytes, settings: Settings) -> Frame:
    """The table of a delimited text file, its first row the names of the columns.

    UTF-8, UTF-16 with a byte order mark, else Windows-1252; the delimiter is the one of , ; tab |
    that divides the first rows alike; a column of numbers with decimal commas is one of numbers.

    Raises:
        InputError: it is no such text, its rows differ in length, or it is too large.
    """
    text, notes = decoded(name, data)
    delimiter = delimiter_of(text)
    rows = divided(name, text, delimiter)
    header = next(rows, [])
    if header and all(NUMBER.fullmatch(cell.strip()) for cell in header):
        raise InputError(
            "The first row holds numbers, not names.", name, "Add a first row of column names."
        )
    checked_size(name, 1, len(header), settings.max_samples, settings.max_columns)
    cells = _cells(name, header, rows, settings)
    names, doubled = apart(header)
    if doubled:
        notes.append(f"Columns of the same name are kept apart by a number: {listed(doubled)}.")
    columns, commas = {}, []
    for column, values in zip(names, cells, strict=True):
        columns[column], comma = converted(values)
        if comma:
            commas.append(column)
    if commas:
        notes.append(f"Commas are read as decimal points in {listed(commas)}.")
    return Frame(name, columns, notes=tuple(notes))


def _cells(
    name: str, header: list[str], rows: Iterator[list[str]], settings: Settings
) -> list[list[str]]:
    """The cells of each column."""
    cells: list[list[str]] = [[] for _ in header]
    count = 0
    for count, row in enumerate(rows, start=1):
        if len(row) != len(header):
            raise InputError(
                f"Row {count + 1} has {len(row):,} cells, the first has {len(header):,}.",
                name,
                "Give every row as many; quote cells that hold the delimiter.",
            )
        if count > settings.max_samples:
            break
        for column, cell in zip(cells, row, strict=True):
            column.append(cell)
    checked_size(name, count, len(header), settings.max_samples, settings.max_columns)
    return cells
