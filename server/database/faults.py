"""Why a database cannot be used, in one line that names it and tells no password."""

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

# What PostgreSQL and its library say, in part, and what can be done about it.
_CAUSES = (
    ("password authentication failed", "it refuses the password", "Check the user and password in DATABASE_URL"),
    ("role", "it knows no such user", "Check the user in DATABASE_URL"),
    ("no password supplied", "it wants a password", "Put one into DATABASE_URL, or into the file of DATABASE_URL_FILE"),
    ("no pg_hba.conf entry", "it lets nobody in from this machine", "Let this machine in, in its pg_hba.conf"),
    ("connection refused", "nothing listens there", "Start it, or correct DATABASE_URL"),
    ("no such file or directory", "nothing listens there", "Start it, or correct DATABASE_URL"),
    ("resolve host", "no machine has that name", "Correct DATABASE_URL"),
    ("translate host name", "no machine has that name", "Correct DATABASE_URL"),
    ("timeout expired", "it does not answer", "See whether it runs and can be reached from here"),
    ("connection timeout", "it does not answer", "See whether it runs and can be reached from here"),
    ("starting up", "it is starting", "Try again in a moment"),
    ("shutting down", "it is stopping", "Start it again"),
    ("too many clients", "it has no connection left", "Raise max_connections there, or start fewer processes here"),
)  # fmt: skip


# Beginnings of PostgreSQL's codes for what passes, or what an operator ends: connections, resources, intervention,
# system errors, rolled back for another's sake, reads only (a standby), a lock that did not come, a wrong password.
_PASSES = ("08", "53", "57P", "58", "40", "25006", "25P03", "55P03", "28", "3D")
_TOO_MUCH = "54"  # more than PostgreSQL can ever take: a row, a statement, a nesting

# A row that another transaction made or took away in the meantime: unique values, and what others refer to.
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
    """Whether what failed in the database is worth another try."""

    PASSES = "passes"  # it is away or busy: however long that lasts
    LASTS = "lasts"  # the same fails in the same way each time
    UNKNOWN = "unknown"  # a few tries tell


@contextmanager
def explained(engine: Engine) -> Iterator[None]:
    """Turn what a driver raises where the database cannot be used into DatabaseUnavailable."""
    try:
        yield
    except PoolTimeout as error:
        raise DatabaseUnavailable(
            f"{_named(engine.url)}: every connection of this process is in use."
        ) from error
    except DBAPIError as error:
        if not _about_the_database(error):
            raise
        raise DatabaseUnavailable(_reason(engine.url, str(error.orig))) from error


def outlook(error: DBAPIError) -> Outlook:
    """What another try would bring."""
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
        return Outlook.PASSES  # a connection that broke or never was has no code
    if error.connection_invalidated:
        return Outlook.PASSES
    return Outlook.UNKNOWN if isinstance(error, (OperationalError, InterfaceError)) else Outlook.LASTS


def somebody_was_first(error: IntegrityError) -> bool:
    """Whether what was looked at before is so no longer: the same done after another look may well succeed."""
    code = getattr(error.orig, "sqlite_errorcode", None)
    return code in _SQLITE_TAKEN if code is not None else getattr(error.orig, "sqlstate", None) in _TAKEN


def check_file(url: URL) -> None:
    """Raise DatabaseUnavailable where SQLite could not make or write its file; also for the files beside it."""
    if url.database in {None, "", ":memory:"}:
        return
    file = Path(str(url.database)).absolute()
    if not file.parent.is_dir():
        raise DatabaseUnavailable(
            f"There is no folder {file.parent} for the database. Make it, or correct DATABASE_URL."
        )
    if file.is_dir():
        raise DatabaseUnavailable(f"The database {file} is a folder. DATABASE_URL has to name a file.")
    if not os.access(file.parent, os.W_OK | os.X_OK):
        raise DatabaseUnavailable(
            f"The database cannot be written: the folder {file.parent} is not writable for this user."
        )
    if file.exists() and not os.access(file, os.R_OK | os.W_OK):
        raise DatabaseUnavailable(f"The database {file} is not readable and writable for this user.")


def _about_the_database(error: DBAPIError) -> bool:
    if getattr(error.orig, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR:
        return False  # a statement that is wrong, which SQLite's driver calls an operational error too
    return (
        isinstance(error, OperationalError)
        or error.connection_invalidated
        or "not a database" in str(error.orig)
    )


def _reason(url: URL, text: str) -> str:
    named = _named(url)
    found = text.casefold()
    if url.get_backend_name() == "sqlite":
        if "not a database" in found:
            return f"{named}: the file is no SQLite database. Correct DATABASE_URL, or restore a backup."
        return f"{named}: {_bounded(text, url)}."
    if "does not exist" in found and f'database "{url.database}"'.casefold() in found:
        return f"{named}: there is none of that name. Create it (createdb {url.database}), or correct DATABASE_URL."
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
    """The driver's own words in one line, without the password should they hold it."""
    line = " ".join(text.split()).rstrip(".")
    if url.password:
        line = line.replace(str(url.password), "***")
    return line[:_LONGEST_REASON]
