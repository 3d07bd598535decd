"""The tables of phases that a handout asks for: fenced blocks named `phases` with sizes and a tile."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kernels.evidence import PhaseTable
from kernels.exercise import Exercise, ExerciseError
from kernels.exercise.table import Table
from kernels.phases.textbook import NoTextbookTableError, textbook_table

_MOST_TABLES = 4
_FENCE = re.compile(r" {0,3}(`{3,}+(?!.*`)|~{3,}+).*")
_OURS = re.compile(r"(`{3,}|~{3,}) *phases *")
_SIZE = re.compile(r"\s*(\w+)\s*=\s*(\d{1,7})\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class HandoutPhases:
    """One table. line, last: the lines of the fences around its sizes, from 1."""

    line: int
    last: int
    table: PhaseTable


def handout_phases(handout: str, exercise: Exercise, path: Path) -> tuple[HandoutPhases, ...]:
    """Return the tables of a handout. Raises ExerciseError with the line and the reason.

    path: of the handout, for errors
    """
    tables: list[HandoutPhases] = []
    for line, body in _blocks(handout):
        if len(tables) == _MOST_TABLES:
            raise ExerciseError(path, f"line {line}", f"a handout may have {_MOST_TABLES} tables of phases, not more")
        tables.append(HandoutPhases(line, line + len(body) + 1, _table(line, body, exercise, path)))
    return tuple(tables)


def handout_lines(handout: str) -> list[str]:
    """Return the lines of a handout, as Markdown counts them."""
    return handout.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _blocks(handout: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line and the content of each block. One inside another fenced block is an example."""
    fence, ours, body = "", 0, list[str]()
    for number, line in enumerate(handout_lines(handout), 1):
        if fence:
            if _closes(line, fence):
                if ours:
                    yield ours, body
                fence, ours = "", 0
            else:
                body.append(line)
        elif opened := _FENCE.fullmatch(line):
            fence, body = opened[1], []
            ours = number if _OURS.fullmatch(line) else 0
    if ours:
        yield ours, body


def _closes(line: str, fence: str) -> bool:
    marks = line.strip(" \t")
    return len(marks) >= len(fence) and not marks.strip(fence[0]) and line.find(marks) <= 3


def _table(line: int, body: list[str], exercise: Exercise, path: Path) -> PhaseTable:
    given: dict[str, object] = {}
    for number, text in enumerate(body, line + 1):
        match = _SIZE.fullmatch(text)
        if match is not None and match[1] not in given:
            given[match[1]] = int(match[2])
        elif text.strip():
            reason = "given twice" if match else "expected a size and a whole number, such as `Width = 4`"
            raise ExerciseError(path, f"line {number}", reason)
    table = Table(path, f"line {line}: phases.", given)
    sizes = table.integer_of_each(exercise.sizes, "tile")
    tile = table.integer("tile")
    try:
        return textbook_table(exercise, sizes, tile)
    except NoTextbookTableError as error:
        raise ExerciseError(path, f"line {line}", str(error)) from None
