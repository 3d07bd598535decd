"""Checks the entries of a PTX text. The text is hostile, because inline assembly puts student text into it."""

from __future__ import annotations

import re
from collections.abc import Iterable

# Comments and strings are matched first, so their contents don't count.
_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\\n])*"?|(?P<directive>\.[A-Za-z_]\w*)|(?P<name>[A-Za-z_$%][\w$%]*)"""
    r"""|(?P<brace>[{}])""",
    re.DOTALL,
)
_MANGLED = re.compile(r"_ZN?L?")
_COUNT = re.compile(r"[1-9]\d{0,3}")
_MODULE_DIRECTIVES = frozenset({".entry", ".func", ".version", ".target", ".address_size"})


def entries(ptx: str) -> tuple[str, ...]:
    """The name after each `.entry`, in order; "" for a missing name."""
    names: list[str] = []
    waiting = False
    for match in _TOKEN.finditer(ptx):
        if waiting and match.lastgroup in ("directive", "name", "brace"):
            names.append(match["name"] or "")
            waiting = False
        if match["directive"] == ".entry":
            waiting = True
    return (*names, "") if waiting else tuple(names)


def objection(ptx: str, entry: str, kernels: Iterable[str]) -> str | None:
    """Why the text is refused, or None. It must have `entry` exactly once, and other entries only for `kernels`.

    entry: the mangled name of the kernel to run
    kernels: the names of all `__global__` functions in the source
    """
    found = entries(ptx)
    if found.count(entry) != 1:
        return f"has the kernel {found.count(entry)} times"
    allowed = tuple(kernels)
    for name in found:
        if name != entry and not any(_is_mangled(name, kernel) for kernel in allowed):
            return "has a kernel that the source doesn't declare"
    return _nesting(ptx)


def cluster(ptx: str, entry: str) -> tuple[int, ...]:
    """The blocks of a cluster that a kernel demands in x, y, z; empty if it demands none.

    A kernel whose grid counts clusters isn't launched as such.
    """
    head = re.search(rf"\.entry\s+{re.escape(entry)}\b[^{{]*", ptx)
    found = re.search(r"\.reqnctapercluster\s+(\d+(?:\s*,\s*\d+)*)", head[0]) if head is not None else None
    if head is None or found is None or ".blocksareclusters" in head[0]:
        return ()
    return tuple(map(int, found[1].split(",")))


def _is_mangled(name: str, kernel: str) -> bool:
    """Whether `name` is the mangled name of `kernel`, in any namespace and with any parameters."""
    return name == kernel or last_part(name) == kernel


def last_part(name: str) -> str | None:
    """The function's name in a mangled name: the last of its counted parts."""
    start = _MANGLED.match(name)
    place = start.end() if start else 0
    part = None
    while start and (count := _COUNT.match(name, place)):
        part = name[count.end() : count.end() + int(count[0])]
        place = count.end() + len(part)
        if "N" not in start[0]:
            break
    return part


def _nesting(ptx: str) -> str | None:
    """An objection if braces don't match, or a module-level directive is inside a function."""
    depth = 0
    for match in _TOKEN.finditer(ptx):
        if match["brace"]:
            depth += 1 if match["brace"] == "{" else -1
            if depth < 0:
                return "closes a brace that it didn't open"
        elif depth > 0 and match["directive"] in _MODULE_DIRECTIVES:
            return f"has {match['directive']} inside a function"
    return None if depth == 0 else "leaves a brace open"
