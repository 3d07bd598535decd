"""Leaves host code out of a file: whole declarations outside of any function, and macros that Tilelab sets.

Their lines become empty, so all other lines keep their numbers. Each rule for source files applies to the text that is
left. So a declaration that is left out by mistake can only make a file fail.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kernels.source.conditions import VisibleItem, visible_items
from kernels.source.constants import Macro, find_macros
from kernels.source.rules import host_construct
from kernels.source.statements import statements
from kernels.source.text import Comment, Directive, Item, Kind, Token, scan
from kernels.verdict import Finding, Severity, Verdict
from kernels.wording import line_ranges

_DEVICE = {"__global__", "__device__", "__constant__", "__shared__", "__managed__"}
_HOST_NAME = re.compile(
    r"cuda(?:(?:Error|Event|Stream)_t|Success|DeviceProp|Memcpy(?:Host|Device)To(?:Host|Device))|cublas\w+_t"
)
_HOST_HINT = re.compile(r"main|cuda|cublas|std|<<<")
_CONSTANT = re.compile(r"(?:static |const |constexpr |unsigned )*(?:int|unsigned|size_t) (\w+) = [^,;{}]+ ;")
_LONGEST_HEAD = 100
_DEEPEST_MACRO = 32
_OPENS, _CLOSES = {"if", "ifdef", "ifndef"}, "endif"
_INSIDE = _OPENS | {"elif", "else", "pragma", "error", "warning", ""}


@dataclass(frozen=True, slots=True)
class Rest:
    """The text that is left.

    remarks: one on each kind of thing that was left out
    launched: the names of the kernels that host code launches
    """

    text: str
    remarks: tuple[Finding, ...] = ()
    launched: frozenset[str] = frozenset()


def leave_out(text: str, size_macros: Collection[str]) -> Rest:
    """Empty the lines of host code and of size macros. size_macros: the names that Tilelab defines for each case."""
    if not (_HOST_HINT.search(text) or any(name in text for name in size_macros)):
        return Rest(text)
    items = scan(text)
    seen = visible_items(items)
    lines = _Lines(text, items)
    parts = statements([entry.item for entry in seen if isinstance(entry.item, Token)])
    lines.count(parts)
    device = _device_names(find_macros(seen))
    host: list[range] = []
    main = False
    sizes = _defined(seen, size_macros, lines)
    for part in parts:
        span = range(part[0].line, part[-1].line + 1)
        if _is_host_code(part, device) and lines.removable(span):
            host.append(span)
            main = main or _defines_main(part)
        elif (name := _constant(part)) in size_macros and lines.removable(span):
            sizes.append((name, span))
    gone = {line for span in (*host, *(span for _, span in sizes)) for line in span}
    rows = ["" if number in gone else row for number, row in enumerate(text.split("\n"), 1)]
    remarks = (*_host_remark(host, main=main), *_size_remarks(sizes))
    return Rest("\n".join(rows), remarks, _launched(parts))


def _launched(parts: Iterable[Sequence[Token]]) -> frozenset[str]:
    return frozenset(
        one.text for part in parts for one, two in pairwise(part) if two.text == "<<<" and one.kind is Kind.NAME
    )


class _Lines:
    """The lines of a file, to decide which of them can be emptied without changing the others."""

    def __init__(self, text: str, items: Sequence[Item]) -> None:
        rows = text.split("\n")
        self._directives: dict[int, str] = {}
        self._owners: dict[int, int] = {}
        # the lines that are joined to the next one, by a backslash or a comment
        self.joined = {number for number, row in enumerate(rows, 1) if row.endswith("\\")}
        for item in items:
            if isinstance(item, Directive):
                self._directives[item.line] = item.name
            elif isinstance(item, Comment):
                self.joined |= set(range(item.line, item.end))

    def count(self, parts: Iterable[Sequence[Token]]) -> None:
        """Record how many declarations each line has a part of."""
        for part in parts:
            for line in range(part[0].line, part[-1].line + 1):
                self._owners[line] = self._owners.get(line, 0) + 1

    def removable(self, span: range) -> bool:
        """Whether a declaration has these lines for itself, with whole comments and conditions."""
        if span[0] - 1 in self.joined or span[-1] in self.joined:
            return False
        if any(self._owners.get(line, 0) > 1 for line in span):
            return False
        depth = 0
        for line in span:
            name = self._directives.get(line)
            if name is None:
                continue
            depth += (name in _OPENS) - (name == _CLOSES)
            if depth < 0 or name not in _INSIDE | {_CLOSES} or (depth == 0 and name in {"elif", "else"}):
                return False
        return depth == 0


def _is_host_code(part: Sequence[Token], device: set[str]) -> bool:
    texts = {token.text for token in part}
    if texts & device or not _is_whole(part):
        return False
    return _defines_main(part) or any(
        host_construct(part, index) is not None
        or (token.kind is Kind.NAME and _HOST_NAME.fullmatch(token.text) is not None)
        for index, token in enumerate(part)
    )


def _is_whole(part: Sequence[Token]) -> bool:
    """Whether the declaration ends, and all its brackets are closed."""
    counts = {text: sum(token.text == text for token in part) for text in "(){}"}
    return part[-1].text in {";", "}"} and counts["{"] == counts["}"] and counts["("] == counts[")"]


def _defines_main(part: Sequence[Token]) -> bool:
    head = [token.text for token in part[:_LONGEST_HEAD]]
    head = head[: head.index("{")] if "{" in head else head
    return any(one == "main" and two == "(" for one, two in pairwise(head))


def _device_names(macros: Sequence[Macro]) -> set[str]:
    """The words of device code, and the macros that mention one."""
    found = set(_DEVICE)
    for _ in range(_DEEPEST_MACRO):
        more = {macro.name for macro in macros if macro.names & found} - found
        if not more:
            break
        found |= more
    return found


def _defined(seen: Sequence[VisibleItem], names: Collection[str], lines: _Lines) -> list[tuple[str, range]]:
    """The lines of `#define` directives for these names, without those between `#ifndef` and `#endif`."""
    unguarded = {macro.line for macro in find_macros(seen, frozenset(names)) if not macro.guarded}
    return [
        (item.tokens[0].text, range(item.line, item.line + 1))
        for entry in seen
        if isinstance(item := entry.item, Directive)
        and item.name == "define"
        and item.line in unguarded
        and item.tokens[0].text in names
        and not {item.line - 1, item.line} & lines.joined
    ]


def _constant(part: Sequence[Token]) -> str:
    """The name that a declaration of one integer constant declares; "" for another declaration."""
    match = _CONSTANT.fullmatch(" ".join(token.text for token in part[:40]))
    return match[1] if match and {"const", "constexpr"} & {token.text for token in part} else ""


def _host_remark(spans: Sequence[range], *, main: bool) -> list[Finding]:
    if not spans:
        return []
    what = "`main`" if main and len(spans) == 1 else "Host code"
    reason = "Tilelab creates the matrices and launches the kernel."
    return [_remark(f"{what} in {line_ranges(spans)} isn't graded. {reason}", spans)]


def _size_remarks(sizes: Sequence[tuple[str, range]]) -> list[Finding]:
    if not sizes:
        return []
    names = list(dict.fromkeys(f"`{name}`" for name, _ in sizes))
    spans = sorted((span for _, span in sizes), key=lambda span: span[0])
    has, them = ("has", "it") if len(names) == 1 else ("have", "them")
    where = f"{', '.join(names)} in {line_ranges(spans)}"
    return [_remark(f"{where} {has} no effect. Tilelab sets {them} for each case.", spans)]


def _remark(message: str, spans: Sequence[range]) -> Finding:
    return Finding(Verdict.REJECTED, message, spans[0][0], severity=Severity.WARNING)
