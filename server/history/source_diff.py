"""Two sources line by line, and within a changed line word by word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

from kernels.text_safety import safe_lines

MOST_LINES = 2_000
"""Of either source; a kernel has far fewer, and what it takes grows with the square."""

_MOST_WORDS = 300
_ALIKE = 0.35
_CONTEXT = 4
_FOLD_FROM = 12
_WORD = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a line. changed: whether the other line has something else there."""

    text: str
    changed: bool


@dataclass(frozen=True, slots=True)
class Side:
    """A line of one of the sources."""

    number: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """Lines that stand beside each other; one of them is None where the other was added or removed.

    hidden: so many lines that are alike are left out here
    """

    left: Side | None = None
    right: Side | None = None
    same: bool = False
    hidden: int = 0


@dataclass(frozen=True, slots=True)
class SourceDiff:
    """added, removed: lines; too_long: nothing was compared."""

    rows: tuple[Row, ...]
    added: int
    removed: int
    too_long: bool = False

    @property
    def alike(self) -> bool:
        """Whether both sources are the same."""
        return not self.too_long and not self.added and not self.removed


def source_diff(left: str, right: str, *, whole: bool = False) -> SourceDiff:
    """What changed from the one to the other. whole: with every line that is alike."""
    before, after = _lines(left), _lines(right)
    if max(len(before), len(after)) > MOST_LINES:
        return SourceDiff((), 0, 0, too_long=True)
    rows: list[Row] = []
    added = removed = 0
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    for place, (kind, i, j, k, m) in enumerate(blocks):
        if kind == "equal":
            alike = [Row(_side(i + n, before), _side(k + n, after), same=True) for n in range(j - i)]
            rows += alike if whole else _folded(alike, first=place == 0, last=place == len(blocks) - 1)
            continue
        removed += j - i
        added += m - k
        rows += [_changed(a, b, before, after) for a, b in zip_longest(range(i, j), range(k, m))]
    return SourceDiff(tuple(rows), added, removed)


def _lines(text: str) -> list[str]:
    lines = safe_lines(text)
    return lines[:-1] if lines and not lines[-1] else lines


def _side(place: int, lines: Sequence[str]) -> Side:
    return Side(place + 1, (Piece(lines[place], changed=False),))


def _folded(rows: list[Row], *, first: bool, last: bool) -> list[Row]:
    """Without the middle of what is alike; at the ends of the file, without what is far from a change."""
    start, end = 0 if first else _CONTEXT, 0 if last else _CONTEXT
    hidden = len(rows) - start - end
    if hidden < _FOLD_FROM:
        return rows
    return [*rows[:start], Row(same=True, hidden=hidden), *rows[len(rows) - end :]]


def _changed(a: int | None, b: int | None, before: Sequence[str], after: Sequence[str]) -> Row:
    if a is None or b is None:
        return Row(
            None if a is None else Side(a + 1, (Piece(before[a], changed=False),)),
            None if b is None else Side(b + 1, (Piece(after[b], changed=False),)),
        )
    left, right = _words(before[a], after[b])
    return Row(Side(a + 1, left), Side(b + 1, right))


def _words(left: str, right: str) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """The pieces of two lines; where they have little in common, both as a whole."""
    old, new = _WORD.findall(left), _WORD.findall(right)
    whole = (Piece(left, changed=False),), (Piece(right, changed=False),)
    if max(len(old), len(new)) > _MOST_WORDS:
        return whole
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return whole
    lefts: list[Piece] = []
    rights: list[Piece] = []
    for kind, i, j, k, m in matcher.get_opcodes():
        changed = kind != "equal"
        if j > i:
            lefts.append(Piece("".join(old[i:j]), changed))
        if m > k:
            rights.append(Piece("".join(new[k:m]), changed))
    return tuple(lefts), tuple(rights)
