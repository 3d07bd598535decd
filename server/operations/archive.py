"""The file format of backups: JSON lines for each table, and a manifest with their checksums.

It is a zip archive. The manifest comes last, so a file that was cut off has none.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from enum import Enum as PythonEnum
from typing import IO, Any, Self

from sqlalchemy import Enum, LargeBinary, Table

from server.database.base import UtcTime
from server.grading.models import WORK_BYTES

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
    """An archive's content. revision: the tables' version; made_at: the time of the data, in ISO 8601."""

    revision: str
    made_at: str
    tables: Mapping[str, Contents]

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

    def finish(self, revision: str, made_at: datetime) -> Manifest:
        """Write the manifest, which completes the archive."""
        manifest = Manifest(revision, made_at.isoformat(), dict(self._tables))
        tables = {name: {"rows": it.rows, "sha256": it.sha256} for name, it in manifest.tables.items()}
        plain = {"format": FORMAT, "revision": revision, "made_at": manifest.made_at, "tables": tables}
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
        return Manifest(str(plain["revision"]), str(plain["made_at"]), tables)
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
