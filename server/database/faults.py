"""Explain in one line why a database can't be used, without its password."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

from sqlalchemy import URL, Engine
from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from server.database.engine import DatabaseUnavailable

_LONGEST_REASON = 200

# Parts of the messages of PostgreSQL and its library, with a cause and a remedy.
_CAUSES = (
    ("password authentication failed", "it refuses the password", "Check the user and password in DATABASE_URL"),
    ("role", "it has no such user", "Check the user in DATABASE_URL"),
    ("no password supplied", "it needs a password", "Put one into DATABASE_URL, or into the file of DATABASE_URL_FILE"),
    ("no pg_hba.conf entry", "it refuses connections from this machine", "Allow this machine in its pg_hba.conf"),
    ("connection refused", "no server answers there", "Start it, or correct DATABASE_URL"),
    ("no such file or directory", "no server answers there", "Start it, or correct DATABASE_URL"),
    ("resolve host", "no machine has that name", "Correct DATABASE_URL"),
    ("translate host name", "no machine has that name", "Correct DATABASE_URL"),
    ("timeout expired", "it does not answer", "Check that it runs and that this machine can reach it"),
    ("connection timeout", "it does not answer", "Check that it runs and that this machine can reach it"),
    ("starting up", "it is starting", "Try again in a moment"),
    ("shutting down", "it is stopping", "Start it again"),
    ("too many clients", "it has no free connection", "Raise its max_connections, or start fewer processes here"),
)  # fmt: skip


# Prefixes of PostgreSQL's codes for problems that pass or that an operator ends. They are connections, resources,
# intervention and system errors, rollbacks for another transaction, read-only (a standby), and a missed lock. An
# incorrect password is among them.
_PASSES = ("08", "53", "57P", "58", "40", "25006", "25P03", "55P03", "28", "3D")
_TOO_MUCH = "54"  # beyond PostgreSQL's limits: too large a row, statement or nesting

# Another transaction added or removed a row meanwhile: unique values and references.
_TAKEN = frozenset({"23505", "23503"})
_SQLITE_TAKEN = frozenset({
    sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY,
})  # fmt: skip

_SQLITE_PASSES = frozenset({
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_NOTADB,
})  # fmt: skip


class Outlook(StrEnum):
    """Whether another try may succeed."""

    PASSES = "passes"  # the database is down or busy, for however long
    LASTS = "lasts"  # each try fails in the same way
    UNKNOWN = "unknown"  # a few tries show it


@contextmanager
def explained(engine: Engine) -> Iterator[None]:
    """Turn a driver's errors about an unusable database into DatabaseUnavailable."""
    try:
        yield
    except PoolTimeout as error:
        raise DatabaseUnavailable(f"{_named(engine.url)}: all connections of this process are in use.") from error
    except DBAPIError as error:
        if not _about_the_database(error):
            raise
        raise DatabaseUnavailable(_reason(engine.url, str(error.orig))) from error


def outlook(error: DBAPIError) -> Outlook:
    """Whether another try after this error may succeed."""
    primary = getattr(error.orig, "sqlite_errorcode", None)
    if primary is not None:
        if primary & 0xFF in _SQLITE_PASSES:
            return Outlook.PASSES
    elif (code := getattr(error.orig, "sqlstate", None)) is not None:
        if code.startswith(_PASSES):
            return Outlook.PASSES
        if code.startswith(_TOO_MUCH):
            return Outlook.LASTS
    elif isinstance(error, OperationalError):
        return Outlook.PASSES  # a broken or refused connection has no code
    if error.connection_invalidated:
        return Outlook.PASSES
    return Outlook.UNKNOWN if isinstance(error, (OperationalError, InterfaceError)) else Outlook.LASTS


def is_conflict(error: IntegrityError) -> bool:
    """Whether another transaction wrote first, so that trying again may succeed."""
    code = getattr(error.orig, "sqlite_errorcode", None)
    return code in _SQLITE_TAKEN if code is not None else getattr(error.orig, "sqlstate", None) in _TAKEN


def check_file(url: URL) -> None:
    """Raise DatabaseUnavailable if SQLite can't create or write its file or the files next to it."""
    if url.database in {None, "", ":memory:"}:
        return
    file = Path(str(url.database)).absolute()
    if not os.path.isdir(file.parent):  # noqa: PTH112 - without rights above it, Path raises
        raise DatabaseUnavailable(
            f"The database's folder {file.parent} does not exist for this user. Create it, or correct DATABASE_URL."
        )
    if not os.access(file.parent, os.W_OK | os.X_OK):
        raise DatabaseUnavailable(f"The database can't be written: this user can't write to the folder {file.parent}.")
    if file.is_dir():
        raise DatabaseUnavailable(f"The database {file} is a folder. Set DATABASE_URL to a file.")
    if file.exists() and not os.access(file, os.R_OK | os.W_OK):
        raise DatabaseUnavailable(f"This user can't read and write the database {file}.")


def _about_the_database(error: DBAPIError) -> bool:
    if getattr(error.orig, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR:
        return False  # SQLite's driver also calls an invalid statement an operational error
    return isinstance(error, OperationalError) or error.connection_invalidated or "not a database" in str(error.orig)


def _reason(url: URL, text: str) -> str:
    named = _named(url)
    found = text.casefold()
    if url.get_backend_name() == "sqlite":
        if "not a database" in found:
            return f"{named}: the file is not an SQLite database. Correct DATABASE_URL, or restore a backup."
        return f"{named}: {_bounded(text, url)}."
    if "does not exist" in found and f'database "{url.database}"'.casefold() in found:
        return f"{named}: it does not exist. Create it (createdb {url.database}), or correct DATABASE_URL."
    for words, cause, remedy in _CAUSES:
        if words in found:
            return f"{named}: {cause}. {remedy}."
    return f"{named}: {_bounded(text, url)}."


def _named(url: URL) -> str:
    if url.get_backend_name() == "sqlite":
        return f"The database {Path(str(url.database)).absolute() if url.database else 'in memory'}"
    host = url.query.get("host") or url.host or "localhost"
    port = f":{url.port}" if url.port else ""
    user = f" as user {url.username}" if url.username else ""
    return f"The database {url.database} at {host}{port}{user}"


def _bounded(text: str, url: URL) -> str:
    """The driver's message in one line, with the password removed."""
    line = " ".join(text.split()).rstrip(".")
    if url.password:
        line = line.replace(str(url.password), "***")
    return line[:_LONGEST_REASON]
