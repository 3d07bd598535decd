"""Facts about the graded source: its stores, its loops, and the names that one value reaches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from kernels.source.loops import Statement, statements_around

_LONGEST = 400
"""Characters of a line and of an expression that are read. Patterns on longer ones would take too long."""

_NAME = re.compile(r"\b[A-Za-z_]\w*")
_ASSIGNED = re.compile(r"(?<![\w.\]])(\w++)\s*+(?:[-+*/%&|^]|<<|>>)?=(?!=)")


def code_of(line: int | None, lines: Sequence[str]) -> str:
    """A line of the source without its comment; "" for an unknown line."""
    return _code(lines[line - 1]) if line is not None and line <= len(lines) else ""


def code_of_all(lines: Sequence[str]) -> str:
    """The source without its comments, with the same lines."""
    return "\n".join(map(_code, lines))


def _code(line: str) -> str:
    return line[:_LONGEST].partition("//")[0]


def code_between(first: int, last: int, lines: Sequence[str]) -> str:
    """Both lines and those between them, without comments."""
    return code_of_all(lines[first - 1 : last])


def line_at(code: str, place: int) -> int:
    return code.count("\n", 0, place) + 1


def names_in(code: str) -> set[str]:
    """The names in a piece of code, also keywords."""
    return set(_NAME.findall(code))


def one_name(code: str) -> str:
    """The code with `threadIdx.x` and its like as one name, such as `threadIdx_x`."""
    return re.sub(r"\b(threadIdx|blockIdx)\s*\.\s*([xyz])\b", r"\1_\2", code)


def is_shared(name: str, lines: Sequence[str]) -> bool:
    """Whether a line declares an array of that name in shared memory."""
    return declared_shared(name, lines) is not None


def declared_shared(name: str, lines: Sequence[str]) -> int | None:
    """The line that declares an array of that name in shared memory; None without one."""
    named = re.compile(rf"\b{re.escape(name)}\b")
    found = (number for number, line in enumerate(lines, 1) if "__shared__" in line and named.search(line))
    return next(found, None)


def integer_parameters(lines: Sequence[str]) -> list[str]:
    heads = re.findall(r"__global__[^{;]*", "\n".join(lines))
    found = (re.findall(r"\b(?:int|unsigned|size_t)\s+(\w+)\s*[,)]", head) for head in heads)
    return list(dict.fromkeys(name for names in found for name in names))


def stores_to(name: str, lines: Sequence[str]) -> list[int]:
    """The lines that store to an array or variable with `=`, except its declaration."""
    store = re.compile(rf"(?<![\w&])(?<!& ){re.escape(name)}\s*+(\[.{{0,200}}\]\s*+)?(?<![-+*/%&|^!<>=])=(?!=)")
    return [
        number
        for number in range(1, len(lines) + 1)
        if store.search(code_of(number, lines)) and "__shared__" not in lines[number - 1]
    ]


def reached_names(seeds: Iterable[str], code: str) -> set[str]:
    """The names whose value depends on one of the seeds, and the seeds."""
    reached, found = _uses(code), set[str]()
    waiting = [*seeds]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += reached.get(name, ())
    return found


@lru_cache(maxsize=4)  # a rule asks for each statement of one source
def _uses(code: str) -> Mapping[str, list[str]]:
    """For each name, the names whose assigned expression uses it."""
    uses: dict[str, list[str]] = {}
    for match in _ASSIGNED.finditer(code):
        for name in names_in(_expression(code[match.end() : match.end() + _LONGEST])):
            uses.setdefault(name, []).append(match[1])
    return uses


def _expression(code: str) -> str:
    """The expression that the code begins with."""
    depth = 0
    for at, char in enumerate(code):
        depth += (char in "([") - (char in ")]")
        if depth < 0 or char in ";{}" or (depth == 0 and char == ","):
            return code[:at]
    return code


def statements_at(line: int, lines: Sequence[str]) -> list[Statement]:
    """The loops and conditional statements around a line, the innermost first."""
    return statements_around(code_of_all(lines), line)


def loop_at(line: int, lines: Sequence[str]) -> Statement | None:
    """The innermost loop around a line, unless all of it is on one line."""
    loops = (statement for statement in statements_at(line, lines) if statement.is_loop)
    return next(loops, None)


@dataclass(frozen=True, slots=True)
class Parts:
    """A statement's code: between the parentheses of its head, and behind them."""

    condition: str
    body: str


def parts_of(statement: Statement, lines: Sequence[str]) -> Parts:
    """The parts of a statement; empty ones if its head isn't found or not closed."""
    code = code_between(statement.first, statement.last, lines)
    head = re.search(rf"\b{statement.word}\s*\(", code)
    if head is None:
        return Parts("", "")
    depths = accumulate({"(": 1, ")": -1}.get(char, 0) for char in code[head.end() - 1 :])
    size = next((size for size, depth in enumerate(depths) if depth == 0), 0)
    end = head.end() - 1 + size
    return Parts(code[head.end() : end], code[end + 1 :].strip())


def counters_of(loop: Statement, lines: Sequence[str]) -> set[str]:
    """The names in a loop's condition that the loop changes."""
    parts = parts_of(loop, lines)
    return names_in(parts.condition) & changed_names(f"{parts.condition};{parts.body}")


def changed_names(code: str) -> set[str]:
    """The names that the code assigns, counts up or down, or gives away by their address."""
    found = re.findall(
        r"(?<![\w.\]])(\w++)\s*+(?:[-+*/%&|^]|<<|>>)?=(?!=)|(?:\+\+|--|(?<!&)&(?!&))\s*+(\w+)|\b(\w++)\s*+(?:\+\+|--)",
        code,
    )
    return {name for names in found for name in names if name}
