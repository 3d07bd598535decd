"""A kernel's text with other values for its macros and constants; every line keeps its number."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kernels.source.text import Directive, Kind, Token, scan

_TYPES = frozenset({"int", "unsigned", "long", "short", "size_t", "auto", "uint32_t", "int32_t"})


def variant(text: str, values: Mapping[str, int]) -> str:
    """The text with each value in place of the file's own; names that the file doesn't define change nothing."""
    lines = text.split("\n")
    items = scan(text)
    for item in items:
        if isinstance(item, Directive) and item.name == "define" and item.tokens:
            name = item.tokens[0].text
            if name in values and not _takes_arguments(item):
                _define(lines, item.line, name, values[name])
    for name, line in _constants([item for item in items if isinstance(item, Token)]):
        if name in values:
            pattern = rf"\b({re.escape(name)}\s*(?:=\s*|\{{\s*))[^;{{}},]*"
            lines[line - 1] = re.sub(pattern, rf"\g<1>{values[name]}", lines[line - 1], count=1)
    return "\n".join(lines)


def defined(text: str) -> frozenset[str]:
    """The names that `variant` can give another value."""
    items = scan(text)
    macros = {
        item.tokens[0].text
        for item in items
        if isinstance(item, Directive)
        and item.name == "define"
        and len(item.tokens) > 1
        and not _takes_arguments(item)
    }
    return frozenset(macros | {name for name, _ in _constants([x for x in items if isinstance(x, Token)])})


def _takes_arguments(directive: Directive) -> bool:
    tokens = directive.tokens
    return len(tokens) > 1 and tokens[1].text == "(" and tokens[1].glued


def _define(lines: list[str], line: int, name: str, value: int) -> None:
    """Give a macro its value; lines that continue the old one become empty."""
    continued = lines[line - 1].endswith("\\")
    lines[line - 1] = re.sub(
        rf"(#\s*define\s+{re.escape(name)})\b.*?(?=\s*(?://|/\*)|\\?$)", rf"\g<1> {value}", lines[line - 1]
    ).removesuffix("\\")
    while continued and line < len(lines):
        continued = lines[line].endswith("\\")
        lines[line] = ""
        line += 1


def _constants(tokens: list[Token]) -> list[tuple[str, int]]:
    """Name and line of each `const` or `constexpr` integer with a value."""
    found = []
    for place in range(2, len(tokens) - 1):
        token, before, after = tokens[place], tokens[place - 1], tokens[place + 1]
        if token.kind is Kind.NAME and before.text in _TYPES and after.text in {"=", "{"}:
            start = max(0, place - 6)
            words = {each.text for each in tokens[start:place]}
            if words & {"const", "constexpr"}:
                found.append((token.text, token.line))
    return found
