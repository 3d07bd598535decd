"""An experiment's folder: its manifest, and a file with one line for each point that has a result.

Lines are only ever added, each whole and flushed to the disk. If a run is killed, at most the last line is torn, and
the next run drops it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gc
import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from io import BufferedReader, FileIO
from pathlib import Path

from kernels.experiment.result import PointResult, from_json, to_json
from kernels.experiment.tuning.state import Tuning
from kernels.wire import WireError, from_plain, to_plain
from worker.experiment.manifest import SCHEMA, Manifest, differences

MODELLED = "modelled.jsonl"

Keep = Callable[[PointResult], None]


class FolderError(ValueError):
    """A folder that can't be used; the message says why and what to do."""


class Folder:
    """The files of one run. lines: the file with a line for each point."""

    def __init__(self, path: Path, lines: str = "points.jsonl") -> None:
        self.path = path
        self.report = path / "report.html"
        self._manifest = path / "manifest.json"
        self._points = path / lines
        self._tuning = path / "tuning.json"
        self._read = _Read()

    def clear(self) -> None:
        """Delete the files of a run; raises FolderError for a folder with other files."""
        if not self.begun():
            return
        with self.writing():
            for file in (self._manifest, self._points, self.path / MODELLED, self._tuning, self.report):
                file.unlink(missing_ok=True)

    def begun(self) -> bool:
        """Whether a run was started here; raises FolderError for a folder with other files."""
        if self._manifest.is_file():
            return True
        if self.path.is_dir() and not any(self.path.iterdir()):
            return False
        if self.path.exists():
            raise FolderError(f"{self.path} isn't an experiment's folder. Choose another one with --out.")
        return False

    def manifest(self) -> Manifest:
        """The manifest of the run; raises FolderError."""
        try:
            data = json.loads(self._manifest.read_text("utf-8"))
            found = from_plain(Manifest, data, lenient=True)
        except OSError as error:
            raise FolderError(f"{self.path} isn't an experiment's folder: {error.strerror}.") from None
        except (ValueError, WireError) as error:
            raise FolderError(f"{self._manifest} can't be read: {error}.") from None
        if found.schema != SCHEMA:
            raise FolderError(f"{self._manifest} is from another version of Tilelab: schema {found.schema}.")
        return found

    def begin_or_resume(self, manifest: Manifest) -> Manifest:
        """The manifest of a run like this that was begun here, else this one, now written; raises FolderError."""
        if not self.begun():
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                _write_whole(self._manifest, to_plain(manifest))
            except OSError as error:
                raise FolderError(f"{self.path} can't be written: {error.strerror}.") from None
            return manifest
        before = self.manifest()
        if found := list(differences(before, manifest)):
            raise FolderError(
                f"{self.path} has another run: {', '.join(found)} changed. Choose another folder with --out, "
                "or add --replace."
            )
        return before

    def models(self) -> Folder:
        """The points of a search that were modelled before they could be tried."""
        return Folder(self.path, MODELLED)

    def tuning(self) -> Tuning | None:
        """What a search did so far; None if the run isn't one."""
        try:
            return from_plain(Tuning, json.loads(self._tuning.read_text("utf-8")), lenient=True)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError, WireError) as error:
            raise FolderError(f"{self._tuning} can't be read: {error}.") from None

    def tell(self, tuning: Tuning) -> None:
        """Write what a search did so far; raises FolderError."""
        try:
            _write_whole(self._tuning, to_plain(tuning))
        except OSError as error:
            raise FolderError(f"{self._tuning} can't be written: {error.strerror}.") from None

    def results(self) -> list[PointResult]:
        """The last result of each point, in their order; a torn last line isn't one. Only new lines are read again."""
        try:
            with self._points.open("rb") as file, _collection_paused():
                self._read_on(file)
        except FileNotFoundError:
            return []
        return [result for _, result in sorted(self._read.found.items())]

    def _read_on(self, file: BufferedReader) -> None:
        """Read the lines that were added since the last time."""
        file.seek(self._read.end - len(self._read.last))
        if file.read(len(self._read.last)) != self._read.last:
            self._read = _Read()
            file.seek(0)
        known = self._read
        for line in file:
            if not line.endswith(b"\n"):
                return
            try:
                result = from_json(json.loads(line))
            except (ValueError, WireError) as error:
                place = f"{self._points}, line {known.lines + 1}"
                raise FolderError(f"{place}, isn't a result: {error}.") from None
            known.found[result.number] = result
            known.last = line
            known.end += len(line)
            known.lines += 1

    def fill(self, results: Iterable[PointResult]) -> None:
        """Write the results of a run that ended elsewhere; raises FolderError."""
        try:
            with self._points.open("xb") as file:
                file.writelines(map(_line, results))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise FolderError(f"{self._points} can't be written: {error.strerror}.") from None

    @contextlib.contextmanager
    def writing(self) -> Iterator[Keep]:
        """Add results while this lasts; raises FolderError if another run does."""
        with self._points.open("a+b", buffering=0) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise FolderError(f"Another run is writing to {self.path}. Wait for it, or use --out.") from None
            file.seek(0)
            data = file.read()
            file.truncate(data.rfind(b"\n") + 1)
            _sync(self.path)
            yield lambda result: self._add(file, result)

    def _add(self, file: FileIO, result: PointResult) -> None:
        """Add a whole line and wait until the disk has it; raises FolderError."""
        line = _line(result)
        try:
            reason = "" if file.write(line) == len(line) else os.strerror(errno.ENOSPC)
            os.fsync(file.fileno())
        except OSError as error:
            reason = error.strerror or "unknown reason"
        if reason:
            more = "Mend this, and run the same command to go on."
            raise FolderError(f"{self._points} can't be written: {reason}. {more}")


@dataclass(slots=True)
class _Read:
    """What was read of a file.

    last: its last whole line, which another file doesn't have at this place
    end: the bytes of its whole lines
    """

    last: bytes = b""
    end: int = 0
    lines: int = 0
    found: dict[int, PointResult] = field(default_factory=dict)


@contextlib.contextmanager
def _collection_paused() -> Iterator[None]:
    """Without searches for cycles: results have none, and each search would visit all that were read."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _line(result: PointResult) -> bytes:
    return json.dumps(to_json(result), separators=(",", ":")).encode() + b"\n"


def _write_whole(file: Path, data: object) -> None:
    """Write a JSON file, whole or not at all."""
    new = file.with_suffix(".new")
    with new.open("w", encoding="utf-8") as stream:
        json.dump(data, stream, indent=1)
        stream.flush()
        os.fsync(stream.fileno())
    new.rename(file)
    _sync(file.parent)


def _sync(folder: Path) -> None:
    """Wait until the disk has the names of new files."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
