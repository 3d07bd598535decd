"""Files as students bring them: graded, repaired by one press, or refused with a sentence that names the line."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kernels.compile.bundle import header_texts
from kernels.compile.compilation import DEFAULT_ARCH, Compilation, compile_source
from kernels.exercise import Exercise, find_exercise
from kernels.source.paste.decoding import decode
from kernels.source.paste.repairs import repair_of
from kernels.source.source_file import Source, read_source
from kernels.verdict import Finding, Severity
from tests.marks import linux
from worker.steps.grading import Job, grade

FOLDER = Path(__file__).parent
GUARDED = re.compile(r"#ifndef (\w+_(?:WIDTH|HEIGHT))\n(#define .*\n)#endif\n")
COMPILED_LONG = pytest.mark.long("one compilation for each file; the short suite grades a few of them")
GRADED = {"two_kernels_one_launched", "all_of_it"}


def numbered(text: str, form: str = "{:>3} {}", first: int = 1) -> str:
    rows = text.rstrip("\n").split("\n")
    return "\n".join(form.format(number, row) for number, row in enumerate(rows, first)) + "\n"


def spaces_outside_comments(text: str) -> str:
    rows = (row.partition("//") for row in text.split("\n"))
    return "\n".join(code.replace(" ", "\u00a0") + mark + rest for code, mark, rest in rows)


CHANGES: Mapping[str, Callable[[str], str]] = {
    "no_break_indents": lambda text: re.sub(r"^ +", lambda m: "\u00a0" * len(m[0]), text, flags=re.MULTILINE),
    "no_break_spaces": spaces_outside_comments,
    "tabs": lambda text: re.sub(r"^(?: {4})+", lambda m: "\t" * (len(m[0]) // 4), text, flags=re.MULTILINE),
    "fence": lambda text: f"```cuda\n{text}```\n",
    "half_fence": lambda text: f"{text}```\n",
    "explained": lambda text: f"Here's the \u201ctiled\u201d kernel:\n\n{text}\nIt doesn't need more.\n",
    "numbered": numbered,
    "numbered_with_dots": lambda text: numbered(text, "{}. {}"),
    "numbered_from_fifty": lambda text: numbered(text, "{} {}", 50),
    "unguarded": lambda text: GUARDED.sub(r"\2", text),
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "cr": lambda text: text.replace("\n", "\r"),
    "mark": lambda text: f"\ufeff{text}",
}
ENCODINGS = {"utf16": "utf-16", "latin1": "latin-1"}


@dataclass(frozen=True, slots=True)
class File:
    """One file; README.md explains the fields."""

    name: str
    exercise: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    replace: tuple[tuple[str, str], ...] = ()
    changes: tuple[str, ...] = ()
    kernel: str = ""
    remarks: tuple[int, ...] = ()
    repair: int | None = None
    refused: int | None = None
    words: str = ""

    def content(self) -> bytes:
        solution = find_exercise(self.exercise).solution.read_text(encoding="utf-8")
        text = "".join([*map(_piece, self.before), solution, *map(_piece, self.after)])
        for old, new in self.replace:
            text = text.replace(old, new)
        encoding = "utf-8"
        for change in self.changes:
            encoding = ENCODINGS.get(change, encoding)
            text = CHANGES.get(change, str)(text)
        return text.encode(encoding)


def _piece(name: str) -> str:
    return (FOLDER / "pieces" / f"{name}.cu").read_text(encoding="utf-8")


def _files() -> list[File]:
    table: dict[str, list[dict[str, Any]]] = tomllib.loads((FOLDER / "files.toml").read_text(encoding="utf-8"))
    return [File(**{name: _frozen(value) for name, value in entry.items()}) for entry in table["file"]]


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


FILES = _files()
TAKEN = [file for file in FILES if file.refused is None]


def by_name(file: File) -> str:
    return file.name


def one_press(file: File, exercise: Exercise) -> tuple[bytes, Finding | None]:
    """The file after the repair, if it needs one, with the finding that asked for it."""
    data = file.content()
    text = decode(data)
    if isinstance(text, Finding) or (repair := repair_of(text)) is None:
        return data, None
    result = read_source(data, exercise)
    assert isinstance(result, list)
    (asked,) = result
    return repair.text.encode(), asked


def taken(file: File) -> Source:
    exercise = find_exercise(file.exercise)
    result = read_source(one_press(file, exercise)[0], exercise)
    assert isinstance(result, Source), result
    return result


def test_there_are_sixty_files_and_each_changes_something():
    assert len({file.name for file in FILES}) == len(FILES) >= 60
    assert all(set(file.changes) <= CHANGES.keys() | ENCODINGS.keys() for file in FILES)
    for file in FILES:
        solution = find_exercise(file.exercise).solution.read_bytes()
        assert file.content() != solution, file.name
        for old, _ in file.replace:
            assert old in solution.decode() + "".join(map(_piece, file.before + file.after)), (file.name, old)


@pytest.mark.one_in(3, "a third of the files")
@pytest.mark.parametrize("file", FILES, ids=by_name)
def test_a_file_is_taken_repaired_by_one_press_or_refused_with_the_line(file):
    exercise = find_exercise(file.exercise)
    data, asked = one_press(file, exercise)
    assert (asked.line if asked else None) == file.repair
    result = read_source(data, exercise)
    if file.refused is not None:
        assert isinstance(result, list)
        finding, *remarks = result
        assert finding.line == file.refused
        assert file.words in finding.message
        assert [(each.line, each.is_note) for each in remarks] == [(line, True) for line in file.remarks]
        return
    assert isinstance(result, Source), result
    assert result.kernel == (file.kernel or exercise.kernel)
    assert [(each.line, each.severity) for each in result.warnings] == [
        (line, Severity.WARNING) for line in file.remarks
    ]
    whole = decode(data)
    assert isinstance(whole, str)
    pairs = list(zip(whole.split("\n"), result.text.split("\n"), strict=True))
    assert all(left in {row, ""} for row, left in pairs)


@linux
@COMPILED_LONG
@pytest.mark.parametrize("file", TAKEN, ids=by_name)
def test_the_code_is_that_of_the_solution(file, tmp_path):
    assert code_of(taken(file), find_exercise(file.exercise), tmp_path) == code_of_solution(file.exercise)


@functools.cache
def code_of_solution(name: str) -> str:
    exercise = find_exercise(name)
    solution = read_source(exercise.solution.read_bytes(), exercise)
    assert isinstance(solution, Source)
    return code_of(solution, exercise, Path())  # it includes no header


def code_of(source: Source, exercise: Exercise, cache: Path) -> str:
    """The kernel's instructions, without its name and its lines."""
    sizes = exercise.cases(exercise.tile, source.macros)[0].sizes
    defines = source.defines(exercise, exercise.tile, sizes)
    headers = header_texts(source.text, cache)
    made = compile_source(
        source.text, source.kernel, DEFAULT_ARCH, defines, exercise.fmad, headers=headers, kernels=source.kernels
    )
    assert isinstance(made, Compilation), made
    entry = made.ptx[made.ptx.index(f".entry {made.entry}(") :]
    body = entry[: entry.index("\n}\n")].replace(made.entry, "K").replace(f"{len(source.kernel)}{source.kernel}", "1K")
    body = re.sub(r"L__BB\d+_", "L__BB_", body)
    return "\n".join(row for row in body.splitlines() if not row.lstrip().startswith((".loc", "//")))


@linux
@pytest.mark.parametrize("file", [file for file in FILES if file.name in GRADED], ids=by_name)
def test_a_pasted_file_is_accepted(file, tmp_path, kept):
    exercise = find_exercise(file.exercise)
    data, _ = one_press(file, exercise)
    report = grade(Job(data, exercise, DEFAULT_ARCH, "5eed" * 8, tmp_path), kept.stages())
    assert report.verdict.value == "accepted", report.findings
    assert [finding.line for finding in report.findings] == list(file.remarks)
