"""Read a table of predictions from a file; nothing that is brought in is executed."""

from __future__ import annotations

from backend.concepts import npz
from backend.settings import Settings
from backend.tables import reading
from backend.tables.frame import Frame
from backend.tables.reading import ENDINGS, check_size

__all__ = ["ENDINGS", "check_size", "read"]


def read(name: str, data: bytes, settings: Settings) -> Frame:
    """The table of a file.

    Args:
        name: the file's name; its ending says how to read it.

    Raises:
        InputError: it is of another kind, broken, empty or over a limit; the text says what to do.
    """
    return reading.read(name, data, settings, npz.read)
