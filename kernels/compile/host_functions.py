"""Removes a student's host functions from the compiled text, if the kernel doesn't need them.

A reference on the host, or a function that prints a matrix, is valid CUDA C++. nvcc accepts it. NVRTC compiles only
device code and refuses it. NVRTC can treat such functions as device code (`-default-device`), but that accepts too
much. A helper that the kernel calls without `__device__` would pass here and fail with nvcc. A host function may also
use things that a device lacks. So a `constexpr` function gets its `__device__`, and the lines of all other host
functions are blanked. A function that the kernel still needs then shows as an undefined name. No line changes its
number.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from kernels.source.conditions import visible_items, visible_tokens
from kernels.source.statements import statements
from kernels.source.text import Comment, Directive, Item, Kind, Token, scan

_CONSTEXPR = re.compile(r"\bconstexpr\b")
_LONGEST_HEAD = 100
_DEVICE = {"__global__", "__device__", "__constant__", "__shared__", "__managed__"}


def mark_constexpr(text: str, lines: Collection[int]) -> str:
    """The text with `__device__` before each `constexpr` of the functions that begin on these lines.

    nvcc lets device code use such a function in constant expressions, and with one option also elsewhere.
    """
    tokens = visible_tokens(text)
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
    """A text without some of its declarations, with the names of these declarations and their requested lines."""

    text: str
    names: Mapping[str, int]


def blank(text: str, lines: Collection[int]) -> Blanked | None:
    """The text without the declarations at namespace level that begin on these lines.

    None if a declaration can't be removed by whole lines. It may be part of a class or share a line with others. Or its
    preprocessor lines may matter outside of it.
    """
    items = scan(text)
    parts = statements([entry.item for entry in visible_items(items) if isinstance(entry.item, Token)])
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
    """Whether blanking these lines would change the meaning of other lines."""
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
