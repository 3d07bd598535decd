"""The files of an uploaded exercise, from a zip file or a folder.

Everything is checked before it is unpacked: the number of files, their sizes, their names and their kinds. Nothing is
written to a disk.
"""

from __future__ import annotations

import io
import re
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kernels.exercise import ExerciseError
from kernels.wording import byte_size

MOST_FILES = 100
MOST_BYTES = 16 * 2**20
"""Of all files together, unpacked."""

_MOST_ENTRIES = 400
"""In a zip file, with its folders and the files that are left out."""

_LONGEST_PATH = 200
_TOP = frozenset({"exercise.toml", "handout.md", "starter.cu", "solution.cu", "wrong.toml"})
_FIGURE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\.svg")
_KERNEL = re.compile(r"(?:right|wrong)/[A-Za-z_][A-Za-z0-9_]*\.cu")
_LEFT_OUT = re.compile(r"(?:.*/)?(?:\.[^/]+|__MACOSX|Thumbs\.db|desktop\.ini)(?:/.*)?|ladder\.toml|ladder/.*")
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_KINDS = (
    "exercise.toml, handout.md, starter.cu, solution.cu, wrong.toml, wrong/NAME.cu, right/NAME.cu and figures "
    "(NAME.svg)"
)
_ENTRY = b"PK\x01\x02"


@dataclass(frozen=True, slots=True)
class Upload:
    """An uploaded exercise.

    name: of its folder; "" if its files are in no folder
    left_out: files that don't belong to an exercise in a course, such as hidden files and ladders
    """

    name: str
    files: Mapping[str, bytes]
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Entry:
    """A file of an upload. size: unpacked, as the upload says it."""

    path: str
    size: int
    info: zipfile.ZipInfo | None = None


def read_zip(content: bytes) -> Upload:
    """Read a zip file. Raises ExerciseError with the file and the reason."""
    if content.count(_ENTRY) > _MOST_ENTRIES:
        raise _refused("", f"the zip file has too many entries; the limit is {MOST_FILES} files")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            found = [_entry(info) for info in archive.infolist() if not info.is_dir()]
            folder, wanted, left_out = _checked(found)
            files = {name: _unpacked(archive, one) for name, one in wanted.items()}
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError) as error:
        if isinstance(error, ExerciseError):
            raise
        raise _refused("", f"this is not a zip file that can be read ({error})") from error
    return Upload(folder, files, left_out)


def read_parts(parts: Iterable[tuple[str, bytes]]) -> Upload:
    """Read the files of a folder, as a browser sends them: each path begins with the folder's name."""
    given = dict[str, bytes]()
    entries: list[_Entry] = []
    for path, content in parts:
        entries.append(_Entry(path, len(content)))
        given[path] = content
    folder, wanted, left_out = _checked(entries)
    return Upload(folder, {name: given[one.path] for name, one in wanted.items()}, left_out)


def read_folder(folder: Path) -> Upload:
    """Read a folder on this machine. Links are refused, because they may lead out of it."""
    if not folder.is_dir():
        raise ExerciseError(folder, "", "there is no such folder")
    entries: list[_Entry] = []
    paths: dict[str, Path] = {}
    for file in _files_in(folder):
        path = f"{folder.name}/{file.relative_to(folder).as_posix()}"
        if len(entries) >= _MOST_ENTRIES:
            raise _refused("", f"the folder has too many files; the limit is {MOST_FILES}")
        if not _LEFT_OUT.fullmatch(file.relative_to(folder).as_posix()):
            _check_kind(path, file.lstat().st_mode)
        entries.append(_Entry(path, file.lstat().st_size))
        paths[path] = file
    name, wanted, left_out = _checked(entries)
    return Upload(name, {key: paths[one.path].read_bytes() for key, one in wanted.items()}, left_out)


def write_zip(name: str, files: Mapping[str, bytes]) -> bytes:
    """Make a zip file of an exercise, which `read_zip` reads. The same files give the same bytes."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(f"{name}/{path}", (1980, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def is_known(path: str) -> bool:
    """Whether an exercise may have a file at this path."""
    return path in _TOP or bool(_FIGURE.fullmatch(path) or _KERNEL.fullmatch(path))


def _files_in(folder: Path) -> Iterator[Path]:
    for file in sorted(folder.iterdir()):
        if file.is_dir() and not file.is_symlink():
            yield from _files_in(file)
        else:
            yield file


def _entry(info: zipfile.ZipInfo) -> _Entry:
    path = info.orig_filename
    if not _LEFT_OUT.fullmatch(path):
        _check_kind(path, info.external_attr >> 16)
        if info.flag_bits & 0x1:
            raise _refused(path, "this file is encrypted")
        if info.compress_type not in _METHODS:
            raise _refused(path, f"its compression (method {info.compress_type}) isn't supported")
    return _Entry(path, info.file_size, info)


def _check_kind(path: str, mode: int) -> None:
    if stat.S_IFMT(mode) not in {0, stat.S_IFREG}:
        raise _refused(path, "this is a link or another special file")


def _checked(found: list[_Entry]) -> tuple[str, dict[str, _Entry], tuple[str, ...]]:
    """The folder's name, the files by their path in it, and what is left out."""
    for one in found:
        _check_path(one.path)
    left_out = tuple(one.path for one in found if _LEFT_OUT.fullmatch(one.path))
    kept = [one for one in found if one.path not in left_out]
    folder = _folder_of(kept)
    inside = {one.path: one.path.removeprefix(f"{folder}/" if folder else "") for one in kept}
    ladders = tuple(path for path, name in inside.items() if _LEFT_OUT.fullmatch(name))
    wanted: dict[str, _Entry] = {}
    for one in kept:
        name = inside[one.path]
        if one.path in ladders:
            continue
        if not is_known(name):
            raise _refused(one.path, f"an exercise has no such file. Its files are {_KINDS}")
        if name in wanted:
            raise _refused(one.path, "this file is there twice")
        wanted[name] = one
    twice = _equal_names(wanted)
    if twice:
        raise _refused(twice, "another file's name differs only in capital letters")
    _check_sizes(wanted)
    return folder, wanted, left_out + ladders


def _check_path(path: str) -> None:
    problem = ""
    if len(path) > _LONGEST_PATH:
        problem = f"its name has more than {_LONGEST_PATH} characters"
    elif not path or not path.isprintable() or unicodedata.normalize("NFC", path) != path:
        problem = "its name has characters that can't be shown"
    elif "\\" in path or ":" in path:
        problem = "its name has a backslash or a colon"
    elif path.startswith("/"):
        problem = "its name is an absolute path"
    elif any(part in {"", ".", ".."} for part in path.split("/")):
        problem = "its name leads out of the folder"
    if problem:
        raise _refused(path, problem)


def _folder_of(found: list[_Entry]) -> str:
    """The name of the one folder that holds all files; "" for none."""
    first = {one.path.partition("/")[0] for one in found if "/" in one.path}
    return first.pop() if len(first) == 1 and all("/" in one.path for one in found) else ""


def _equal_names(wanted: Mapping[str, object]) -> str:
    known: set[str] = set()
    for name in wanted:
        if name.casefold() in known:
            return name
        known.add(name.casefold())
    return ""


def _check_sizes(wanted: Mapping[str, _Entry]) -> None:
    if len(wanted) > MOST_FILES:
        raise _refused("", f"there are {len(wanted)} files; the limit is {MOST_FILES}")
    total = sum(one.size for one in wanted.values())
    if total > MOST_BYTES:
        raise _refused("", f"the files have {byte_size(total)} unpacked; the limit is {byte_size(MOST_BYTES)}")


def _unpacked(archive: zipfile.ZipFile, one: _Entry) -> bytes:
    assert one.info is not None, "entries of a zip file have their header"
    with archive.open(one.info) as stream:
        # The header may say less than there is.
        content = stream.read(one.size + 1)
    if len(content) != one.size:
        raise _refused(one.path, "it has another size than the zip file says")
    return content


def _refused(path: str, reason: str) -> ExerciseError:
    shown = "".join(char if char.isprintable() else "?" for char in path)
    return ExerciseError(Path(shown[:_LONGEST_PATH] or "upload"), "", reason)
