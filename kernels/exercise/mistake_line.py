"""The line of an exercise's file that a mistake is about."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kernels.exercise.table import ExerciseError

_SAID = re.compile(r"\(at line (\d{1,6}),|^line (\d{1,6})\b")
_PART = re.compile(r"([\w-]+)(?:\[(\d{1,6})\])?", re.ASCII)
_HEADER = re.compile(r"^\s*\[{1,2}\s*([\w.-]+)\s*\]", re.ASCII)
_KEY = re.compile(r"^\s*([\w-]+)\s*=", re.ASCII)


def mistake_line(text: str, error: ExerciseError) -> int | None:
    """The line of the file with this text; None if the mistake is about no line."""
    lines = text.split("\n")
    if said := _SAID.search(error.field) or _SAID.search(error.reason):
        number = int(said[1] or said[2])
        return number if number <= len(lines) else None
    parts = _PART.findall(error.field)
    return _line_of(lines, parts) if parts else None


def _line_of(lines: Sequence[str], parts: Sequence[tuple[str, str]]) -> int | None:
    """The line of a field such as `cases[2].inputs`: its own, otherwise its table's."""
    (name, index), *rest = parts
    place = int(index or 0)
    headers = [number for number, line in enumerate(lines) if _named(_HEADER, line) == name]
    if place < len(headers):
        start = headers[place]
        end = next((at for at in range(start + 1, len(lines)) if _HEADER.match(lines[at])), len(lines))
        own = _key_line(lines[start + 1 : end], rest[0][0]) if rest else None
        return start + 1 if own is None else start + 1 + own
    key = _key_line(lines, name)
    return key if key is None or not index else _nth_table(lines, key, place)


def _key_line(lines: Sequence[str], name: str) -> int | None:
    return next((number for number, line in enumerate(lines, 1) if _named(_KEY, line) == name), None)


def _nth_table(lines: Sequence[str], key: int, place: int) -> int:
    """The line of a table in a list that begins at the line `key`."""
    seen = 0
    for number in range(key, len(lines) + 1):
        seen += lines[number - 1].count("{")
        if seen > place:
            return number
    return key


def _named(pattern: re.Pattern[str], line: str) -> str:
    found = pattern.match(line)
    return found[1] if found else ""
