"""The difference of two sources, by lines, and within changed lines by words."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

from kernels.rendering.page.listing.syntax import Piece as Coloured
from kernels.rendering.page.listing.syntax import coloured
from kernels.rendering.text_safety import safe_lines


@dataclass(frozen=True, slots=True)
class Block:
    """Items `left` to `left_end` next to items `right` to `right_end`. same: whether they are equal."""

    same: bool
    left: int
    left_end: int
    right: int
    right_end: int


def blocks(left: Sequence[Hashable], right: Sequence[Hashable]) -> tuple[Block, ...]:
    """Split both sequences into blocks of equal and of different items."""
    return tuple(_blocks(_common_pairs(left, right), len(left), len(right)))


def _blocks(pairs: Sequence[tuple[int, int]], left_end: int, right_end: int) -> Iterator[Block]:
    i = j = place = 0
    while place < len(pairs):
        a, b = pairs[place]
        if a > i or b > j:
            yield Block(False, i, a, j, b)
        length = 1
        while place + length < len(pairs) and pairs[place + length] == (a + length, b + length):
            length += 1
        i, j, place = a + length, b + length, place + length
        yield Block(True, a, i, b, j)
    if i < left_end or j < right_end:
        yield Block(False, i, left_end, j, right_end)


def _common_pairs(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[tuple[int, int]]:
    """The indices of equal items in order, including the common beginning and end."""
    most = min(len(left), len(right))
    start = next((i for i in range(most) if left[i] != right[i]), most)
    end = next((i for i in range(most - start) if left[-1 - i] != right[-1 - i]), most - start)
    inner = _inner(left[start : len(left) - end], right[start : len(right) - end])
    return [
        *((i, i) for i in range(start)),
        *((start + i, start + j) for i, j in inner),
        *((len(left) - i, len(right) - i) for i in range(end, 0, -1)),
    ]


def _inner(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[tuple[int, int]]:
    where: dict[Hashable, int] = {}
    for j, item in enumerate(right):
        where[item] = where.get(item, 0) | 1 << j
    every = (1 << len(right)) - 1
    row, rows = every, []
    for item in left:
        there = row & where.get(item, 0)
        row = ((row + there) | (row - there)) & every
        rows.append(row)
    # A cleared bit means that the length grows by one there. Walk back from the end to find the pairs.
    found: list[tuple[int, int]] = []
    i, j = len(left) - 1, len(right) - 1
    while i >= 0 and j >= 0:
        if rows[i] >> j & 1:
            j -= 1
        elif i and not rows[i - 1] >> j & 1:
            i -= 1
        else:
            found.append((i, j))
            i, j = i - 1, j - 1
    return found[::-1]


MOST_CELLS = 10_000
"""Comparisons of two lines in one diff. A block that needs more is shown without pairs."""

_LEAST_ALIKE = 0.5
_MOST_WORDS = 300
_WHOLE_WORD = re.compile(r"\w+")

Pair = tuple[int | None, int | None]


def line_pairs(left: Sequence[str], right: Sequence[str]) -> Iterator[Pair]:
    """Every line of both sides once, in order: similar lines as pairs, other lines alone.

    Needs len(left) * len(right) comparisons.
    """
    known: dict[str, int] = {}
    a, b = ([_words(line, known) for line in side] for side in (left, right))
    best = _best_from(a, b)
    i = j = 0
    while i < len(a) and j < len(b):
        if best[i][j] == best[i + 1][j]:
            yield i, None
            i += 1
        elif best[i][j] == best[i][j + 1]:
            yield None, j
            j += 1
        else:
            yield i, j
            i, j = i + 1, j + 1
    yield from unpaired(range(i, len(a)), range(j, len(b)))


def unpaired(left: range, right: range) -> Iterator[Pair]:
    yield from ((i, None) for i in left)
    yield from ((None, j) for j in right)


def _best_from(left: Sequence[int], right: Sequence[int]) -> list[list[float]]:
    """The largest sum of likeness from line i on the left and line j on the right."""
    best = [[0.0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i in range(len(left) - 1, -1, -1):
        row, below = best[i], best[i + 1]
        for j in range(len(right) - 1, -1, -1):
            row[j] = max(below[j], row[j + 1], below[j + 1] + _alike(left[i], right[j]))
    return best


def _alike(left: int, right: int) -> float:
    """The share of words in common; 0 if the lines are too different to be a pair."""
    share = 2 * (left & right).bit_count() / ((left.bit_count() + right.bit_count()) or 1)
    return share if share >= _LEAST_ALIKE else 0.0


def _words(line: str, known: dict[str, int]) -> int:
    """A bit for each different word; 0 for a line with too many words to compare.

    known: the bits of words so far, on both sides; this function adds new words
    """
    found = _WHOLE_WORD.findall(line)
    if len(found) > _MOST_WORDS:
        return 0
    return sum(1 << known.setdefault(word, len(known)) for word in set(found))


MOST_LINES = 2_000
"""The longest source that is compared. A kernel has far fewer lines, and a longer page would be useless."""

MOST_MARKED = 3_000
"""The number of words that are compared. Changed lines beyond are marked as a whole."""

_ROWS_AT_A_TIME = 50
_ALIKE = 0.35
_CONTEXT = 4
_FOLD_FROM = 12
_WORD = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a line. changed: whether it differs from the other line; kind: of its colour, "" for none."""

    text: str
    changed: bool
    kind: str = ""


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
        pairs = _pairs(block, before, after, by_likeness=compared <= MOST_CELLS)
        for place, (a, b) in enumerate(pairs):
            rows.append(_changed(a, b, before, after, words))
            if place % _ROWS_AT_A_TIME == 0:
                go_on()
    return SourceDiff(tuple(rows), added, removed)


def in_colours(diff: SourceDiff, left: str, right: str) -> SourceDiff:
    """The comparison of these sources, with CUDA's colours."""
    if not diff.rows:
        return diff
    before, after = (coloured("\n".join(_lines(text))) for text in (left, right))
    return SourceDiff(tuple(_in_colours(row, before, after) for row in diff.rows), diff.added, diff.removed)


def _in_colours(row: Row, left: Sequence[Sequence[Coloured]], right: Sequence[Sequence[Coloured]]) -> Row:
    """The row, with its pieces split where the colour changes."""
    if row.hidden:
        return row
    return Row(_coloured_side(row.left, left), _coloured_side(row.right, right), row.same)


def _coloured_side(side: Side | None, lines: Sequence[Sequence[Coloured]]) -> Side | None:
    if side is None or side.number > len(lines):
        return side
    colours = lines[side.number - 1]
    if len(side.pieces) == 1:
        changed = side.pieces[0].changed
        return Side(side.number, tuple([Piece(each.text, changed, each.kind) for each in colours]))
    return Side(side.number, tuple(_split(side.pieces, colours)))


def _split(pieces: Sequence[Piece], colours: Sequence[Coloured]) -> Iterator[Piece]:
    """The pieces in colours. Both have the same text."""
    left = [(each.kind, len(each.text)) for each in reversed(colours)]
    for piece in pieces:
        text = piece.text
        while text:
            kind, room = left.pop() if left else ("", len(text))
            yield Piece(text[:room], piece.changed, kind)
            if room > len(text):
                left.append((kind, room - len(text)))
            text = text[room:]


def _pairs(block: Block, before: Sequence[str], after: Sequence[str], *, by_likeness: bool) -> Iterator[Pair]:
    if not by_likeness:
        yield from unpaired(range(block.left, block.left_end), range(block.right, block.right_end))
        return
    left, right = before[block.left : block.left_end], after[block.right : block.right_end]
    for a, b in line_pairs(left, right):
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
