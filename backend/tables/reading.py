"""Read a table from a file by its ending; nothing that is brought in is executed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePath

from backend.errors import InputError, shown
from backend.settings import Settings
from backend.tables import delimited, parquet
from backend.tables.frame import Frame

Reader = Callable[[str, bytes, Settings], Frame]

ENDINGS = (".csv", ".tsv", ".parquet", ".npz")
_MAGIC = {b"PK\x03\x04": ".npz", b"PAR1": ".parquet"}
_READERS: dict[str, Reader] = {
    ".csv": delimited.read,
    ".tsv": delimited.read,
    ".parquet": parquet.read,
}
_TODO_ENDING = {
    ".xlsx": "Save the sheet as CSV.",
    ".xls": "Save the sheet as CSV.",
    ".npy": "Save the arrays together, with np.savez.",
    ".pkl": "A pickle can run code and is never read: save it as CSV, Parquet or NPZ.",
    ".pt": "A pickle can run code and is never read: save it as CSV, Parquet or NPZ.",
}


def read(name: str, data: bytes, settings: Settings, archive: Reader) -> Frame:
    """The table of a file.

    Args:
        name: the file's name; its ending says how to read it.
        archive: reads an .npz file.

    Raises:
        InputError: it is of another kind, broken, empty or over a limit; the text says what to do.
    """
    check_size(name, data, settings)
    readers = {**_READERS, ".npz": archive}
    ending = PurePath(name).suffix.lower()
    if ending not in readers:
        raise InputError(
            f"Files ending in '{shown(ending)}' are not read.",
            name,
            _TODO_ENDING.get(ending, f"Use {', '.join(ENDINGS)}."),
        )
    if not data.strip():
        raise InputError("The file is empty.", name, "Bring one with a row for each sample.")
    inside = next((kind for magic, kind in _MAGIC.items() if data.startswith(magic)), "text")
    if inside != (ending if ending in _MAGIC.values() else "text"):
        what = {"text": "no file of that kind", ".npz": "a zip archive", ".parquet": "Parquet"}
        raise InputError(
            f"Its name ends in '{ending}', but it is {what[inside]}: nothing in it was run.",
            name,
            f"Bring one of {', '.join(ENDINGS)}; a spreadsheet must be saved as CSV.",
        )
    return readers[ending](name, data, settings)


def check_size(name: str, data: bytes, settings: Settings) -> None:
    """Check the size of what was brought.

    Raises:
        InputError: it is over the limit.
    """
    if len(data) > settings.max_table_mb * 1e6:
        raise InputError(
            f"The file has more than {settings.max_table_mb:g} MB (VITRINE_MAX_TABLE_MB).",
            name,
            "Bring fewer samples, or save it as Parquet.",
        )
