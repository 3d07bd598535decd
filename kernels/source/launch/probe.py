"""A text that makes the compiler print the values of a file's names.

Lines are added at the end of the file and of each function and type with such a name. Each added line is an
error whose message contains the value. The compiler stops there and needs no second output. A template gives one
message for each instance, so its value follows from the call.

A file can forge such a message. It gains nothing, because `//!tilelab tile=` allows the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from kernels.source.conditions import visible_tokens
from kernels.source.statements import statements
from kernels.source.text import Token, code_of, spliced

_TYPE = "__tilelab_value"
# By precedence: in a body that mentions the name, at the file's end, a variable's initial value.
_INSIDE, _AT_END, _START = "/tilelab/inside", "/tilelab/end", "/tilelab/start"
_MESSAGE = re.compile(
    rf'^(/tilelab/\w+)\((\d{{1,4}})\): error: incomplete type "{_TYPE}<(-?\d{{1,19}})LL>"', re.MULTILINE
)
_TYPES_AND_FUNCTIONS = {"(", "struct", "class", "union"}


def probe_text(text: str, names: Sequence[str]) -> str:
    """The file with lines that make the compiler print the values of these names."""
    whole = spliced(text)
    tokens = visible_tokens(text)
    code = code_of(token.text for token in tokens)
    starts = {name: _start(code, name) for name in names}
    inserted: dict[int, str] = {}
    for part in statements(tokens):
        if (place := _end_of_body(part)) is not None:
            mentioned = {token.text for token in part}
            inserted[place] = "".join(
                _line(_INSIDE, number, name) + (_line(_START, number, starts[name]) if starts[name] else "")
                for number, name in enumerate(names, 1)
                if name.removesuffix("()") in mentioned
            )
    for place, lines in sorted(inserted.items(), reverse=True):
        whole = f"{whole[:place]}\n{lines}{whole[place:]}"
    ends = "".join(_line(_AT_END, number, name) for number, name in enumerate(names, 1))
    return f"template <long long> struct {_TYPE};\n{whole}\n{ends}"


def read_values(log: str, names: Sequence[str]) -> Mapping[str, tuple[int, ...]]:
    """The different values of each name in the compiler's log; none if it isn't a constant."""
    found: dict[tuple[str, str], set[int]] = {}
    for place, number, value in _MESSAGE.findall(log):
        if 1 <= int(number) <= len(names):
            found.setdefault((place, names[int(number) - 1]), set()).add(int(value))
    return {
        name: next(
            (tuple(sorted(found[place, name])) for place in (_INSIDE, _AT_END, _START) if (place, name) in found), ()
        )
        for name in names
    }


def _line(place: str, number: int, expression: str) -> str:
    return f'#line {number} "{place}"\nstatic_assert(sizeof({_TYPE}<(long long)({expression})>), "");\n'


def _end_of_body(part: Sequence[Token]) -> int | None:
    """The position of the end of a function's or type's body; None for other declarations."""
    texts = [token.text for token in part]
    if "{" not in texts or "}" not in texts:
        return None
    head = set(texts[: texts.index("{")])
    if not _TYPES_AND_FUNCTIONS & head or "enum" in head:
        return None
    return next(token.start for token in reversed(part) if token.text == "}")


def _start(code: str, name: str) -> str:
    """The initial value of a variable that never changes, as in `int TILE_WIDTH = 8;`; "" for other names."""
    word = re.escape(name)
    values = re.findall(rf" {word} = ([^;,{{}}]*)", code)
    changes = re.search(rf" (?:&|\+ \+|- -) {word} | {word} (?:[-+*/%&|^] =|\+ \+|- -) ", code)
    return str(values[0]) if len(values) == 1 and not changes else ""
