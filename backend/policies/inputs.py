"""Read a table of trajectories from a file; nothing that is brought in is executed."""

from __future__ import annotations

from backend.policies import archive
from backend.settings import Settings
from backend.tables import reading
from backend.tables.frame import Frame


def read(name: str, data: bytes, settings: Settings) -> Frame:
    """The table of a .csv, .tsv, .parquet or .npz file.

    Raises:
        InputError: it is of another kind, broken, empty or over a limit; the text says what to do.
    """
    return reading.read(name, data, settings, archive.read)
