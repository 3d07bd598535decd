"""Texts that make a backtracking search slow, made from the structure of the pattern.

A pattern takes more than linear time if a part repeats over a text that several starts share, or that several parts can
divide among them. So each part is repeated by itself, with what comes before it, and followed by what can't match.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from typing import Any

op: Any = importlib.import_module("re._constants")
parser: Any = importlib.import_module("re._parser")

ALIKE = (
    *("\n", " ", "\t", "a", "1", "a*", "a ", "a,", "a=", "[", "(", "{", "{}", "[]", '"', "'", "`", ";", "/", "*", "#"),
    *("\\", ".", "-", "a\n", " \n", "a[", "[a]", "//", "/*", "a(", "0;", "=\n"),
)
"""What a person may repeat in any file."""

ENDS = ("", "\x01", "\n\x01")


def attacks(pattern: str, flags: int) -> Iterator[tuple[str, str]]:
    """Pieces to repeat, each after a text that comes once."""
    tree = parser.parse(pattern, flags)
    seen = set()
    for before, piece in _pumps(list(tree), ""):
        for given in ((before, piece), ("", before + piece), ("", piece + before)):
            if given[1] and given not in seen:
                seen.add(given)
                yield given


def _pumps(items: list[Any], before: str) -> Iterator[tuple[str, str]]:
    """Each repeated part with an example of what precedes it."""
    for kind, value in items:
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            _, _, inside = value
            for piece in _examples(list(inside)):
                yield before, piece
            yield from _pumps(list(inside), before)
        elif kind is op.SUBPATTERN:
            yield from _pumps(list(value[3]), before)
        elif kind is op.ATOMIC_GROUP:
            yield from _pumps(list(value), before)
        elif kind is op.BRANCH:
            for branch in value[1]:
                yield from _pumps(list(branch), before)
        elif kind in (op.ASSERT, op.ASSERT_NOT):
            yield from _pumps(list(value[1]), before)
        example = next(_examples([(kind, value)]), "")
        before += example
        yield "", before


def _examples(items: list[Any]) -> Iterator[str]:
    """A few texts that the items match."""
    several = [_of_item(kind, value) for kind, value in items]
    for number in range(max(map(len, several), default=1)):
        yield "".join(each[number % len(each)] for each in several)


def _of_item(kind: Any, value: Any) -> list[str]:
    if kind is op.LITERAL:
        return [chr(value)]
    if kind is op.NOT_LITERAL:
        return [each for each in ("a", " ", "\n", "0") if each != chr(value)]
    if kind is op.ANY:
        return ["a", " ", "("]
    if kind is op.IN:
        return _of_set(value)
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
        least, _, inside = value
        return [each * max(least, 1) for each in _examples(list(inside))]
    if kind is op.SUBPATTERN:
        return list(_examples(list(value[3])))
    if kind is op.ATOMIC_GROUP:
        return list(_examples(list(value)))
    if kind is op.BRANCH:
        return [each for branch in value[1] for each in _examples(list(branch))]
    return [""]


_CANDIDATES = "a 0\n\t_(*[;=,.-+\"'/<>&|{}x)]#:"


def _of_set(items: list[Any]) -> list[str]:
    found = [each for each in _CANDIDATES if _in_set(each, items)]
    if not found:
        first = items[0]
        found = [chr(first[1] if first[0] is op.LITERAL else first[1][0])]
    return found[:4]


def _in_set(character: str, items: list[Any]) -> bool:
    negated = items[0][0] is op.NEGATE
    rest = items[1:] if negated else items
    classes = {
        op.CATEGORY_DIGIT: r"\d", op.CATEGORY_NOT_DIGIT: r"\D", op.CATEGORY_SPACE: r"\s",
        op.CATEGORY_NOT_SPACE: r"\S", op.CATEGORY_WORD: r"\w", op.CATEGORY_NOT_WORD: r"\W",
    }  # fmt: skip
    inside = False
    for kind, value in rest:
        if kind is op.LITERAL:
            inside |= ord(character) == value
        elif kind is op.RANGE:
            inside |= value[0] <= ord(character) <= value[1]
        elif kind is op.CATEGORY:
            inside |= re.fullmatch(classes[value], character) is not None
    return inside != negated


def text_of(before: str, piece: str, end: str, size: int) -> str:
    """A text of about this size."""
    return before + piece * max(1, (size - len(before)) // len(piece)) + end
