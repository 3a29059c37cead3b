"""Small pictures of the samples, from a zip of PNG and JPEG files; nothing is unpacked to disk."""

from __future__ import annotations

import dataclasses
import io
import struct
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import PurePosixPath

import numpy as np

from backend.concepts.explanation import ConceptTable
from backend.concepts.inputs import check_size
from backend.errors import InputError, shown
from backend.names import listed
from backend.settings import Settings

SIDE = 64
GREY = 128
FORMATS = ("PNG", "JPEG")
ENDINGS = (".png", ".jpg", ".jpeg")
MOST_ENTRIES = 200_000
_BROKEN = (
    OSError,
    SyntaxError,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    EOFError,
    OverflowError,
    NotImplementedError,
    RuntimeError,
    MemoryError,
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
)


def attach(table: ConceptTable, name: str, data: bytes, settings: Settings) -> ConceptTable:
    """The table with a picture of 64 × 64 a sample, and a note how many were found.

    A picture belongs to the sample whose reference ends in its path, its name, or its name without
    the ending. Where none does, names that are numbers are rows, from 0 or 1. Samples without a
    picture are grey.

    Raises:
        InputError: the zip is broken or too large, or none of its pictures belongs to a sample.
    """
    check_size(name, data, settings)
    n = len(table)
    if n > settings.max_pictures:
        raise InputError(
            f"{n:,} samples are too many for pictures (VITRINE_MAX_PICTURES is "
            f"{settings.max_pictures:,}).",
            name,
            "Bring fewer samples, or no pictures.",
        )
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = _entries(name, archive, settings)
            matched = _matched(table.references, list(entries), n)
            pictures = {
                row: _picture(archive, entries[path], settings) for row, path in matched.items()
            }
    except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError) as error:
        raise InputError(
            f"The zip cannot be read ({shown(str(error))}).", name, "Pack it again."
        ) from error
    if not matched:
        raise InputError(
            f"No picture belongs to a sample: they are called {listed(list(entries), 3)}, the "
            f"samples {listed(table.references or ('0', '1'), 3)}.",
            name,
            "Name each picture after the reference of its sample, or after its row.",
        )
    images = np.full((n, SIDE, SIDE, 3), GREY, dtype=np.uint8)
    whole = {row: picture for row, picture in pictures.items() if picture is not None}
    for row, picture in whole.items():
        images[row] = picture
    return _noted(table, images, len(whole), len(matched))


def _noted(table: ConceptTable, images: np.ndarray, read: int, matched: int) -> ConceptTable:
    note = f"Pictures: {read:,} of {len(table):,} samples; the others are grey."
    if read < matched:
        note += f" {matched - read:,} could not be read."
    kept = table.origin.get("notes")
    return dataclasses.replace(
        table,
        arrays={**table.arrays, "images": images},
        origin={**table.origin, "notes": [*(kept if isinstance(kept, list) else []), note]},
    )


def _entries(name: str, archive: zipfile.ZipFile, settings: Settings) -> dict[str, zipfile.ZipInfo]:
    """The pictures of an archive by path.

    Raises:
        InputError: there is none, or they unpack to too much.
    """
    listing = archive.infolist()
    found = {
        entry.filename: entry
        for entry in listing[:MOST_ENTRIES]
        if PurePosixPath(entry.filename).suffix.lower() in ENDINGS
        and not entry.filename.startswith("__MACOSX/")
    }
    if not found:
        raise InputError("It holds no PNG or JPEG picture.", name, "Pack the samples' pictures.")
    if sum(entry.file_size for entry in found.values()) > settings.max_unpacked_mb * 1e6:
        raise InputError(
            f"It unpacks to more than {settings.max_unpacked_mb:g} MB (VITRINE_MAX_UNPACKED_MB).",
            name,
            "Make the pictures smaller: 64 × 64 is what is shown.",
        )
    return found


def _matched(references: Sequence[str], paths: list[str], n: int) -> dict[int, str]:
    """Which picture belongs to which row."""
    by: dict[str, str | None] = {}
    for path in paths:
        for key in {path, PurePosixPath(path).name, PurePosixPath(path).stem}:
            by[key] = path if key not in by or by[key] == path else None
    found: dict[int, str] = {}
    for row, reference in enumerate(references):
        parts = PurePosixPath(reference.replace("\\", "/")).parts
        tails = ["/".join(parts[i:]) for i in range(len(parts))]
        tails.append(PurePosixPath(reference).stem)
        own = next((by[tail] for tail in tails if by.get(tail)), None)
        if own is not None:
            found[row] = own
    return found or _numbered(paths, n)


def _numbered(paths: list[str], n: int) -> dict[int, str]:
    stems = {path: PurePosixPath(path).stem for path in paths}
    numbers = {
        int(stem): path
        for path, stem in stems.items()
        if stem.isascii() and stem.isdigit() and len(stem) < 10
    }
    first = 0 if 0 in numbers else 1
    return {row: numbers[row + first] for row in range(n) if row + first in numbers}


def _picture(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, settings: Settings
) -> np.ndarray | None:
    """[64, 64, 3] uint8, or None where the file is no picture or too large a one."""
    from PIL import Image, ImageOps

    try:
        with archive.open(entry) as file:
            data = file.read(entry.file_size)
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            # The header says the size: nothing is decoded before this.
            if image.width * image.height > settings.max_megapixels * 1e6:
                return None
            image.draft("RGB", (SIDE, SIDE))
            small = ImageOps.contain(image.convert("RGB"), (SIDE, SIDE))
            square = ImageOps.pad(small, (SIDE, SIDE), color=(GREY, GREY, GREY))
            return np.asarray(square, dtype=np.uint8)
    except (*_BROKEN, Image.DecompressionBombError):
        return None
