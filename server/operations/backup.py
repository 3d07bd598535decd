"""Back up the whole database into one file: its state at one moment, while others go on writing."""

from __future__ import annotations

import os
import stat
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkstemp
from typing import IO, Any

from sqlalchemy import Connection, Engine, LargeBinary, Table, select, text

from server.database.engine import snapshots
from server.database.schema import check, newest
from server.models import Base
from server.operations.archive import ArchiveWriter, Manifest, has_manifest

# Rows in memory at a time; rows with sources, reports and work may each have megabytes.
_ROWS = 500
_LARGE_ROWS = 10


class BackupRefused(ValueError):
    """The target must not be replaced; the text says why."""


def back_up(
    engine: Engine, path: Path, told: Callable[[str], None] = lambda _: None, *, replace: bool = False
) -> Manifest:
    """Write a backup; the file appears only when complete, and only its owner can read it.

    Raises DatabaseUnavailable; OSError if the file can't be written; BackupRefused if the path is in use.

    told: called with each table's name before it is written
    replace: replace any regular file, not just an earlier backup
    """
    _check_place(path, replace=replace)
    check(engine)
    with _written_whole(path, replace=replace) as file:
        return _write(engine, file, told)


def stream(engine: Engine, file: IO[bytes], told: Callable[[str], None] = lambda _: None) -> Manifest:
    """Write a backup to an open file, such as a pipe. Its manifest shows the reader that it is complete."""
    check(engine)
    manifest = _write(engine, file, told)
    file.flush()
    return manifest


def _write(engine: Engine, file: IO[bytes], told: Callable[[str], None]) -> Manifest:
    with snapshots(engine).begin() as connection:
        if engine.dialect.name == "postgresql":
            # Writing to a slow disk may take any time.
            connection.execute(text("SET LOCAL statement_timeout = 0"))
            connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
        with ArchiveWriter(file) as writer:
            made_at = datetime.now(UTC)
            for table in Base.metadata.sorted_tables:
                told(table.name)
                writer.write_table(table, _rows(connection, table))
            return writer.finish(newest(), made_at)


def _check_place(path: Path, *, replace: bool) -> None:
    """Refuse to replace anything but a regular file; without `replace`, anything but an earlier backup."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(found.st_mode):
        kind = next((name for test, name in _KINDS if test(found.st_mode)), "not a regular file")
        raise BackupRefused(f"{path} is {kind}. Give a new file's name, or `-` for standard output.")
    if found.st_size and not replace and not _is_backup(path):
        raise BackupRefused(f"{path} exists and is not a backup. Give another name, or replace it with --replace.")


_KINDS = (
    (stat.S_ISLNK, "a symbolic link"), (stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"), (stat.S_ISBLK, "a device"), (stat.S_ISSOCK, "a socket"),
)  # fmt: skip


def _is_backup(path: Path) -> bool:
    with zipfile.ZipFile(path) if zipfile.is_zipfile(path) else nullcontext() as archive:
        return archive is not None and has_manifest(archive)


def _rows(connection: Connection, table: Table) -> Iterator[dict[str, Any]]:
    large = any(isinstance(column.type, LargeBinary) for column in table.columns)
    query = select(table).order_by(*table.primary_key.columns)
    options = {"yield_per": _LARGE_ROWS if large else _ROWS}
    for row in connection.execute(query, execution_options=options):
        yield row._asdict()


@contextmanager
def _written_whole(path: Path, *, replace: bool) -> Iterator[IO[bytes]]:
    """A temporary file, readable by its owner alone, that moves to the path once it is completely on disk."""
    descriptor, name = mkstemp(dir=path.absolute().parent, prefix=f".{path.name}.")
    unfinished = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _check_place(path, replace=replace)  # another program may have used the path meanwhile
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    folder = os.open(path.absolute().parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
