"""Connections to the database, PostgreSQL or SQLite."""

from __future__ import annotations

import sqlite3
from typing import Any

from sqlalchemy import Engine, create_engine, event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError
from sqlalchemy.orm import Session, sessionmaker

_SQLITE_WAIT_SECONDS = 30

Sessions = sessionmaker[Session]


class DatabaseUnavailable(RuntimeError):
    """The database cannot be used; the text says why and what to do, without its password."""


def connect(url: str) -> Engine:
    """An engine for the address; nothing is opened yet. Raises DatabaseUnavailable for an address that is none."""
    try:
        address = make_url(url)
    except ArgumentError as error:
        raise DatabaseUnavailable("DATABASE_URL is no address of a database.") from error
    if address.drivername in {"postgres", "postgresql"}:
        address = address.set(drivername="postgresql+psycopg")
    if address.get_backend_name() == "sqlite":
        engine = create_engine(address, connect_args={"timeout": _SQLITE_WAIT_SECONDS})
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_at_once)
        return engine
    return create_engine(address, pool_pre_ping=True, isolation_level="READ COMMITTED")


def sessions(engine: Engine) -> Sessions:
    """A factory of sessions; `with made.begin() as session:` is one transaction."""
    return sessionmaker(engine, expire_on_commit=False)


def _set_up_sqlite(connection: DBAPIConnection, _record: Any) -> None:
    """Readers beside a writer, constraints in force, and transactions that begin where SQLAlchemy says so."""
    assert isinstance(connection, sqlite3.Connection)
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_at_once(connection: Any) -> None:
    """Take SQLite's one place for a writer at the start: a transaction that asks for it later can be refused it."""
    connection.exec_driver_sql("BEGIN IMMEDIATE")
