"""Restore a backup into an empty database of either kind, completely or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, LargeBinary, Table, func, insert, select, text
from sqlalchemy.exc import DataError, IntegrityError

from server.database.schema import NoSchema, check, newest, upgrade
from server.models import Base
from server.operations.archive import ArchiveError, ArchiveReader, Manifest

_ROWS = 100
_LARGE_ROWS = 10
_LONGEST_REASON = 200


class RestoreRefused(ValueError):
    """The backup wasn't restored, and the database is unchanged; the text says why."""


def restore(engine: Engine, path: Path, told: Callable[[str], None] = lambda _: None) -> Manifest:
    """Restore a backup; creates the tables if there are none.

    Raises DatabaseUnavailable; OSError if the file can't be read. Raises RestoreRefused if the file is damaged or has
    another version, or if the database isn't empty.

    told: called with each table's name before it is read
    """
    try:
        with path.open("rb") as file, ArchiveReader(file) as archive:
            _check_version(path, archive.manifest)
            _check_schema(engine)
            with engine.begin() as connection:
                _refuse_unless_empty(connection)
                for table in Base.metadata.sorted_tables:
                    told(table.name)
                    _read_table(connection, table, archive.rows(table))
            return archive.manifest
    except ArchiveError as error:
        raise RestoreRefused(f"{path} can't be restored: {error}. Nothing was changed.") from error


def _check_version(path: Path, manifest: Manifest) -> None:
    if manifest.revision != newest():
        raise RestoreRefused(
            f"{path} has tables of version {manifest.revision}, but this code has {newest()}. "
            "Restore it with the code that wrote it. Then update the database with: tilelab admin migrate"
        )
    if strange := set(manifest.tables) - set(Base.metadata.tables):
        raise RestoreRefused(f"{path} has an unknown table, {min(strange)}. Nothing was changed.")


def _check_schema(engine: Engine) -> None:
    """Create the tables if there are none. An older database needs an operator to migrate it."""
    try:
        check(engine)
    except NoSchema:
        upgrade(engine)


def _refuse_unless_empty(connection: Connection) -> None:
    """Also locks all tables, so that no other process writes until the end."""
    tables = Base.metadata.sorted_tables
    if connection.dialect.name == "postgresql":
        connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
        connection.execute(text(f"LOCK TABLE {', '.join(table.name for table in tables)} IN EXCLUSIVE MODE"))
    for table in tables:
        if connection.scalar(select(func.count()).select_from(select(table).limit(1).subquery())):
            raise RestoreRefused(
                f"The database is not empty: its table {table.name} has rows. Create an empty database, point "
                "DATABASE_URL to it, and restore there."
            )


def _read_table(connection: Connection, table: Table, rows: Iterator[dict[str, Any]]) -> None:
    large = any(isinstance(column.type, LargeBinary) for column in table.columns)
    try:
        for some in _batches(rows, _LARGE_ROWS if large else _ROWS):
            connection.execute(insert(table), some)
    except (DataError, IntegrityError) as error:
        reason = " ".join(str(error.orig).split())[:_LONGEST_REASON]
        raise ArchiveError(f"the table {table.name} has a row that this database refuses ({reason})") from error
    _go_on_counting(connection, table)


def _batches(rows: Iterator[dict[str, Any]], size: int) -> Iterable[list[dict[str, Any]]]:
    while some := list(islice(rows, size)):
        yield some


def _go_on_counting(connection: Connection, table: Table) -> None:
    """Set PostgreSQL's ID counter after the largest restored ID."""
    counted = table.autoincrement_column
    if connection.dialect.name != "postgresql" or counted is None:
        return
    connection.execute(
        text(
            f"SELECT setval(pg_get_serial_sequence(:name, :id), max({counted.name})) FROM {table.name} "  # noqa: S608 - names of our own tables
            f"HAVING max({counted.name}) IS NOT NULL"
        ),
        {"name": table.name, "id": counted.name},
    )
