"""A kernel's text with other values for its macros and constants; every line keeps its number."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from kernels.source.text import Directive, Kind, Places, Token, scan

_TYPES = frozenset({"int", "unsigned", "long", "short", "size_t", "auto", "uint32_t", "int32_t"})
_BEFORE_A_NAME = _TYPES | {"const", "constexpr", "static", "inline", "__device__", "__constant__", "std", "::", ":"}
_CONSTANT = {"const", "constexpr"}
_ASSIGNED = re.compile(r"\s*[={]\s*")


def variant(text: str, values: Mapping[str, int]) -> str:
    """The text with each value in place of the file's own; names that the file doesn't define change nothing."""
    lines = text.split("\n")
    items = scan(text)
    for item in items:
        if isinstance(item, Directive) and item.name == "define" and item.tokens:
            name = item.tokens[0].text
            if name in values and not _takes_arguments(item):
                _define(lines, item.line, name, values[name])
    for name, line, start, end in reversed(_constants(text, items)):
        if name in values:
            lines[line - 1] = f"{lines[line - 1][:start]}{values[name]}{lines[line - 1][end:]}"
    return "\n".join(lines)


def defined(text: str) -> frozenset[str]:
    items = scan(text)
    macros = {
        item.tokens[0].text
        for item in items
        if isinstance(item, Directive) and item.name == "define" and len(item.tokens) > 1 and not _takes_arguments(item)
    }
    return frozenset(macros | {name for name, *_ in _constants(text, items)})


def _takes_arguments(directive: Directive) -> bool:
    tokens = directive.tokens
    return len(tokens) > 1 and tokens[1].text == "(" and tokens[1].glued


def _define(lines: list[str], line: int, name: str, value: int) -> None:
    """Give a macro its value; lines that continue the old one become empty."""
    continued = lines[line - 1].endswith("\\")
    head = re.search(rf"#\s*+define\s++{re.escape(name)}\b", lines[line - 1])
    if head is not None:
        old, mark, comment = re.split(r"(//|/\*|$)", lines[line - 1][head.end() :], maxsplit=1)
        space = old[len(old.rstrip()) :] if mark else ""
        lines[line - 1] = f"{lines[line - 1][: head.end()]} {value}{space}{mark}{comment}"
    lines[line - 1] = lines[line - 1].removesuffix("\\")
    while continued and line < len(lines):
        continued = lines[line].endswith("\\")
        lines[line] = ""
        line += 1


def _constants(text: str, items: Iterable[object]) -> list[tuple[str, int, int, int]]:
    """Name, line, start and end of the value of each `const` or `constexpr` integer on one line."""
    lines, places = text.split("\n"), Places(text)
    tokens = [item for item in items if isinstance(item, Token)]
    found = []
    for place in range(2, len(tokens) - 1):
        token, after = tokens[place], tokens[place + 1]
        if token.kind is not Kind.NAME or after.text not in {"=", "{"} or tokens[place - 1].text not in _TYPES:
            continue
        start = place
        while start and tokens[start - 1].text in _BEFORE_A_NAME:
            start -= 1
        if _CONSTANT & {token.text for token in tokens[start:place]}:
            value = _value(lines[token.line - 1], places.end(token)[1] - 1)
            found += [(token.text, token.line, *each) for each in value]
    return found


def _value(line: str, after: int) -> list[tuple[int, int]]:
    """Start and end of a value in its line; [] if it goes on below. after: the name's end."""
    match = _ASSIGNED.match(line, after)
    if match is None:
        return []
    depth = 0
    for place in range(match.end(), len(line)):
        character = line[place]
        if depth == 0 and character in ",;}":
            return [(match.end(), match.end() + len(line[match.end() : place].rstrip()))]
        depth += (character in "({[") - (character in ")}]")
    return []
