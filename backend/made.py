"""Models that were made on a page: a folder of the store each, named by the key of what made it."""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path

from backend.errors import ModelError
from backend.settings import Settings

KEPT = 8
"""Folders that are kept; a model may have a hundred megabytes, and can be made again."""
_NAME = re.compile(r"[0-9a-f]{64}")


def find(name: str, settings: Settings) -> Path:
    """The folder of a model that was made.

    Raises:
        ModelError: it is not there.
    """
    folder = _root(settings) / name
    if not _NAME.fullmatch(name) or not folder.is_dir():
        raise ModelError(
            "This model was made on a page and is no longer kept. Bring the pictures it was made "
            "of and make it again."
        )
    return folder


def make(name: str, settings: Settings, write: Callable[[Path], None]) -> None:
    """Have `write` fill an empty folder, unless the model is there; the oldest ones go.

    Raises:
        ValueError: the name is no key.
        OSError: a file cannot be written.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not the key of a result")
    root = _root(settings)
    folder = root / name
    if folder.is_dir():
        folder.touch()
        return
    partial = root / f"{uuid.uuid4().hex}.partial"
    partial.mkdir(parents=True)
    try:
        write(partial)
        partial.replace(folder)
    except OSError:
        if not folder.is_dir():  # else another page has made the same one meanwhile
            raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    known = [path for path in root.iterdir() if _NAME.fullmatch(path.name)]
    for old in sorted(known, key=lambda path: path.stat().st_mtime, reverse=True)[KEPT:]:
        shutil.rmtree(old, ignore_errors=True)


def _root(settings: Settings) -> Path:
    return settings.store / "made"
