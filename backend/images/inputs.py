"""Read pictures from files and zips; nothing that is brought in is executed or unpacked to disk.

A picture is turned as its EXIF says, put on white where it is transparent, and made eight bits and
red, green, blue. Of an animation the first frame is taken. What was done is said in its remarks.
"""

from __future__ import annotations

import io
import struct
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import PurePosixPath

import numpy as np
from PIL import Image, ImageOps, features

from backend.errors import InputError, shown
from backend.images.explanation import Photos
from backend.settings import Settings

FORMATS = ("PNG", "JPEG", "WEBP", "TIFF", "BMP", "GIF", "AVIF")
ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".bmp", ".gif", ".avif")
ZIP = ".zip"
SMALLEST = 2
"""Pixels a side: one pixel has nothing to point at."""
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
    AssertionError,
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
)
_TODO = "Save it as PNG or JPEG and bring it again."


def readable() -> tuple[str, ...]:
    """Endings of the files that are read here: AVIF only where the library has it."""
    return tuple(e for e in ENDINGS if e != ".avif" or features.check("avif"))


def read(files: list[tuple[str, bytes]], settings: Settings) -> Photos:
    """The pictures of one or more files, zips of class folders among them.

    Raises:
        InputError: a file or a picture cannot be used; the text says which and what to do.
    """
    names: list[str] = []
    folders: list[str] = []
    remarks: list[tuple[str, ...]] = []
    arrays: dict[str, np.ndarray] = {}
    total = 0
    for name, data in files:
        _check_size(name, data, settings)
        for inner, folder, content in _contents(name, data, settings):
            if len(names) == settings.max_images:
                raise InputError(
                    f"There are more than {settings.max_images:,} pictures (VITRINE_MAX_IMAGES).",
                    name,
                    "Bring fewer.",
                )
            pixels, said = picture(inner, content, settings)
            total += pixels.shape[0] * pixels.shape[1]
            if total > settings.max_total_megapixels * 1e6:
                raise InputError(
                    f"Together they have more than {settings.max_total_megapixels:g} million "
                    "pixels (VITRINE_MAX_TOTAL_MEGAPIXELS).",
                    name,
                    "Bring fewer or smaller ones.",
                )
            arrays[f"image/{len(names)}"] = pixels
            names.append(inner)
            folders.append(folder)
            remarks.append(said)
    if not names:
        raise InputError("There is no picture in it.", todo=f"Bring {', '.join(readable())}.")
    title = names[0] if len(names) == 1 else f"{len(names)} pictures"
    return Photos(
        arrays=arrays,
        names=tuple(names),
        folders=tuple(folders),
        remarks=tuple(remarks),
        title=title,
    )


def picture(name: str, data: bytes, settings: Settings) -> tuple[np.ndarray, tuple[str, ...]]:
    """One picture as [h, w, 3] uint8, and what was done to it.

    Raises:
        InputError: it is no picture, broken, too large or too small.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data), formats=FORMATS) as opened:
                _check_pixels(name, opened.size, settings)
                return _upright(opened)
    except InputError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise InputError(
            f"It has more pixels than {settings.max_megapixels:g} million "
            "(VITRINE_MAX_MEGAPIXELS).",
            name,
            "Make it smaller.",
        ) from error
    except _BROKEN as error:
        raise InputError(f"It cannot be read as a picture ({_why(data)}).", name, _TODO) from error


def _upright(opened: Image.Image) -> tuple[np.ndarray, tuple[str, ...]]:
    said = []
    if (frames := getattr(opened, "n_frames", 1)) > 1:
        said.append(f"The first of {frames} frames.")
        opened.seek(0)
    turned = ImageOps.exif_transpose(opened)
    if opened.getexif().get(0x0112, 1) not in (0, 1):
        said.append("Turned as its EXIF says.")
    if turned.mode in ("I;16", "I;16B", "I;16L", "I", "F"):
        turned = _eight_bits(turned)
        said.append("From more than eight bits a channel to eight.")
    if turned.mode == "CMYK":
        said.append("From CMYK without a colour profile: colours may differ from print.")
    if turned.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in turned.info:
        whole = turned.convert("RGBA")
        if np.asarray(whole)[..., 3].min() < 255:
            said.append("Transparent parts are shown, and read, on white.")
        white = Image.new("RGBA", whole.size, "white")
        turned = Image.alpha_composite(white, whole)
    pixels = np.asarray(turned.convert("RGB"), dtype=np.uint8)
    return np.array(pixels), tuple(said)


def _eight_bits(given: Image.Image) -> Image.Image:
    """Sixteen bits divided by 257; other numbers from their smallest to their largest."""
    values = np.asarray(given).astype(np.float64)
    if given.mode == "F" or values.max(initial=0) > 65535 or values.min(initial=0) < 0:
        if not np.isfinite(values).all():
            raise ValueError("pixels that are no numbers")
        span = float(np.ptp(values)) or 1.0
        values = (values - values.min()) / span * 65535
    return Image.fromarray(np.round(values / 257).astype(np.uint8), mode="L")


def _contents(name: str, data: bytes, settings: Settings) -> Iterator[tuple[str, str, bytes]]:
    """Name, folder and bytes of each picture of a file."""
    if not name.lower().endswith(ZIP):
        yield name, "", data
        return
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            paths = ((entry, _path(entry.filename)) for entry in archive.infolist()[:MOST_ENTRIES])
            entries = [(entry, path) for entry, path in paths if _is_picture(path)]
            for entry, path in entries:
                if ".." in path.parts:
                    raise InputError(
                        f"Its entry '{shown(entry.filename)}' has '..' in its path.",
                        name,
                        "Pack the pictures again, in folders of the zip.",
                    )
            if sum(entry.file_size for entry, _ in entries) > settings.max_unpacked_mb * 1e6:
                raise InputError(
                    f"It unpacks to more than {settings.max_unpacked_mb:g} MB "
                    "(VITRINE_MAX_UNPACKED_MB).",
                    name,
                    "Bring fewer or smaller pictures.",
                )
            for entry, path in entries:
                with archive.open(entry) as stream:
                    content = stream.read(int(settings.max_image_mb * 1e6) + 1)
                _check_size(path.name, content, settings)
                yield path.name, path.parent.name, content
    except InputError:
        raise
    except _BROKEN as error:
        raise InputError(
            f"The zip cannot be read ({shown(str(error))}).", name, "Pack it again."
        ) from error


def _path(name: str) -> PurePosixPath:
    """Of an entry; some programs on Windows part folders by backslashes."""
    return PurePosixPath(name.replace("\\", "/"))


def _is_picture(path: PurePosixPath) -> bool:
    """Whether it ends like one and is not hidden, as what systems leave in a zip is."""
    hidden = any(part != ".." and part.startswith((".", "__MACOSX")) for part in path.parts)
    return path.suffix.lower() in readable() and not hidden


def _check_size(name: str, data: bytes, settings: Settings) -> None:
    most = settings.max_unpacked_mb if name.lower().endswith(ZIP) else settings.max_image_mb
    if len(data) > most * 1e6:
        variable = (
            "VITRINE_MAX_UNPACKED_MB" if name.lower().endswith(ZIP) else ("VITRINE_MAX_IMAGE_MB")
        )
        raise InputError(
            f"The file has more than {most:g} MB ({variable}).", name, "Make it smaller."
        )


def _check_pixels(name: str, size: tuple[int, int], settings: Settings) -> None:
    width, height = size
    if width * height > settings.max_megapixels * 1e6:
        raise InputError(
            f"It has {width:,} × {height:,} pixels; at most {settings.max_megapixels:g} million "
            "are read (VITRINE_MAX_MEGAPIXELS).",
            name,
            "Make it smaller.",
        )
    if min(size) < SMALLEST:
        raise InputError(
            f"It has {width} × {height} pixels, so there is no place in it to point at.",
            name,
            "Bring a larger picture.",
        )


def _why(data: bytes) -> str:
    if not data:
        return "the file is empty"
    kinds = {b"%PDF": "it is a PDF document", b"PK\x03\x04": "it is a zip archive"}
    for start, what in kinds.items():
        if data.startswith(start):
            return what
    if b"ftypheic" in data[:32] or b"ftypmif1" in data[:32]:
        return "HEIC is not read here"
    return "it is broken, or no picture"
