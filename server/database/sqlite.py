"""Connections to an SQLite file: parallel readers, durable commits, and no stale connections.

If a file isn't writable, SQLite silently opens it read-only and fails at the first write. A process's connections
share
state: while one read-only connection is open, all later ones are read-only too. Therefore one writable connection
always stays open.
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
"""Options of a transaction: read-only, seconds to wait for the write lock, whether a power failure may lose it."""

# How long a writer waits; longer than the server's transactions take on a slow machine.
_WAIT_SECONDS = 60
CONNECT = {"timeout": _WAIT_SECONDS}

_READ_ONLY, _LEVEL = "tilelab_read_only", "tilelab_synchronous"

# SQLite's errors if the file behind a connection was replaced or changed.
_STALE = frozenset({
    sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
})  # fmt: skip


def attach_sqlite(engine: Engine) -> None:
    """Set up the engine's connections and transactions."""
    kept = _Kept()
    event.listen(engine, "connect", kept.set_up)
    event.listen(engine, "checkout", _replace_read_only)
    event.listen(engine, "begin", _begin)
    event.listen(engine, "handle_error", _discard_stale)
    event.listen(engine, "engine_disposed", kept.close)


class _Kept:
    """The writable connection that stays open, to the current file."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None

    def set_up(self, connection: DBAPIConnection, record: ConnectionPoolEntry) -> None:
        """Runs for each new connection; raises sqlite3.OperationalError if it would make all others read-only."""
        assert isinstance(connection, sqlite3.Connection)
        connection.isolation_level = None
        file = Path(connection.execute("PRAGMA database_list").fetchone()[2])
        writable = file == Path() or os.access(file, os.W_OK)
        if file != Path() and not self._has(file, open_it=writable):
            connection.close()
            raise sqlite3.OperationalError("the file is read-only, and this process has no writable connection to it")
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
        """Whether a writable connection to this file is open; may open one."""
        found = file.stat()
        with self._lock:
            if self._file != (found.st_dev, found.st_ino) and open_it:
                if self._connection is not None:
                    self._connection.close()
                self._connection = sqlite3.connect(file, _WAIT_SECONDS, isolation_level=None, check_same_thread=False)
                _use_write_ahead_log(self._connection)
                self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
                self._file = found.st_dev, found.st_ino
            return self._file == (found.st_dev, found.st_ino)


def _replace_read_only(connection: DBAPIConnection, record: ConnectionPoolEntry, _proxy: Any) -> None:
    """Reopen a connection that was opened while its file was read-only, once the file is writable."""
    file = record.info.get(_READ_ONLY)
    if file is not None and os.access(file, os.W_OK):
        raise DisconnectionError("opened while the file was read-only")


def _discard_stale(context: ExceptionContext) -> None:
    """Let the pool drop a stale connection and all older ones."""
    if getattr(context.original_exception, "sqlite_errorcode", 0) & 0xFF in _STALE:
        context.is_disconnect = True


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Switch the file to its write-ahead log, permanently. Simultaneous switches fail at once, so this retries."""
    last = time.monotonic() + _WAIT_SECONDS
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > last:
                raise
            time.sleep(0.05)
        else:
            return  # a database in memory has no such log


def _begin(connection: Connection) -> None:
    """Lock SQLite's single writer at the start: a later request for the lock can fail."""
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
        with suppress(sqlite3.Error):  # the connection may be closed after a failure
            driver.execute(f"PRAGMA busy_timeout={_WAIT_SECONDS * 1000}")


def compact(engine: Engine) -> bool | None:
    """Rewrite the file without its removed data; returns whether that succeeded.

    It fails while other processes use the file. None for PostgreSQL, which cleans up by itself.
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
