"""NumPy archives: named arrays, read without pickle and without trusting their sizes."""

from __future__ import annotations

import io
import tokenize
import warnings
import zipfile
import zlib

import numpy as np

from backend.errors import InputError, shown
from backend.settings import Settings

MOST_ENTRIES = 1000
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    OSError,
    EOFError,
    ValueError,
    TypeError,
    SyntaxError,
    tokenize.TokenError,
    NotImplementedError,
    RuntimeError,
    RecursionError,
    MemoryError,
    OverflowError,
)


def arrays(name: str, data: bytes, settings: Settings) -> dict[str, np.ndarray]:
    """The arrays of an archive, by name.

    Raises:
        InputError: it is broken, unpacks to too much, or holds objects.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            unpacked = sum(entry.file_size for entry in entries)
            if len(entries) > MOST_ENTRIES or unpacked > settings.max_unpacked_mb * 1e6:
                raise InputError(
                    f"It unpacks to {len(entries):,} arrays of {unpacked / 1e6:,.0f} MB; at most "
                    f"{MOST_ENTRIES:,} of {settings.max_unpacked_mb:g} MB are read "
                    "(VITRINE_MAX_UNPACKED_MB).",
                    name,
                    "Bring fewer samples, and only the arrays that are needed.",
                )
            return {
                entry.filename.removesuffix(".npy"): _array(archive, entry) for entry in entries
            }
    except _BROKEN as error:
        raise InputError(
            f"The archive cannot be read ({shown(str(error))}).", name, "Write it with np.savez."
        ) from error


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> np.ndarray:
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"'{entry.filename}' is compressed in an unusual way")
    with archive.open(entry) as file:
        stream = io.BytesIO(file.read(entry.file_size))
    version = np.lib.format.read_magic(stream)
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in readers:
        raise ValueError(f"'{entry.filename}' is of version {version}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shape, column_major, dtype = readers[version](stream)
    if dtype.hasobject:
        raise ValueError(f"'{entry.filename}' holds pickled objects, which are not read")
    rest = stream.getbuffer()[stream.tell() :]
    count = 1
    for side in shape:
        count *= side
    if (
        dtype.kind not in "biufUS"
        or min(shape, default=0) < 0
        or count * dtype.itemsize != len(rest)
    ):
        raise ValueError(f"'{entry.filename}' is not an array of its size")
    flat = np.frombuffer(rest, dtype=dtype) if count else np.empty(0, dtype)
    if dtype.kind == "U" and not _characters(flat):
        raise ValueError(f"'{entry.filename}' holds numbers that are no characters")
    return flat.reshape(shape, order="F" if column_major else "C")


def _characters(words: np.ndarray) -> bool:
    """Whether words hold Unicode alone: any other 32 bits crash what reads them as text."""
    if not words.size or not words.dtype.itemsize:
        return True
    codes = words.view(np.dtype(np.uint32).newbyteorder(words.dtype.byteorder))
    return not ((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes <= 0xDFFF))).any()
