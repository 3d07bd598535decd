"""Repairs of a text that was copied from a page or a chat: Markdown fences, line numbers, characters.

A repair changes characters. So Tilelab never applies one by itself: it refuses the file, and the student asks for the
repair. Every other line keeps its text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from kernels.source.characters import OddCharacter, replacement
from kernels.source.conditions import visible_items, visible_tokens
from kernels.source.text import other_characters, scan
from kernels.wire import to_plain
from kernels.wording import line_ranges, plural

_FENCE = re.compile(r"\s*`{3,}[\w+ .-]*")
_NUMBER = re.compile(r"\d{1,5}")
_AFTER_NUMBER = re.compile(r"^(?:[.:)]|[ \t]*\|)(?=\s|$)")
_LEAST_NUMBERED = 3
_MOST_PASSES = 4
_QUICK = re.compile(r"\s*\d|.*?```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Repair:
    """The repair of a whole file.

    text: the repaired text
    line, column: the first change; column is None for a whole line
    sentence: what is wrong there
    changes: what the repair changes, one sentence for each kind, with the lines of the original
    """

    text: str
    line: int
    column: int | None
    sentence: str
    changes: tuple[str, ...]


def is_plain(text: str) -> bool:
    """Whether a quick look shows that the text needs no repair."""
    return text.isascii() and _QUICK.match(text) is None


def repair_of(text: str) -> Repair | None:
    """The repair that a file needs before it can be compiled; None for none.

    Lines must end in single newline characters.
    """
    if is_plain(text):
        return None
    rows = text.split("\n")
    fences = _without_fences(rows)
    changes = [
        change for change in (fences, _without_numbers(rows), _with_plain_characters(rows)) if change is not None
    ]
    if not changes:
        return None
    line, column, sentence, _ = min(changes, key=lambda change: change[0])
    repaired = "\n".join(rows)
    if fences is not None:
        repaired = repaired.strip("\n") + "\n"
    return Repair(repaired, line, column, sentence, tuple(said for _, _, _, said in changes))


def plain_repair(text: str) -> dict[str, Any] | None:
    repair = repair_of(text)
    return None if repair is None else to_plain(repair)


_Change = tuple[int, int | None, str, str]
"""Line, column, what is wrong, what is changed."""


def _without_fences(rows: list[str]) -> _Change | None:
    """Empty the fences, and the text around fenced code."""
    code = {token.line for token in visible_tokens("\n".join(rows))}
    fences = [n for n, row in enumerate(rows) if n + 1 in code and _FENCE.fullmatch(row)]
    if not fences:
        return None
    inside = {n for first, last in zip(fences[::2], fences[1::2], strict=False) for n in range(first + 1, last)}
    prose = [n for n, row in enumerate(rows) if len(fences) % 2 == 0 and n not in inside and row.strip()]
    gone = sorted({*fences, *prose})
    for n in gone:
        rows[n] = ""
    what = "Markdown fences" if len(gone) == len(fences) else "Markdown fences and the text around them"
    where = line_ranges([range(n + 1, n + 2) for n in gone])
    first = fences[0] + 1
    return (
        first,
        None,
        f"Line {first} has a Markdown fence (```), which isn't code.",
        f"{where[0].upper()}{where[1:]}: removed {what}.",
    )


def _without_numbers(rows: list[str]) -> _Change | None:
    """Remove the line numbers of a listing, if nearly every line begins with the next number."""
    written = [n for n, row in enumerate(rows) if row.strip()]
    first = _NUMBER.match(rows[written[0]].lstrip()) if written else None
    if first is None:
        return None
    wanted = int(first[0])
    padding = len(first[0]) if first[0].startswith("0") else 0
    rest: dict[int, str] = {}
    for before, n in zip([written[0] - 1, *written], written, strict=False):
        row = rows[n].lstrip()
        # Some listings count blank lines without a number.
        for number in (wanted, wanted + n - before - 1):
            shown = str(number).zfill(padding)
            if row.startswith(shown):
                rest[n] = _AFTER_NUMBER.sub("", row[len(shown) :], count=1)
                wanted = number + 1
                break
    if len(rest) < max(_LEAST_NUMBERED, len(written) * 4 // 5):
        return None
    gap = min((len(text) - len(text.lstrip(" ")) for text in rest.values() if text.strip()), default=0)
    for n, text in rest.items():
        rows[n] = text[gap:] if text.strip() else ""
    where = f"Lines {min(rest) + 1} to {max(rest) + 1}"
    return (
        min(rest) + 1,
        None,
        f"{where} begin with line numbers, which aren't code.",
        f"{where}: removed {plural(len(rest), 'line number')}.",
    )


def _with_plain_characters(rows: list[str]) -> _Change | None:
    """Replace characters that the compiler can't read. A replaced quotation mark may show more of them."""
    first: OddCharacter | None = None
    lines: set[int] = set()
    count = 0
    for _ in range(_MOST_PASSES):
        text = "\n".join(rows)
        found = [(n, column, char) for n, column, char in other_characters(text) if replacement(char) is not None]
        if first is None:
            skipped = _skipped(text) if found else set()
            first = next((OddCharacter(*each) for each in found if each[0] not in skipped), None)
        if first is None or not found:
            break
        count += len(found)
        for n, column, char in reversed(found):
            lines.add(n)
            row = rows[n - 1]
            rows[n - 1] = f"{row[: column - 1]}{replacement(char)}{row[column:]}"
        rows[:] = "\n".join(rows).split("\n")  # a line separator adds a line
    if first is None:
        return None
    where = line_ranges([range(n, n + 1) for n in sorted(lines)])
    said = f"{where[0].upper()}{where[1:]}: replaced {plural(count, 'character')} that the compiler can't read."
    return first.line, first.column, first.problem, said


def _skipped(text: str) -> set[int]:
    """The lines that the compiler certainly skips."""
    items = scan(text)
    seen = {id(entry.item) for entry in visible_items(items)}
    kept = {item.line for item in items if id(item) in seen}
    return {item.line for item in items if id(item) not in seen} - kept
