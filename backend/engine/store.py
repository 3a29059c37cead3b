"""Where results live: a folder of files with an SQLite index, shared by processes, bounded in size.

Order keeps it whole without a daemon: a file is written under a temporary name, then renamed and
named in the index in one transaction. A row without its file, or with a file of another checksum,
is a miss and goes; a file without a row is swept.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import re
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from backend.engine.index import Index
from backend.errors import VitrineError

_KEY = re.compile(r"[0-9a-f]{64}")
_KIND = re.compile(r"[a-z]+")
USED_RESOLUTION_S = 60.0
"""`used` is written at most this often, so that reading does not write."""
EVICT_TO = 0.9
TEMPORARY_S = 3600.0
"""A temporary file older than this belongs to a process that died."""

_TABLE = """
CREATE TABLE IF NOT EXISTS entries (
  key TEXT NOT NULL, kind TEXT NOT NULL, family TEXT NOT NULL, title TEXT NOT NULL,
  size INTEGER NOT NULL, digest TEXT NOT NULL, created REAL NOT NULL, used REAL NOT NULL,
  pinned INTEGER NOT NULL DEFAULT 0, meta TEXT NOT NULL,
  PRIMARY KEY (kind, key)
) STRICT
"""

_UPSERT = """
INSERT INTO entries VALUES (?,?,?,?,?,?,?,?,0,?) ON CONFLICT (kind, key) DO UPDATE SET
  family=excluded.family, title=excluded.title, size=excluded.size, digest=excluded.digest,
  used=excluded.used, meta=excluded.meta
"""


class StoreError(VitrineError):
    """The store's folder cannot be read or written; the text says what to do."""


@dataclasses.dataclass(frozen=True)
class Entry:
    """One row of the index."""

    key: str
    kind: str
    family: str
    title: str
    size: int
    created: float
    used: float
    pinned: bool
    meta: dict[str, Any]


class Store:
    """Bytes by kind and key.

    Args:
        root: the folder; made when missing, readable by its owner alone.
        max_bytes: size above which the least recently used entries that are not pinned go.

    Raises:
        StoreError: the folder cannot be used.
    """

    def __init__(self, root: Path, max_bytes: int) -> None:
        self.root, self.max_bytes = root, max_bytes
        with self._faults():
            root.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._index = Index(root / "index.sqlite", _TABLE)

    def put(
        self,
        key: str,
        kind: str,
        data: bytes,
        *,
        family: str = "",
        title: str = "",
        meta: dict[str, Any] | None = None,
    ) -> None:
        """Store bytes under a key, replacing what was there; then make room if needed.

        Raises:
            StoreError: the disk is full or the folder cannot be written.
        """
        path, now = self._path(key, kind), time.time()
        temporary = path.with_name(f"{uuid.uuid4().hex}.tmp")
        with self._faults():
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                temporary.write_bytes(data)
                with self._index.transaction() as index:
                    temporary.replace(path)
                    index.execute(_UPSERT, (
                        key, kind, family, title, len(data), hashlib.sha256(data).hexdigest(),
                        now, now, json.dumps(meta or {}),
                    ))  # fmt: skip
            finally:
                temporary.unlink(missing_ok=True)
        self._evict(keep=(kind, key))

    def get(self, key: str, kind: str) -> bytes | None:
        """The bytes, or None where there are none or they are not what was stored."""
        self._path(key, kind)
        with self._faults(), self._index.transaction("DEFERRED") as index:
            data, used = self._read(index, kind, key)
        if used is None:
            return None
        if data is None:
            # Damaged, or replaced between the two reads: under the lock only damage remains.
            with self._faults(), self._index.transaction() as index:
                data, used = self._read(index, kind, key)
                if data is None:
                    index.execute("DELETE FROM entries WHERE kind=? AND key=?", (kind, key))
                    self._path(key, kind).unlink(missing_ok=True)
        if data is not None and used is not None:
            self._touch(kind, key, used)
        return data

    def remember(self, key: str, kind: str, make: Callable[[], bytes]) -> bytes:
        """The stored bytes, made and stored where there are none."""
        data = self.get(key, kind)
        if data is None:
            data = make()
            self.put(key, kind, data)
        return data

    def has(self, key: str, kind: str) -> bool:
        """Whether `get` would find something, without reading it whole."""
        with self._faults(), self._index.transaction("DEFERRED") as index:
            row = index.execute(
                "SELECT size FROM entries WHERE kind=? AND key=?", (kind, key)
            ).fetchone()
        try:
            return row is not None and self._path(key, kind).stat().st_size == row[0]
        except OSError:
            return False

    def entries(self, kind: str, family: str | None = None) -> list[Entry]:
        """The index of one kind, newest first."""
        with self._faults(), self._index.transaction("DEFERRED") as index:
            rows = index.execute(
                "SELECT key, kind, family, title, size, created, used, pinned, meta FROM entries "
                "WHERE kind=? AND (? IS NULL OR family=?) ORDER BY created DESC",
                (kind, family, family),
            ).fetchall()
        return [_entry(row) for row in rows]

    def pin(self, key: str, kind: str, pinned: bool = True) -> None:
        """Keep an entry when room is made, or no longer."""
        with self._faults(), self._index.transaction() as index:
            index.execute(
                "UPDATE entries SET pinned=? WHERE kind=? AND key=?", (int(pinned), kind, key)
            )

    def delete(self, key: str, kind: str) -> None:
        """Remove an entry; nothing happens where there is none."""
        path = self._path(key, kind)
        with self._faults(), self._index.transaction() as index:
            index.execute("DELETE FROM entries WHERE kind=? AND key=?", (kind, key))
            path.unlink(missing_ok=True)

    def size(self) -> int:
        """Bytes of all entries."""
        with self._faults(), self._index.transaction("DEFERRED") as index:
            return int(index.execute("SELECT COALESCE(SUM(size), 0) FROM entries").fetchone()[0])

    def sweep(self) -> int:
        """Remove files no row names and what dead processes left; returns how many."""
        removed = 0
        with self._faults():
            for path in self.root.glob("*/??/*"):
                kind, key = path.parts[-3], path.name
                if not _KIND.fullmatch(kind):
                    continue
                orphan = _KEY.fullmatch(key) and not self.has(key, kind)
                stale = path.suffix == ".tmp" and _age(path) > TEMPORARY_S
                if stale or (orphan and _age(path) > USED_RESOLUTION_S):
                    path.unlink(missing_ok=True)
                    removed += 1
        return removed

    def folder(self, name: str) -> Path:
        """A folder of the store's own for things that are not entries, e.g. converted models."""
        path = self.root / name
        with self._faults():
            path.mkdir(parents=True, exist_ok=True)
        return path

    def _path(self, key: str, kind: str) -> Path:
        if not _KEY.fullmatch(key) or not _KIND.fullmatch(kind):
            raise ValueError(f"not a key of the store: {kind!r}/{key!r}")
        return self.root / kind / key[:2] / key

    def _touch(self, kind: str, key: str, used: float) -> None:
        now = time.time()
        # A clock that jumped back leaves `used` in the future: that is mended too.
        if 0 <= now - used < USED_RESOLUTION_S:
            return
        # On a full disk what is stored can still be read.
        with contextlib.suppress(sqlite3.Error), self._index.transaction() as index:
            index.execute("UPDATE entries SET used=? WHERE kind=? AND key=?", (now, kind, key))

    def _read(
        self, index: sqlite3.Connection, kind: str, key: str
    ) -> tuple[bytes | None, float | None]:
        """(the bytes where they are those of the row, when the row was used or None without one)"""
        row = index.execute(
            "SELECT digest, used FROM entries WHERE kind=? AND key=?", (kind, key)
        ).fetchone()
        if row is None:
            return None, None
        try:
            data = self._path(key, kind).read_bytes()
        except OSError:
            return None, row[1]
        return data if hashlib.sha256(data).hexdigest() == row[0] else None, row[1]

    def _evict(self, keep: tuple[str, str]) -> None:
        if self.size() <= self.max_bytes:
            return
        with self._faults(), self._index.transaction() as index:
            # Another process may have made room meanwhile: the total is read under the lock.
            total = index.execute("SELECT COALESCE(SUM(size), 0) FROM entries").fetchone()[0]
            oldest = index.execute(
                "SELECT kind, key, size FROM entries WHERE pinned=0 ORDER BY used, created"
            ).fetchall()
            for kind, key, size in oldest:
                if total <= EVICT_TO * self.max_bytes:
                    break
                if (kind, key) == keep:
                    continue
                index.execute("DELETE FROM entries WHERE kind=? AND key=?", (kind, key))
                # Under the lock too: later, it could be the file of a newer put.
                self._path(key, kind).unlink(missing_ok=True)
                total -= size

    @contextlib.contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise StoreError(
                f"The store at {self.root} cannot be used ({error}). Check that the disk has room "
                "and that the folder is writable, or set VITRINE_STORE to another one."
            ) from error


def _entry(row: tuple[Any, ...]) -> Entry:
    fields = dict(zip((field.name for field in dataclasses.fields(Entry)), row, strict=True))
    return Entry(**fields | {"pinned": bool(row[7]), "meta": json.loads(row[8])})


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0
