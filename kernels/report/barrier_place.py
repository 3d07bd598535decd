"""The line after which a missing barrier belongs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

from kernels.report.source_facts import code_between, code_of, statements_at
from kernels.source.loops import Statement
from kernels.verdict import Finding

_LEAVES = re.compile(r"\b(?:return|break|continue|goto)\b")
_SKIPPED = re.compile(r"\s*(?:#\s*pragma.*)?")
_LONGEST_STATEMENT = 32
_MOST_RACES = 32


def barrier_place(races: Sequence[Finding], lines: Sequence[str]) -> str:
    """The place of a barrier between the accesses of the first race: `after line 20`.

    races: all races of the report
    """
    first, second = races[0].other_line, races[0].line
    if first is None or second is None or first == second:
        return "between the two accesses"
    # Without a loop, a thread that skipped a branch may have come first.
    again = first > second and _loop_of_both(first, second, lines) is not None
    line = (
        _after_first(races, lines) if again else _before_second(min(first, second), max(first, second), lines)
    )
    return f"after line {line}" if line is not None else f"after line {first}, before line {second} runs"


def _before_second(first: int, second: int, lines: Sequence[str]) -> int | None:
    """The last line before the statement of the second access. Other tiles are also complete there."""
    end, line = _end(first, second, lines), _start(second, first, lines) - 1
    while line > end and _SKIPPED.fullmatch(code_of(line, lines)):
        line -= 1
    if line < end or second > len(lines) or not _in_one_block(end, line + 1, lines):
        return None
    # After a thread has left, a barrier is too late.
    return end if _LEAVES.search(code_between(end + 1, line, lines)) else line


def _after_first(races: Sequence[Finding], lines: Sequence[str]) -> int | None:
    """The last line of the statements with the first access, if the second one is in the next iteration.

    Only races of the same loop count.
    """
    pairs = [(race.other_line or 0, race.line or 0) for race in races[:_MOST_RACES]]
    first, second = pairs[0]
    loop = _loop_of_both(first, second, lines)
    apart = _in_one_block(_end(second, first, lines), _start(first, second, lines), lines)
    same = (pair for pair in pairs if pair[0] > pair[1] and _loop_of_both(*pair, lines) == loop)
    return max(_end(*pair, lines) for pair in same) if apart else None


def _loop_of_both(first: int, second: int, lines: Sequence[str]) -> Statement | None:
    """The innermost loop around two lines."""
    around = statements_at(first, lines)
    return next((each for each in around if each.is_loop and each.first <= second <= each.last), None)


def _in_one_block(end: int, start: int, lines: Sequence[str]) -> bool:
    """Whether two statements are in one block, the first until line `end`, the other from line `start`."""
    code = code_between(end + 1, start - 1, lines)
    depth = min(accumulate({"{": 1, "}": -1}.get(char, 0) for char in code), default=0)
    return depth == 0 and re.match(r"\s*else\b", code) is None and end < start


def _start(line: int, other: int, lines: Sequence[str]) -> int:
    """The first line of the outermost statement around a line that isn't around the other line."""
    alone = _outermost(line, other, lines)
    return line if alone is None else alone.first


def _end(line: int, other: int, lines: Sequence[str]) -> int:
    """The last line of the outermost statement around a line that isn't around the other line."""
    alone = _outermost(line, other, lines)
    if alone is not None:
        return alone.last
    numbers = range(line, min(line + _LONGEST_STATEMENT, len(lines) + 1))
    return next((number for number in numbers if ";" in code_of(number, lines)), line)


def _outermost(line: int, other: int, lines: Sequence[str]) -> Statement | None:
    alone = [each for each in statements_at(line, lines) if not each.first <= other <= each.last]
    return alone[-1] if alone else None
