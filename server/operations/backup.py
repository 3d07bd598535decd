"""Write the whole database into one file, as it was at one moment, while others go on writing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkstemp
from typing import IO, Any

from sqlalchemy import Connection, Engine, LargeBinary, Table, select, text

from server.database.engine import snapshots
from server.database.schema import check, newest
from server.models import Base
from server.operations.archive import ArchiveWriter, Manifest

# Rows in memory at a time; those with sources, reports and work may each have megabytes.
_ROWS = 500
_LARGE_ROWS = 10


def back_up(engine: Engine, path: Path, told: Callable[[str], None] = lambda _: None) -> Manifest:
    """Write a backup; the file is there whole or not at all, and its owner's alone.

    told: is given the name of each table before it is written
    raise (DatabaseUnavailable): the database is away, or not of this version
    raise (OSError): the file cannot be written
    """
    check(engine)
    with _written_whole(path) as file, snapshots(engine).begin() as connection:
        if engine.dialect.name == "postgresql":
            # A slow disk may hold the copy up for as long as it likes.
            connection.execute(text("SET LOCAL statement_timeout = 0"))
            connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
        with ArchiveWriter(file) as writer:
            made_at = datetime.now(UTC)
            for table in Base.metadata.sorted_tables:
                told(table.name)
                writer.write_table(table, _rows(connection, table))
            return writer.finish(newest(), made_at)


def _rows(connection: Connection, table: Table) -> Iterator[dict[str, Any]]:
    large = any(isinstance(column.type, LargeBinary) for column in table.columns)
    query = select(table).order_by(*table.primary_key.columns)
    options = {"yield_per": _LARGE_ROWS if large else _ROWS}
    for row in connection.execute(query, execution_options=options):
        yield row._asdict()


@contextmanager
def _written_whole(path: Path) -> Iterator[IO[bytes]]:
    """A file under another name, readable by its owner alone, that takes its place when all of it is on the disk."""
    descriptor, name = mkstemp(dir=path.absolute().parent, prefix=f".{path.name}.")
    unfinished = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    folder = os.open(path.absolute().parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
