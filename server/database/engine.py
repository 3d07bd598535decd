"""Connections to the database, PostgreSQL or SQLite.

Each transaction is one `with made.begin() as session:`, short, with nothing slow inside. A read-only one may use
`readers`: on SQLite it then neither waits for a writer nor delays one.

A commit is on disk when it returns, unless the transaction allows otherwise. A connection that can't read or write
any more leaves the pool with all older ones. The next transaction opens a new one.
"""

from __future__ import annotations

import importlib
import json
from functools import partial
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine.interfaces import ExceptionContext
from sqlalchemy.exc import ArgumentError
from sqlalchemy.orm import Session, sessionmaker

from server.database.sqlite import CONNECT, READS_ONLY, UNSYNCED, WAIT_SECONDS, attach_sqlite

# Per process. A thread of the portal has one session at a time, and a process has few threads.
_POOL = {"pool_size": 8, "max_overflow": 8, "pool_timeout": 10, "pool_recycle": 1800}

# Limits for a hung server or a frozen process, which keeps its locks: nothing here takes nearly as long.
_POSTGRESQL_OPTIONS = {"statement_timeout": "30s", "lock_timeout": "10s"}
_FROZEN_SECONDS, _FROZEN_SECONDS_OF_REPEATING = 60, 30
_POSTGRESQL_CONNECTION: dict[str, Any] = {
    "connect_timeout": 5,
    "keepalives_idle": 30,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
    "application_name": "tilelab",
}

_STANDBY = "25006"  # PostgreSQL is read-only: the server became a standby after the connection was opened

Sessions = sessionmaker[Session]


class DatabaseUnavailable(RuntimeError):
    """The database can't be used; the text says why and what to do, without the password."""


def connect(url: str, *, repeats: bool = False) -> Engine:
    """Create an engine; opens no connection. Raises DatabaseUnavailable for an invalid address.

    repeats: whether this process repeats failed transactions. Then connections aren't tested before each one, and
        PostgreSQL soon ends a transaction in which the process does nothing
    """
    address = _address(url)
    # JSON has no NaN; without this, SQLite would store what PostgreSQL refuses.
    # Parameters are private: sources, emails, digests of tokens. Errors, and thus logs, never show them.
    options: dict[str, Any] = {"json_serializer": partial(json.dumps, allow_nan=False), "hide_parameters": True}
    if address.get_backend_name() == "sqlite":
        engine = create_engine(address, connect_args=CONNECT, **options)
        attach_sqlite(engine)
        return engine
    from server.database.described import DescribedOnDemand  # psycopg takes long to load, and SQLite needs none

    given = {name: value for name, value in _POSTGRESQL_CONNECTION.items() if name not in address.query}
    given["cursor_factory"] = DescribedOnDemand
    if "options" not in address.query:
        seconds = _FROZEN_SECONDS_OF_REPEATING if repeats else _FROZEN_SECONDS
        frozen = {"idle_in_transaction_session_timeout": f"{seconds}s"}
        given["options"] = " ".join(f"-c {name}={value}" for name, value in (_POSTGRESQL_OPTIONS | frozen).items())
    engine = create_engine(
        address, connect_args=given, isolation_level="READ COMMITTED", pool_pre_ping=not repeats, **_POOL, **options
    )
    event.listen(engine, "begin", _begin_postgresql)
    event.listen(engine, "handle_error", _discard_standby)
    event.listen(engine, "handle_error", _leave_rows_out)
    return engine


def sessions(engine: Engine) -> Sessions:
    """A factory of sessions; `with made.begin() as session:` is one transaction."""
    _know_all_tables()
    return sessionmaker(engine, expire_on_commit=False)


def readers(engine: Engine) -> Sessions:
    """A factory of read-only sessions, each of which sees the database at the moment of its first read."""
    _know_all_tables()
    return sessionmaker(snapshots(engine), expire_on_commit=False, autoflush=False)


def hasty(engine: Engine, seconds: float, *, synced: bool = True) -> Sessions:
    """A factory of writing sessions that wait no longer than this for another transaction's lock.

    synced: False if a power failure may lose their writes
    """
    _know_all_tables()
    options = {WAIT_SECONDS: seconds, UNSYNCED: not synced}
    return sessionmaker(engine.execution_options(**options), expire_on_commit=False)


def leave_unsynced(session: Session) -> None:
    """Allow a power failure to lose this transaction's writes; call it first. No effect on PostgreSQL."""
    session.connection(execution_options={UNSYNCED: True})


def _know_all_tables() -> None:
    """Load all tables, because classes refer to each other by name."""
    importlib.import_module("server.models")


def snapshots(engine: Engine) -> Engine:
    """The same engine for read-only transactions that see one state of the database from begin to end."""
    if engine.dialect.name == "sqlite":
        return engine.execution_options(**{READS_ONLY: True})
    return engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)


def _address(url: str) -> URL:
    try:
        address = make_url(url.strip())
    except (ArgumentError, ValueError) as error:
        raise DatabaseUnavailable(
            "DATABASE_URL is not a database address. Use sqlite:////folder/tilelab.db or "
            "postgresql://user:password@host/database."
        ) from error
    if address.drivername in {"postgres", "postgresql", "postgresql+psycopg"}:
        return address.set(drivername="postgresql+psycopg")
    if address.drivername in {"sqlite", "sqlite+pysqlite"}:
        return address
    raise DatabaseUnavailable(f"DATABASE_URL begins with {address.drivername}://. Use postgresql:// or sqlite://.")


def _leave_rows_out(context: ExceptionContext) -> None:
    """Keep only the first line of a PostgreSQL error: its detail quotes the refused row."""
    said, told = context.original_exception, context.sqlalchemy_exception
    first = getattr(getattr(said, "diag", None), "message_primary", None)
    if first and told is not None:
        told.args = (str(told.args[0]).replace(str(said), first),)
        said.args = (first,)


def _discard_standby(context: ExceptionContext) -> None:
    """Let the pool drop a connection to a read-only server, and all older connections."""
    if getattr(context.original_exception, "sqlstate", None) == _STANDBY:
        context.is_disconnect = True


def _begin_postgresql(connection: Connection) -> None:
    seconds = connection.get_execution_options().get(WAIT_SECONDS)
    if seconds is not None:
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {max(1, int(seconds * 1000))}")
