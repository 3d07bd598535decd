"""The difference of two sources, by lines, and within changed lines by words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kernels.rendering.text_safety import safe_lines
from server.history import line_pairs
from server.history.matching_blocks import Block, blocks

MOST_LINES = 2_000
"""The longest source that is compared. A kernel has far fewer lines, and a longer page would be useless."""

MOST_MARKED = 3_000
"""The number of words that are compared. Changed lines beyond are marked as a whole."""

_MOST_WORDS = 300
_ROWS_AT_A_TIME = 50
_ALIKE = 0.35
_CONTEXT = 4
_FOLD_FROM = 12
_WORD = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a line. changed: whether it differs from the other line."""

    text: str
    changed: bool


@dataclass(frozen=True, slots=True)
class Side:
    """A line of one source."""

    number: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """Two lines next to each other. One is None if the other was added or removed.

    hidden: the number of identical lines left out here
    """

    left: Side | None = None
    right: Side | None = None
    same: bool = False
    hidden: int = 0


@dataclass(frozen=True, slots=True)
class SourceDiff:
    """A comparison of two sources. added, removed: numbers of lines; too_long: whether nothing was compared."""

    rows: tuple[Row, ...]
    added: int
    removed: int
    too_long: bool = False

    @property
    def alike(self) -> bool:
        return not self.too_long and not self.added and not self.removed


def source_diff(left: str, right: str, *, whole: bool = False, go_on: Callable[[], None] = lambda: None) -> SourceDiff:
    """Compare two sources.

    whole: whether to include all identical lines
    go_on: called after each piece of work; may raise to stop the comparison
    """
    before, after = _lines(left), _lines(right)
    if max(len(before), len(after)) > MOST_LINES:
        return SourceDiff((), 0, 0, too_long=True)
    rows: list[Row] = []
    added = removed = compared = 0
    found = blocks(before, after)
    words = _Words(MOST_MARKED)
    for block in found:
        lefts, rights = range(block.left, block.left_end), range(block.right, block.right_end)
        if block.same:
            alike = [Row(_side(a, before), _side(b, after), same=True) for a, b in zip(lefts, rights, strict=True)]
            rows += alike if whole else _folded(alike, first=block is found[0], last=block is found[-1])
            continue
        removed += len(lefts)
        added += len(rights)
        compared += len(lefts) * len(rights)
        pairs = _pairs(block, before, after, by_likeness=compared <= line_pairs.MOST_CELLS)
        for place, (a, b) in enumerate(pairs):
            rows.append(_changed(a, b, before, after, words))
            if place % _ROWS_AT_A_TIME == 0:
                go_on()
    return SourceDiff(tuple(rows), added, removed)


def _pairs(
    block: Block, before: Sequence[str], after: Sequence[str], *, by_likeness: bool
) -> Iterator[line_pairs.Pair]:
    if not by_likeness:
        yield from line_pairs.unpaired(range(block.left, block.left_end), range(block.right, block.right_end))
        return
    left, right = before[block.left : block.left_end], after[block.right : block.right_end]
    for a, b in line_pairs.line_pairs(left, right):
        yield None if a is None else block.left + a, None if b is None else block.right + b


def _lines(text: str) -> list[str]:
    lines = safe_lines(text)
    return lines[:-1] if lines and not lines[-1] else lines


def _side(place: int, lines: Sequence[str]) -> Side:
    return Side(place + 1, (Piece(lines[place], changed=False),))


def _folded(rows: list[Row], *, first: bool, last: bool) -> list[Row]:
    """Leave out identical lines that are far from a change."""
    start, end = 0 if first else _CONTEXT, 0 if last else _CONTEXT
    hidden = len(rows) - start - end
    if hidden < _FOLD_FROM:
        return rows
    return [*rows[:start], Row(same=True, hidden=hidden), *rows[len(rows) - end :]]


def _changed(a: int | None, b: int | None, before: Sequence[str], after: Sequence[str], words: _Words) -> Row:
    if a is None or b is None:
        return Row(
            None if a is None else Side(a + 1, (Piece(before[a], changed=False),)),
            None if b is None else Side(b + 1, (Piece(after[b], changed=False),)),
        )
    left, right = words.pieces(before[a], after[b])
    return Row(Side(a + 1, left), Side(b + 1, right))


class _Words:
    """Marks changed words, up to a total number of words."""

    def __init__(self, most: int) -> None:
        self._left = most

    def pieces(self, left: str, right: str) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
        """The pieces of two lines. Both are one piece if they have little in common or the total is reached."""
        whole = (Piece(left, changed=False),), (Piece(right, changed=False),)
        if not self._left:
            return whole
        old, new = _WORD.findall(left), _WORD.findall(right)
        if max(len(old), len(new)) > _MOST_WORDS:
            return whole
        if len(old) + len(new) > self._left:
            self._left = 0
            return whole
        self._left -= len(old) + len(new)
        found = blocks(old, new)
        alike = sum(block.left_end - block.left for block in found if block.same)
        if 2 * alike < _ALIKE * (len(old) + len(new)):
            return whole
        lefts = [Piece("".join(old[each.left : each.left_end]), not each.same) for each in found]
        rights = [Piece("".join(new[each.right : each.right_end]), not each.same) for each in found]
        return tuple(piece for piece in lefts if piece.text), tuple(piece for piece in rights if piece.text)
