"""The store's index: an SQLite file that several processes and threads write at once."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

log = logging.getLogger("vitrine.store")

_DAMAGE = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)


class Index:
    """One table in one SQLite file.

    A file that SQLite cannot read is moved aside and a new one started.

    Args:
        path: the file; made when missing.
        table: the statement that makes the table when it is missing.

    Raises:
        OSError, sqlite3.Error: the file cannot be used.
    """

    def __init__(self, path: Path, table: str) -> None:
        self.path, self.table = path, table
        self._local = threading.local()
        try:
            self._open()
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode not in _DAMAGE:
                raise
            self._start_anew()

    @contextmanager
    def transaction(self, mode: str = "IMMEDIATE") -> Iterator[sqlite3.Connection]:
        """This thread's connection in a transaction; readers ask for DEFERRED."""
        connection = self._connection()
        connection.execute(f"BEGIN {mode}")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            # A full disk makes SQLite roll back by itself.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def disconnect(self) -> None:
        """Close this thread's connection."""
        connection = self._local.__dict__.pop("connection", None)
        if connection is not None:
            connection.close()

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = sqlite3.connect(self.path, timeout=30, isolation_level=None)
            self._local.connection = connection
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
        return connection

    def _open(self) -> None:
        with self.transaction() as index:
            index.execute(self.table)
            if index.execute("PRAGMA quick_check").fetchone()[0] != "ok":
                damaged = sqlite3.DatabaseError("the index is damaged")
                damaged.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
                raise damaged

    def _start_anew(self) -> None:
        with FileLock(self.path.with_suffix(".lock")):
            self.disconnect()
            try:
                self._open()  # another process may have mended it meanwhile
            except sqlite3.DatabaseError:
                self.disconnect()
                self.path.replace(self.path.with_suffix(".damaged"))
                for suffix in ("-wal", "-shm"):
                    self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
                self._open()
                log.warning("%s was damaged; a new index was started", self.path)
