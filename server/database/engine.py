"""Connections to the database, PostgreSQL or SQLite.

Everywhere a transaction is one `with made.begin() as session:`, short, with nothing slow inside. One that only reads
may use `readers`: on SQLite it then waits for no writer, and no writer for it.
"""

from __future__ import annotations

import importlib
import json
import sqlite3
import time
from functools import partial
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection, ExceptionContext
from sqlalchemy.exc import ArgumentError
from sqlalchemy.orm import Session, sessionmaker

# A writer of SQLite waits for its turn; longer than any of the server's transactions takes on a slow machine.
_SQLITE_WAIT_SECONDS = 60

# For each process. A thread of the portal has one session at a time, and a process has few threads.
_POOL = {"pool_size": 8, "max_overflow": 8, "pool_timeout": 10, "pool_recycle": 1800}

# What a hung server or a forgotten transaction may cost: nothing here takes nearly as long.
_POSTGRESQL_OPTIONS = {
    "statement_timeout": "30s",
    "lock_timeout": "10s",
    "idle_in_transaction_session_timeout": "60s",
}
_POSTGRESQL_CONNECTION: dict[str, Any] = {
    "connect_timeout": 5,
    "keepalives_idle": 30,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
    "application_name": "tilelab",
}

_READS_ONLY = "tilelab_reads_only"

Sessions = sessionmaker[Session]


class DatabaseUnavailable(RuntimeError):
    """The database cannot be used; the text says why and what to do, without its password."""


def connect(url: str) -> Engine:
    """An engine for the address; nothing is opened yet. Raises DatabaseUnavailable for an address that is none."""
    address = _address(url)
    # JSON has no NaN; without this SQLite would keep what PostgreSQL refuses.
    # What a statement was given is somebody's: sources, emails, digests of tokens. No error tells it, and so no log.
    options: dict[str, Any] = {
        "json_serializer": partial(json.dumps, allow_nan=False),
        "hide_parameters": True,
    }
    if address.get_backend_name() == "sqlite":
        engine = create_engine(address, connect_args={"timeout": _SQLITE_WAIT_SECONDS}, **options)
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    given = {name: value for name, value in _POSTGRESQL_CONNECTION.items() if name not in address.query}
    if "options" not in address.query:
        given["options"] = " ".join(f"-c {name}={value}" for name, value in _POSTGRESQL_OPTIONS.items())
    engine = create_engine(
        address, connect_args=given, isolation_level="READ COMMITTED", pool_pre_ping=True, **_POOL, **options
    )
    event.listen(engine, "handle_error", _leave_rows_out)
    return engine


def sessions(engine: Engine) -> Sessions:
    """A factory of sessions; `with made.begin() as session:` is one transaction."""
    _know_all_tables()
    return sessionmaker(engine, expire_on_commit=False)


def readers(engine: Engine) -> Sessions:
    """A factory of sessions that see the database as it was when they began to read, and cannot write."""
    _know_all_tables()
    return sessionmaker(snapshots(engine), expire_on_commit=False, autoflush=False)


def _know_all_tables() -> None:
    """A class of one table refers to others by name: a session can use none before all of them are loaded."""
    importlib.import_module("server.models")


def snapshots(engine: Engine) -> Engine:
    """The same engine, for transactions that only read and see one state of the database from begin to end."""
    if engine.dialect.name == "sqlite":
        return engine.execution_options(**{_READS_ONLY: True})
    return engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)


def _address(url: str) -> URL:
    try:
        address = make_url(url.strip())
    except (ArgumentError, ValueError) as error:
        raise DatabaseUnavailable(
            "DATABASE_URL is no address of a database. Such are sqlite:////folder/tilelab.db and "
            "postgresql://user:password@host/database."
        ) from error
    if address.drivername in {"postgres", "postgresql", "postgresql+psycopg"}:
        return address.set(drivername="postgresql+psycopg")
    if address.drivername in {"sqlite", "sqlite+pysqlite"}:
        return address
    raise DatabaseUnavailable(
        f"DATABASE_URL begins with {address.drivername}://; Tilelab knows postgresql:// and sqlite://."
    )


def _leave_rows_out(context: ExceptionContext) -> None:
    """PostgreSQL shows in the detail of an error the row that it refuses; keep what it says first."""
    said, told = context.original_exception, context.sqlalchemy_exception
    first = getattr(getattr(said, "diag", None), "message_primary", None)
    if first and told is not None:
        told.args = (str(told.args[0]).replace(str(said), first),)
        said.args = (first,)


def _set_up_sqlite(connection: DBAPIConnection, _record: Any) -> None:
    """Readers beside a writer, constraints in force, and transactions that begin where SQLAlchemy says so."""
    assert isinstance(connection, sqlite3.Connection)
    connection.isolation_level = None
    _use_write_ahead_log(connection)
    for pragma in ("synchronous=NORMAL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Stays so in the file. SQLite refuses the change at once where two ask for it together, without its usual wait."""
    last = time.monotonic() + _SQLITE_WAIT_SECONDS
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > last:
                raise
            time.sleep(0.05)
        else:
            return  # a database in memory has none


def _begin_sqlite(connection: Connection) -> None:
    """Take SQLite's one place for a writer at the start: a transaction that asks for it later can be refused it."""
    reads = bool(connection.get_execution_options().get(_READS_ONLY))
    connection.exec_driver_sql(f"PRAGMA query_only={'ON' if reads else 'OFF'}")
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")
