"""A student's own host functions: taken out of what is compiled, where the kernel does not need them.

A reference on the host or a function that prints a matrix is right CUDA C++, and nvcc takes it. NVRTC compiles device
code only and refuses it. Its option to treat such functions as device code (`-default-device`) would let too much
through: a helper that the kernel calls and that lacks its `__device__` would pass here and fail with nvcc, and a host
function may use what a device has not. So a `constexpr` function gets its `__device__`, the lines of the others are
blanked, and whatever the kernel still needs of them shows as an undefined name. All other lines stay where they are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from kernels.source.conditions import seen_items
from kernels.source.statements import statements
from kernels.source.text import Comment, Directive, Item, Kind, Token, scan

_CONSTEXPR = re.compile(r"\bconstexpr\b")
_LONGEST_HEAD = 100
_DEVICE = {"__global__", "__device__", "__constant__", "__shared__", "__managed__"}


def mark_constexpr(text: str, lines: Collection[int]) -> str:
    """The text with `__device__` before each `constexpr` of the functions that begin on these lines.

    nvcc lets device code use such a function in constant expressions, and elsewhere with one more option.
    """
    tokens = [entry.item for entry in seen_items(scan(text)) if isinstance(entry.item, Token)]
    by_row: dict[int, list[int]] = {}
    for index, token in enumerate(tokens):
        if token.text == "constexpr":
            by_row.setdefault(token.line, []).append(index)
    rows = text.split("\n")
    for row, found in by_row.items():
        places = [match.start() for match in _CONSTEXPR.finditer(rows[row - 1])]
        for index, place in reversed(list(zip(found, places, strict=False))):
            head = _head_of_function(tokens[index : index + _LONGEST_HEAD])
            marked = index and tokens[index - 1].text == "__device__"
            if head and not marked and any(row <= line <= head[-1].line for line in lines):
                rows[row - 1] = f"{rows[row - 1][:place]}__device__ {rows[row - 1][place:]}"
    return "\n".join(rows)


def _head_of_function(tokens: Sequence[Token]) -> Sequence[Token]:
    """The tokens up to the parameters of a function; none for a variable."""
    for index, token in enumerate(tokens):
        if token.text in {"(", ";", "{", "="}:
            return tokens[: index + 1] if token.text == "(" else ()
    return ()


@dataclass(frozen=True, slots=True)
class Blanked:
    """A text without some of its declarations, and by their names the lines by which they were asked for."""

    text: str
    names: Mapping[str, int]


def blank(text: str, lines: Collection[int]) -> Blanked | None:
    """The text without the declarations at namespace level that begin on these lines.

    None where one of them cannot be taken out by whole lines: it is part of a class, shares a line with others, or
    holds preprocessor lines that may matter outside of it.
    """
    items = scan(text)
    parts = statements([entry.item for entry in seen_items(items) if isinstance(entry.item, Token)])
    wanted, others = [], []
    in_order = sorted(lines)
    for part in parts:
        asked = next((line for line in in_order if part[0].line <= line <= _head_end(part)), None)
        if asked is None:
            others.append(part)
        else:
            wanted.append((part, asked))
    gone = {line for part, _ in wanted for line in _span(part)}
    if not gone.issuperset(lines) or any(line in gone for part in others for line in _span(part)):
        return None
    if any(_reaches_out(item, gone) for item in items):
        return None
    if any(token.text in _DEVICE for part, _ in wanted for token in part):
        return None
    rows = ["" if number in gone else row for number, row in enumerate(text.split("\n"), 1)]
    return Blanked("\n".join(rows), {name: asked for part, asked in wanted for name in _names(part)})


def _reaches_out(item: Item, gone: Collection[int]) -> bool:
    """Whether blanking these lines would change what the compiler reads on others."""
    if isinstance(item, Directive):
        return item.line in gone and item.name != "pragma"
    if isinstance(item, Comment):
        inside = {line in gone for line in range(item.line, item.line + item.text.count("\n") + 1)}
        return len(inside) > 1
    return False


def _head_end(part: Sequence[Token]) -> int:
    """The last line of a declaration before its body."""
    head = next((token for token in part if token.text == "{"), part[-1])
    return head.line


def _span(part: Sequence[Token]) -> range:
    return range(part[0].line, part[-1].line + 1)


def _names(part: Sequence[Token]) -> list[str]:
    call = next((index for index, token in enumerate(part) if token.text == "("), None)
    if call:
        return [part[call - 1].text]
    after = [*(token.text for token in part[1:]), ";"]
    return [
        token.text
        for token, following in zip(part, after, strict=True)
        if token.kind is Kind.NAME and following in {";", ",", "=", "[", "{"}
    ]
