"""Connections to an SQLite file: readers beside a writer, commits that are on the disk, and no stale connections.

Where a file can't be written, SQLite opens it read-only and says so only at the first write. All connections of a
process share their view of the files beside the database, so one that was opened read-only first makes every later one
read-only, for as long as any is open. Hence one connection is kept open, and it is always one that can write.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection, ExceptionContext
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry

READS_ONLY = "tilelab_reads_only"
WAIT_SECONDS = "tilelab_wait_seconds"
UNSYNCED = "tilelab_unsynced"
"""Options of a transaction: that it only reads, how long it waits for the writer's place if not as usual, and that a
loss of power may take it back."""

# A writer waits for its turn; longer than any of the server's transactions takes on a slow machine.
_WAIT_SECONDS = 60
CONNECT = {"timeout": _WAIT_SECONDS}

_READ_ONLY, _LEVEL = "tilelab_read_only", "tilelab_synchronous"

# What SQLite says when the file behind a connection isn't what it was when it was opened.
_STALE = frozenset({
    sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
})  # fmt: skip


def attach_sqlite(engine: Engine) -> None:
    """Let the engine's connections and transactions be as this module says."""
    kept = _Kept()
    event.listen(engine, "connect", kept.set_up)
    event.listen(engine, "checkout", _replace_read_only)
    event.listen(engine, "begin", _begin)
    event.listen(engine, "handle_error", _discard_stale)
    event.listen(engine, "engine_disposed", kept.close)


class _Kept:
    """The connection that is kept open, to the file that is there now."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None

    def set_up(self, connection: DBAPIConnection, record: ConnectionPoolEntry) -> None:
        """For each new connection; raises sqlite3.OperationalError where it would make all others read-only."""
        assert isinstance(connection, sqlite3.Connection)
        connection.isolation_level = None
        file = Path(connection.execute("PRAGMA database_list").fetchone()[2])
        writable = file == Path() or os.access(file, os.W_OK)
        if file != Path() and not self._has(file, open_it=writable):
            connection.close()
            raise sqlite3.OperationalError(
                "the file is read-only, and this process never had it open otherwise"
            )
        if writable:
            _use_write_ahead_log(connection)
        for pragma in ("synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")
        record.info[_LEVEL] = "FULL"
        record.info[_READ_ONLY] = None if writable else file

    def close(self, _engine: Engine) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = self._file = None

    def _has(self, file: Path, *, open_it: bool) -> bool:
        """Whether one is open to this file, perhaps by now."""
        found = file.stat()
        with self._lock:
            if self._file != (found.st_dev, found.st_ino) and open_it:
                if self._connection is not None:
                    self._connection.close()
                self._connection = sqlite3.connect(
                    file, _WAIT_SECONDS, isolation_level=None, check_same_thread=False
                )
                _use_write_ahead_log(self._connection)
                self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
                self._file = found.st_dev, found.st_ino
            return self._file == (found.st_dev, found.st_ino)


def _replace_read_only(connection: DBAPIConnection, record: ConnectionPoolEntry, _proxy: Any) -> None:
    """Open a connection again that was opened while its file was read-only, once the file isn't any more."""
    file = record.info.get(_READ_ONLY)
    if file is not None and os.access(file, os.W_OK):
        raise DisconnectionError("opened while the file was read-only")


def _discard_stale(context: ExceptionContext) -> None:
    """Let the pool drop a connection that a new one may be better than, and those that were opened before it."""
    if getattr(context.original_exception, "sqlite_errorcode", 0) & 0xFF in _STALE:
        context.is_disconnect = True


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Stays so in the file. SQLite refuses the change at once where two ask for it together, without its usual wait."""
    last = time.monotonic() + _WAIT_SECONDS
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > last:
                raise
            time.sleep(0.05)
        else:
            return  # a database in memory has none


def _begin(connection: Connection) -> None:
    """Take SQLite's one place for a writer at the start: a transaction that asks for it later can be refused it."""
    reads = bool(connection.get_execution_options().get(READS_ONLY))
    level = "NORMAL" if connection.get_execution_options().get(UNSYNCED) else "FULL"
    if not reads and connection.info.get(_LEVEL) != level:
        connection.exec_driver_sql(f"PRAGMA synchronous={level}")
        connection.info[_LEVEL] = level
    connection.exec_driver_sql(f"PRAGMA query_only={'ON' if reads else 'OFF'}")
    with _waiting(connection):
        connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


@contextmanager
def _waiting(connection: Connection) -> Iterator[None]:
    seconds = connection.get_execution_options().get(WAIT_SECONDS)
    driver = connection.connection.driver_connection
    if seconds is None or driver is None:
        yield
        return
    driver.execute(f"PRAGMA busy_timeout={int(seconds * 1000)}")
    try:
        yield
    finally:
        with suppress(sqlite3.Error):  # closed by now if it failed for good
            driver.execute(f"PRAGMA busy_timeout={_WAIT_SECONDS * 1000}")


def compact(engine: Engine) -> bool | None:
    """Make the file anew, without what was removed from it; says whether it was done.

    It isn't where others keep the file in use. None for PostgreSQL, which clears up by itself.
    """
    if engine.dialect.name != "sqlite":
        return None
    connection = engine.raw_connection()
    try:
        driver = connection.driver_connection
        assert driver is not None
        driver.execute("PRAGMA query_only=OFF")
        driver.execute("VACUUM")
        busy, _, _ = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.OperationalError:
        return False
    finally:
        connection.close()
    return not busy
