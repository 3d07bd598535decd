"""Back up the whole database into one file, and restore it into an empty database of either kind."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import Enum as PythonEnum
from itertools import islice
from pathlib import Path
from tempfile import mkstemp
from typing import IO, Any, Self

from sqlalchemy import Connection, Engine, Enum, LargeBinary, Table, func, insert, select, text
from sqlalchemy.exc import DataError, IntegrityError

from server.database.base import UtcTime
from server.database.engine import snapshots
from server.database.schema import NoSchema, check, newest, upgrade
from server.database.sqlite import compact
from server.grading.models import WORK_BYTES
from server.models import Base
from server.operations.erasures import Erasure, erase_again, erasures_in, read_erasures, read_list

FORMAT = 1
_MANIFEST = "manifest.json"
_LONGEST_MANIFEST = 2**20
# One row: its largest column in base64, plus all others.
_LONGEST_LINE = WORK_BYTES * 3 // 2 + 2**20
_LEVEL = 6

_DAMAGED = (zipfile.BadZipFile, zlib.error, KeyError, EOFError, NotImplementedError, OSError)
"""What reading a damaged zip file raises. A wrong method of compression isn't implemented."""


class ArchiveError(ValueError):
    """The file isn't a readable backup; the text says why."""


@dataclass(frozen=True, slots=True)
class Contents:
    """A table's content in an archive."""

    rows: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """An archive's content.

    revision: the tables' version; made_at: the time of the data, in ISO 8601
    erased: the accounts that were erased before
    """

    revision: str
    made_at: str
    tables: Mapping[str, Contents]
    erased: tuple[Erasure, ...] = ()

    @property
    def rows(self) -> int:
        return sum(contents.rows for contents in self.tables.values())


class ArchiveWriter:
    """Writes an archive row by row. A context manager; an archive is complete only after `finish`."""

    def __init__(self, file: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL)
        self._tables: dict[str, Contents] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # After a failure, the file is thrown away.
        with suppress(OSError, ValueError):
            self._zip.close()

    def write_table(self, table: Table, rows: Iterable[Mapping[str, Any]]) -> None:
        digest, count = hashlib.sha256(), 0
        with self._zip.open(_member(table.name), "w", force_zip64=True) as member:
            for row in rows:
                line = _to_line(row)
                digest.update(line)
                member.write(line)
                count += 1
        self._tables[table.name] = Contents(count, digest.hexdigest())

    def finish(self, revision: str, made_at: datetime, erased: tuple[Erasure, ...] = ()) -> Manifest:
        """Write the manifest, which completes the archive."""
        manifest = Manifest(revision, made_at.isoformat(), dict(self._tables), erased)
        tables = {name: {"rows": it.rows, "sha256": it.sha256} for name, it in manifest.tables.items()}
        plain = {"format": FORMAT, "revision": revision, "made_at": manifest.made_at, "tables": tables}
        plain["erased"] = [asdict(each) for each in erased]
        self._zip.writestr(_MANIFEST, json.dumps(plain, indent=1) + "\n")
        self._zip.close()
        return manifest


def has_manifest(archive: zipfile.ZipFile) -> bool:
    """Whether the archive is a backup of any version."""
    try:
        return "tables" in json.loads(archive.read(_MANIFEST))
    except (*_DAMAGED, ValueError, TypeError):
        return False


class ArchiveReader:
    """Reads an archive. A context manager; every method raises ArchiveError if the archive is damaged."""

    def __init__(self, file: IO[bytes]) -> None:
        try:
            self._zip = zipfile.ZipFile(file)
            info = self._zip.getinfo(_MANIFEST)
            if info.file_size > _LONGEST_MANIFEST:
                raise ArchiveError("its manifest is too long")
            self.manifest = _read_manifest(json.loads(self._zip.read(info)))
        except (*_DAMAGED, ValueError) as error:
            if isinstance(error, ArchiveError):
                raise
            raise ArchiveError("it isn't a complete backup of Tilelab") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def rows(self, table: Table) -> Iterator[dict[str, Any]]:
        """The rows of a table. Their checksum is known only after the last row."""
        expected = self.manifest.tables.get(table.name)
        if expected is None:
            raise ArchiveError(f"the table {table.name} is missing")
        digest, count = hashlib.sha256(), 0
        for line in self._lines(table.name):
            digest.update(line)
            count += 1
            yield _from_line(table, line)
        if (count, digest.hexdigest()) != (expected.rows, expected.sha256):
            raise ArchiveError(f"the table {table.name} doesn't match its checksum")

    def _lines(self, name: str) -> Iterator[bytes]:
        try:
            with self._zip.open(_member(name)) as member:
                while line := member.readline(_LONGEST_LINE):
                    if not line.endswith(b"\n"):
                        raise ArchiveError(f"the table {name} has an incomplete line")
                    yield line
        except _DAMAGED as error:
            raise ArchiveError(f"the table {name} is damaged") from error


def _member(table: str) -> str:
    return f"{table}.jsonl"


def _read_manifest(plain: Any) -> Manifest:
    if not isinstance(plain, dict) or not isinstance(plain.get("tables"), dict):
        raise ArchiveError("it isn't a backup of Tilelab")
    if plain.get("format") != FORMAT:
        raise ArchiveError(f"its format is {plain.get('format')!r}, but this version reads {FORMAT}")
    try:
        tables = {str(name): Contents(int(it["rows"]), str(it["sha256"])) for name, it in plain["tables"].items()}
        erased = tuple(read_erasures(plain.get("erased", [])))
        return Manifest(str(plain["revision"]), str(plain["made_at"]), tables, erased)
    except (KeyError, TypeError, ValueError) as error:
        raise ArchiveError("its manifest is invalid") from error


def _to_line(row: Mapping[str, Any]) -> bytes:
    # Sorted, because PostgreSQL reorders a document's keys.
    return json.dumps(row, default=_plain, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def _plain(value: Any) -> Any:
    if isinstance(value, bytes | memoryview):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, PythonEnum):
        return value.value
    raise TypeError(f"a {type(value).__name__} is in no column")


def _from_line(table: Table, line: bytes) -> dict[str, Any]:
    try:
        plain = json.loads(line)
        if set(plain) != set(table.columns.keys()):
            raise ArchiveError(f"the table {table.name} has other columns")
        return {name: _value(table.columns[name].type, value) for name, value in plain.items()}
    except (ValueError, TypeError, AttributeError) as error:
        if isinstance(error, ArchiveError):
            raise
        raise ArchiveError(f"the table {table.name} has an invalid row") from error


def _value(kind: Any, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(kind, LargeBinary):
        return base64.b64decode(value, validate=True)
    if isinstance(kind, UtcTime):
        return datetime.fromisoformat(value)
    if isinstance(kind, Enum) and kind.enum_class is not None:
        return kind.enum_class(value)
    return value


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
            return writer.finish(newest(), made_at, erasures_in(connection))


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


def newest_backup(folder: Path) -> Path | None:
    """The newest backup, perhaps encrypted. One that isn't finished has a name with a dot in front."""
    files = [file for file in folder.iterdir() if ".zip" in file.suffixes and not file.name.startswith(".")]
    return max(files, key=lambda file: file.stat().st_mtime, default=None)


def made_at(file: Path) -> datetime:
    """The time of a backup's data. An encrypted one shows only when it was written, and whether anything was.

    Raises OSError or ArchiveError.
    """
    if not file.stat().st_size:
        raise ArchiveError("it is empty")
    if file.suffix != ".zip":
        return datetime.fromtimestamp(file.stat().st_mtime, UTC)
    with file.open("rb") as opened, ArchiveReader(opened) as archive:
        return datetime.fromisoformat(archive.manifest.made_at)


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


_ROWS_INSERTED = 100
_LONGEST_REASON = 200


class RestoreRefused(ValueError):
    """The backup wasn't restored, and the database is unchanged; the text says why."""


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore read, and how many accounts it erased again."""

    manifest: Manifest
    erased: int


def erasures_of(file: Path) -> tuple[Erasure, ...]:
    """The erasures in a list, or in a backup. Raises OSError, ArchiveError or UnreadableList."""
    if not zipfile.is_zipfile(file):
        return read_list(file)
    with file.open("rb") as opened, ArchiveReader(opened) as archive:
        return archive.manifest.erased


def restore(
    engine: Engine, path: Path, told: Callable[[str], None] = lambda _: None, erased: Iterable[Erasure] = ()
) -> Restored:
    """Restore a backup; creates the tables if there are none. Accounts that were erased since are erased again.

    Raises DatabaseUnavailable; OSError if the file can't be read. Raises RestoreRefused if the file is damaged or has
    another version, or if the database isn't empty.

    told: called with each table's name before it is read; erased: accounts that were erased, for example later
    """
    try:
        with path.open("rb") as file, ArchiveReader(file) as archive:
            if archive.manifest.revision != newest():
                raise RestoreRefused(
                    f"{path} has tables of version {archive.manifest.revision}, but this code has {newest()}. "
                    "Restore it with the code that wrote it. Then update the database with: tilelab admin migrate"
                )
            if strange := set(archive.manifest.tables) - set(Base.metadata.tables):
                raise RestoreRefused(f"{path} has an unknown table, {min(strange)}. Nothing was changed.")
            # Create the tables if there are none. An older database needs an operator to migrate it.
            try:
                check(engine)
            except NoSchema:
                upgrade(engine)
            with engine.begin() as connection:
                _refuse_unless_empty(connection)
                for table in Base.metadata.sorted_tables:
                    told(table.name)
                    _read_table(connection, table, archive.rows(table))
                again = erase_again(connection, erased)
            if again:
                compact(engine)
            return Restored(archive.manifest, again)
    except ArchiveError as error:
        raise RestoreRefused(f"{path} can't be restored: {error}. Nothing was changed.") from error


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
        for some in _batches(rows, _LARGE_ROWS if large else _ROWS_INSERTED):
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
