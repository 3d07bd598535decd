"""A kernel's actual parameter list, from the compiler's mangled name.

The source rules compare the parameters in the text, but macros, typedefs and `auto` can hide the types. A launch passes
raw bytes by position, so a kernel with another list would read pointers as numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_BUILT_IN = {
    "v": "void", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short",
    "t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long",
    "y": "unsigned long long", "f": "float", "d": "double", "w": "wchar_t", "Dn": "nullptr_t",
}  # fmt: skip
# A parameter of an `extern "C"` kernel in PTX. The names of such kernels have no types.
_BY_WIDTH = {
    ".u64": "8 bytes", ".u32": "4 bytes", ".u16": "2 bytes", ".u8": "1 byte", ".f32": "float", ".f64": "double",
    ".b8[128]": "128 bytes",
}  # fmt: skip
_SAME = {
    "unsigned int": "int", "unsigned": "int", "unsigned*": "unsigned int*", "signed char*": "char*",
    "half*": "__half*", "nv_bfloat16*": "__nv_bfloat16*", "CUtensorMap_st": "CUtensorMap",
}  # fmt: skip
_WIDTHS = {"int": "4 bytes", "long long": "8 bytes", "CUtensorMap": "128 bytes"}
UNKNOWN = "a type of your own"
_LONGEST = 2000

_FUNCTION = re.compile(r"_ZL?(\d{1,4})")
_QUALIFIERS = re.compile(r"[rVK]+")
_NAME = re.compile(r"(\d{1,4})(?=[A-Za-z_])")
_SEEN = re.compile(r"S([0-9A-Z]{0,4})_")
_PARAM = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?(\.\w+)(?:\s+\w+(\[\d+\]))?")


def mismatch(ptx: str, entry: str, expected: Sequence[str]) -> tuple[str, ...] | None:
    """The kernel's parameter types if they differ from `expected` (pointers and numbers); None if they fit.

    entry: its mangled name; a plain name for `extern "C"`, which shows only number and sizes of parameters
    """
    expected = [_SAME.get(bare, bare) for bare in map(_unqualified, expected)]
    mangled = _FUNCTION.match(entry)
    if mangled is None:
        # The parameters as PTX declares them
        start = re.search(rf"\.entry\s++{re.escape(entry)}\s*+\(([^()]*+)\)", ptx)
        types = map("".join, _PARAM.findall(start[1]) if start else [])
        found = tuple(_BY_WIDTH.get(ctype, UNKNOWN) for ctype in types)
        wanted = ["8 bytes" if "*" in ctype else _WIDTHS.get(ctype, ctype) for ctype in expected]
        return None if list(found) == wanted else found
    found = _Reader(entry[mangled.end() + int(mangled[1]) :]).types()
    plain = [_SAME.get(bare, bare) for bare in map(_unqualified, found)]
    return None if plain == expected else found


def _unqualified(ctype: str) -> str:
    """A type as a launch sees it. Qualifiers of a pointer's target don't matter there."""
    return re.sub(r"\b(?:const|volatile|restrict|__grid_constant__) ", "", ctype)


class _Reader:
    """Reads the types after a function's name. A type that isn't plain ends the list as UNKNOWN."""

    def __init__(self, text: str) -> None:
        self._text = text[:_LONGEST]
        self._seen: list[str] = []

    def types(self) -> tuple[str, ...]:
        found: list[str] = []
        while self._text:
            ctype = self._type()
            found.append(ctype or UNKNOWN)
            if ctype is None:
                break
        return () if found == ["void"] else tuple(found)

    def _type(self) -> str | None:
        """The next type, removed from the text; None for an unsupported type."""
        if match := self._take(_SEEN):
            index = int(match[1], 36) + 1 if match[1] else 0
            return self._seen[index] if index < len(self._seen) else None
        for mark, sign in (("P", "*"), ("R", "&"), ("O", "&&")):
            if self._text.startswith(mark):
                self._text = self._text[1:]
                return self._note(self._type(), "{}" + sign)
        if match := self._take(_QUALIFIERS):
            words = {"r": "restrict ", "V": "volatile ", "K": "const "}
            return self._note(self._type(), "".join(words[letter] for letter in match[0]) + "{}")
        if match := self._take(_NAME):
            name, self._text = self._text[: int(match[1])], self._text[int(match[1]) :]
            return self._note(name, "{}")
        for code in (self._text[:2], self._text[:1]):
            if code in _BUILT_IN:
                self._text = self._text[len(code) :]
                return _BUILT_IN[code]
        return None

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self._text)
        if match:
            self._text = self._text[match.end() :]
        return match

    def _note(self, inner: str | None, form: str) -> str | None:
        """Record a type built from another. Later references count these types in the order of their ends."""
        if inner is None:
            return None
        self._seen.append(form.format(inner))
        return self._seen[-1]
