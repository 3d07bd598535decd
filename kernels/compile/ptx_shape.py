"""Which entries a PTX text holds. The text is the student's through inline assembly, so it is read as hostile."""

from __future__ import annotations

import re
from collections.abc import Iterable

# One pass: what hides text (comments, strings) is matched first, so that nothing inside them counts.
_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\\n])*"?|(?P<directive>\.[A-Za-z_]\w*)|(?P<name>[A-Za-z_$%][\w$%]*)"""
    r"""|(?P<brace>[{}])""",
    re.DOTALL,
)
_MANGLED = re.compile(r"_ZN?L?")
_COUNT = re.compile(r"[1-9]\d{0,3}")
_MODULE_DIRECTIVES = frozenset({".entry", ".func", ".version", ".target", ".address_size"})


def entries(ptx: str) -> tuple[str, ...]:
    """The names that follow each `.entry`, in order; "" where none follows."""
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
    """Why the text is refused, or None: it must hold `entry` exactly once, other entries only for `kernels`.

    entry: the mangled name of the kernel to run
    kernels: the names of all `__global__` functions that the source declares
    """
    found = entries(ptx)
    if found.count(entry) != 1:
        return f"holds the kernel {found.count(entry)} times"
    allowed = tuple(kernels)
    for name in found:
        if name != entry and not any(_is_mangled(name, kernel) for kernel in allowed):
            return "holds a kernel that the source does not declare"
    return _nesting(ptx)


def _is_mangled(name: str, kernel: str) -> bool:
    """True where `name` is `kernel` as C++ mangles it, in any namespace and with any parameters."""
    return name == kernel or last_part(name) == kernel


def last_part(name: str) -> str | None:
    """The function's own name in a mangled one: the last of the counted parts that follow each other."""
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
    """An objection where braces do not match or a module-level directive stands inside a function."""
    depth = 0
    for match in _TOKEN.finditer(ptx):
        if match["brace"]:
            depth += 1 if match["brace"] == "{" else -1
            if depth < 0:
                return "closes a brace that it did not open"
        elif depth > 0 and match["directive"] in _MODULE_DIRECTIVES:
            return f"has {match['directive']} inside a function"
    return None if depth == 0 else "leaves a brace open"
