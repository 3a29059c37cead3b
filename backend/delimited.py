"""Delimited text as spreadsheets of any country write it: decoded, divided, read as numbers."""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections.abc import Iterator

import numpy as np

from backend.errors import InputError

DELIMITERS = ",;\t|"
PROBED = 5
"""Rows that must agree on the number of columns for a delimiter."""
PROBED_CHARACTERS = 400_000
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "<na>"})
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
NUMBER = re.compile(r"[+-]?(?:\d++\.?+\d*+|\.\d++|inf|infinity)(?:[eE][+-]?\d+)?", re.IGNORECASE)
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f]")
_TODO = "Save it as CSV (UTF-8) and bring it again."


def converted(values: list[str]) -> tuple[np.ndarray, bool]:
    """A column's cells as float64 where all are numbers or empty, else as words.

    Returns:
        The column, and whether decimal commas were read.
    """
    # Most columns are plain numbers; Python would also read 1_0, which is a name here.
    with contextlib.suppress(ValueError):
        if "_" not in "".join(values):
            return np.array(list(map(float, values)), dtype=np.float64), False
    cells = ["" if cell.strip().lower() in MISSING else cell.strip() for cell in values]
    filled = [cell for cell in cells if cell]
    comma = any("," in cell for cell in filled)
    if comma and all(_DECIMAL_COMMA.fullmatch(c) or NUMBER.fullmatch(c) for c in filled):
        cells = [cell.replace(",", ".") for cell in cells]
    elif comma or not all(map(NUMBER.fullmatch, filled)):
        return np.array(cells, dtype=object), False
    return np.array([cell or "nan" for cell in cells]).astype(np.float64), comma


def decoded(name: str, data: bytes) -> tuple[str, list[str]]:
    """The text of a file: UTF-8, UTF-16 with a byte order mark, else Windows-1252; and notes.

    Raises:
        InputError: it is no text.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        codecs = ["utf-16"]
    else:
        codecs = ["utf-8-sig", "cp1252", "latin-1"]
    for codec in codecs:
        try:
            text = data.decode(codec)
        except UnicodeDecodeError:
            continue
        if _CONTROLS.search(text, 0, PROBED_CHARACTERS) or "\x00" in text:
            break
        note = "The text is not UTF-8; it is read as Windows-1252." if codec[0] in "cl" else ""
        return text, [note] if note else []
    raise InputError("This is not a text file: nothing in it was run.", name, _TODO)


def delimiter_of(text: str) -> str:
    """The delimiter that divides the first rows into equally many columns, the most of them."""

    def width(delimiter: str) -> int:
        widths = []
        try:
            for row in csv.reader(io.StringIO(text[:PROBED_CHARACTERS]), delimiter=delimiter):
                widths += [len(row)] if row else []
                if len(widths) == PROBED:
                    break
        except csv.Error:
            return 0
        return widths[0] if widths and len(set(widths)) == 1 else 0

    best = max(DELIMITERS, key=width)
    return best if width(best) > 1 else max(DELIMITERS, key=text.partition("\n")[0].count)


def rows(name: str, text: str, delimiter: str) -> Iterator[list[str]]:
    """The rows that are not empty.

    Raises:
        InputError: the quotes of one are broken.
    """
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        yield from (row for row in reader if any(map(str.strip, row)))
    except csv.Error as error:
        where = f"{name}, line {reader.line_num}"
        raise InputError(f"The table is broken ({error}).", where, "Mend its quotes.") from error
