"""Uploaded exercises: hostile zip files and broken definitions, each refused with its file and field."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from kernels.exercise import ExerciseError, find_exercise, load_exercise
from server.exercises.stored import content_of, read_content
from server.exercises.upload import MOST_BYTES, Upload, read_folder, read_parts, read_zip, write_zip
from tests.server.commands.own_exercises import DEFINITION, matvec

FILES = {
    "exercise.toml": DEFINITION.encode(),
    "handout.md": b"# A title\n",
    "starter.cu": b"// Write MatVec here.\n",
    "solution.cu": b"__global__ void MatVec() {}\n",
    "wrong.toml": b'[bad]\nverdict = "wrong_answer"\nwhy = "It adds."\n',
    "wrong/bad.cu": b"// bad\n",
    "right/other.cu": b"// another\n",
}
WHOLE = {f"mine/{name}": content for name, content in FILES.items()}


def zipped(*more: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A correct exercise with these further entries, in their order."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, content in (*WHOLE.items(), *more):
            archive.writestr(name, content)
    return made.getvalue()


def special(name: str, mode: int) -> zipfile.ZipInfo:
    """An entry of this mode, such as a link."""
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info


def flagged(content: bytes, bit: int) -> bytes:
    """Set a flag of all entries, in both headers."""
    for mark, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        parts = content.split(mark)
        content = mark.join([parts[0], *(_with_flag(part, at - 4, bit) for part in parts[1:])])
    return content


def _with_flag(part: bytes, at: int, bit: int) -> bytes:
    (flags,) = struct.unpack_from("<H", part, at)
    return part[:at] + struct.pack("<H", flags | bit) + part[at + 2 :]


def lying() -> bytes:
    """A zip file whose headers say that a large figure has one byte, with that byte's checksum."""
    content = zipped(("mine/large.svg", bytes(2**20)))
    said = (struct.pack("<I", 2**20), struct.pack("<I", zlib.crc32(bytes(2**20))))
    return content.replace(said[0], struct.pack("<I", 1)).replace(said[1], struct.pack("<I", zlib.crc32(b"\0")))


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "leads out": (lambda: zipped(("mine/../../evil.svg", b"")), "mine/../../evil.svg"),
    "absolute": (lambda: zipped(("/etc/evil.svg", b"")), "/etc/evil.svg"),
    "backslash": (lambda: zipped(("mine\\..\\evil.svg", b"")), "mine\\..\\evil.svg"),
    "drive": (lambda: zipped(("C:evil.svg", b"")), "C:evil.svg"),
    "link": (lambda: zipped((special("mine/link.svg", stat.S_IFLNK), b"/etc/passwd")), "mine/link.svg"),
    "pipe": (lambda: zipped((special("mine/pipe.svg", stat.S_IFIFO), b"")), "mine/pipe.svg"),
    "bomb": (lambda: zipped(("mine/zeros.svg", bytes(MOST_BYTES))), "upload"),
    "another size than it says": (lying, ""),
    "many files": (lambda: zipped(*((f"mine/f{one}.svg", b"") for one in range(101))), "upload"),
    "very many entries": (lambda: zipped(*((f"mine/f{one}/", b"") for one in range(500))), "upload"),
    "zip in a zip": (lambda: zipped(("mine/more.zip", zipped())), "mine/more.zip"),
    "encrypted": (lambda: flagged(zipped(), 1), "mine/exercise.toml"),
    "compression": (lambda: zipped(method=zipfile.ZIP_LZMA), "mine/exercise.toml"),
    "capital letters": (lambda: zipped(("mine/a.svg", b""), ("mine/A.svg", b"")), "A.svg"),
    "control character": (lambda: zipped(("mine/a\x1b.svg", b"")), "mine/a?.svg"),
    "another program": (lambda: zipped(("mine/setup.py", b"")), "mine/setup.py"),
    "cut off": (lambda: zipped()[:-30], "upload"),
    "not a zip file": (lambda: b"#!/bin/sh\n", "upload"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_zip_file_is_refused_by_the_name_of_its_file(name: str) -> None:
    made, path = HOSTILE[name]
    with pytest.raises(ExerciseError) as caught:
        read_zip(made())
    assert caught.value.reason
    assert not path or str(caught.value.path) == path


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_zip_file_with_a_name_twice_is_refused() -> None:
    with pytest.raises(ExerciseError) as caught:
        read_zip(zipped(("mine/exercise.toml", b"")))
    assert str(caught.value.path) == "mine/exercise.toml"


def changed(file: str, was: str, now: str) -> dict[str, bytes]:
    text = FILES[file].decode()
    assert was in text
    return FILES | {file: text.replace(was, now, 1).encode()}


def without(*names: str) -> dict[str, bytes]:
    return {name: content for name, content in FILES.items() if name not in names}


CASE = '\n[[cases]]\nsizes = { Width = 3 }\ninputs = ["integers_left"]\n'
BROKEN = {
    "not TOML": (changed("exercise.toml", "title =", "title"), "mine/exercise.toml", ""),
    "deep": (FILES | {"exercise.toml": b"a = " + b"[" * 9_000}, "mine/exercise.toml", ""),
    "misspelled": (changed("exercise.toml", "metric", "metrics"), "mine/exercise.toml", "metrics"),
    "operation": (changed("exercise.toml", "matmul", "magic"), "mine/exercise.toml", "operation"),
    "expression": (changed("exercise.toml", "TILE_WIDTH +", "TILE +"), "mine/exercise.toml", "cases[0].sizes.Width"),
    "shapes": (changed("exercise.toml", 'cols = "Width"', 'cols = "2*Width"'), "mine/exercise.toml", "operands"),
    "many cases": (FILES | {"exercise.toml": (DEFINITION + 40 * CASE).encode()}, "mine/exercise.toml", "cases"),
    "many tiles": (changed("exercise.toml", "[16, 32]", str([*range(1, 99)])), "mine/exercise.toml", "tile.allowed"),
    "long title": (changed("exercise.toml", "A matrix", "A" * 300), "mine", "title"),
    "encoded title": (changed("exercise.toml", "A matrix", "=?utf-8?q?A?="), "mine", "title"),
    "no solution": (without("solution.cu"), "mine/solution.cu", ""),
    "handout": (FILES | {"handout.md": b"\xff\xfe"}, "mine/handout.md", ""),
    "large handout": (FILES | {"handout.md": b"#" * 140_000}, "mine/handout.md", ""),
    "phases": (FILES | {"handout.md": b"# A\n\n```phases\n<b>\n```\n"}, "mine/handout.md", "line 4"),
    "large starter": (FILES | {"starter.cu": b"/" * 70_000}, "mine/starter.cu", ""),
    "NUL": (FILES | {"solution.cu": b"\0"}, "mine/solution.cu", ""),
    "wrong kernel without a file": (without("wrong/bad.cu"), "mine/wrong.toml", "bad.verdict"),
    "wrong kernel without a table": (without("wrong.toml"), "mine/wrong.toml", ""),
    "many correct kernels": (FILES | {f"right/a{one}.cu": b"" for one in range(20)}, "mine", ""),
    "verdict": (changed("wrong.toml", "wrong_answer", "accepted"), "mine/wrong.toml", "bad.verdict"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_exercise_is_refused_with_its_file_and_field(name: str) -> None:
    files, path, field = BROKEN[name]
    with pytest.raises(ExerciseError) as caught:
        content_of("mine", files)
    assert (str(caught.value.path), caught.value.field) == (path, field)
    assert caught.value.reason


@pytest.mark.parametrize("name", ["Mine", "a--b", "../a", "", "a" * 61])
def test_an_invalid_name_is_refused(name: str) -> None:
    with pytest.raises(ExerciseError):
        content_of(name, FILES)


def test_a_folder_a_zip_file_and_parts_are_the_same_exercise(tmp_path: Path) -> None:
    folder = matvec(tmp_path / "mine")
    for name in ("wrong", "right"):
        (folder / name).mkdir()
    for name in ("wrong.toml", "wrong/bad.cu", "right/other.cu"):
        (folder / name).write_bytes(FILES[name])
    (folder / ".DS_Store").write_bytes(b"")
    (folder / "ladder").mkdir()
    (folder / "ladder" / "01_a.cu").write_bytes(b"")
    uploads = [read_folder(folder)]
    given = {f"mine/{file.relative_to(folder)}": file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    uploads += [read_parts(given.items()), read_zip(write_zip("mine", uploads[0].files))]
    assert {one.name for one in uploads} == {"mine"}
    assert sorted(uploads[1].left_out) == ["mine/.DS_Store", "mine/ladder/01_a.cu"]
    versions = {content_of(one.name, one.files).version for one in uploads}
    assert versions == {read_content(load_exercise(folder)).version}


def test_a_zip_file_may_have_no_folder() -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in FILES.items():
            archive.writestr(name, content)
    assert read_zip(made.getvalue()) == Upload("", FILES)


def test_a_link_in_a_folder_is_refused(tmp_path: Path) -> None:
    folder = matvec(tmp_path / "mine")
    (folder / "secret.svg").symlink_to("/etc/passwd")
    with pytest.raises(ExerciseError) as caught:
        read_folder(folder)
    assert str(caught.value.path) == "mine/secret.svg"


def test_an_exercise_that_needs_its_solution_has_it_in_each_form() -> None:
    root = find_exercise("histogram").root
    upload = read_folder(root)
    assert content_of("histogram", upload.files).exercise.digest == load_exercise(root).digest
