"""Explains compiler errors from the file: a name that is a macro, a variable that should be a constant."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise

from kernels.compile import prelude
from kernels.facts import Mistake
from kernels.source.conditions import visible_items, visible_tokens
from kernels.source.constants import Macro, declares, find_macros
from kernels.source.kernel import unused_parameters
from kernels.source.launch.tile_names import looks_like_a_tile
from kernels.source.text import Kind, Places, Token, scan
from kernels.wording import closest, listed

_HOST_VARIABLE = "variable without memory space annotations"
_NOT_CONSTANT = "must have a constant value"
_EXPECTED = ("expected a", "expected an", "invalid")
# The compiler reads past these words before it notices that a declaration begins.
_SPECIFIERS = {"__device__", "__global__", "__host__", "__shared__", "__constant__", "__managed__", "static"}
_WHOLE = {"int", "unsigned", "long", "short", "size_t"}
_TYPES = _WHOLE | {"float", "double", "char", "bool", "const", "*", "&"}


@dataclass(frozen=True, slots=True)
class Gap:
    """The place of a missing `;`, with a sentence for the student."""

    line: int
    column: int
    sentence: str
    mistake: Mistake


def missing_semicolon(message: str, line: int | None, column: int | None, text: str) -> Gap | None:
    """The end of the code before the token at which the compiler noticed a missing `;`.

    line, column: of that token; the column counts bytes
    """
    if 'expected a ";"' not in message or line is None:
        return None
    tokens = visible_tokens(text)
    places = Places(text)
    here = [index for index, token in enumerate(tokens) if token.line == line]
    wanted = in_characters(text, line, column)
    noticed = next((index for index in here if places.column(tokens[index]) == wanted), next(iter(here), 0))
    while noticed and tokens[noticed - 1].text in _SPECIFIERS:
        noticed -= 1
    if noticed == 0:
        return None
    before = tokens[noticed - 1]
    at, after = places.end(before)
    if at != line:
        return Gap(at, after, "A `;` is missing at the end of this line.", Mistake.SEMICOLON)
    return Gap(at, after, f"Expected a `;` after `{before.text}`.", Mistake.OTHER)


def in_characters(text: str, line: int | None, column: int | None) -> int | None:
    if line is None or column is None:
        return None
    before = text.split("\n")[line - 1].encode()[: column - 1]
    return len(before.decode(errors="ignore")) + 1


def explain(message: str, line: int | None, text: str) -> str:
    """A sentence on an error at this line of the file; "" without a better one than the compiler's."""
    seen = visible_items(scan(text))
    tokens = [entry.item for entry in seen if isinstance(entry.item, Token)]
    here = [token for token in tokens if token.line == line]
    if _HOST_VARIABLE in message:
        if any(token.text == "texture" for token in here):
            return "CUDA no longer has texture references. Read the array directly."
        name = here[1].text if len(here) > 1 else ""
        if constant := _as_constant(tokens, name):
            return f"`{name}` is a host variable. Make it a constant: `{constant}`"
        return ""
    if _NOT_CONSTANT in message and (name := _extent(here, find_macros(seen))):
        constant = _as_constant(tokens, name)
        return (
            f"`{name}` isn't a constant. Write `{constant}`"
            if constant
            else f"`{name}` is known only at run time. Use a constant as the array's extent."
        )
    if message.startswith(_EXPECTED):
        own = {macro.name: macro.line for macro in find_macros(seen) if not macro.function_like and macro.body}
        if name := _declared_again(here, own):
            return f"`{name}` is already a macro (line {own[name]}). Rename one of the two."
        if name := _declared_again(here, prelude.MACROS):
            return f"`{name}` is already a macro in the headers that nvcc includes by itself. Rename yours."
    return ""


def nearest_name(name: str, text: str) -> str:
    """The closest name that the file declares; "" if none is close."""
    tokens = visible_tokens(text)
    declared = {
        token.text
        for index, token in enumerate(tokens)
        if token.kind is Kind.NAME and token.text != name and declares(tokens, index)
    }
    return closest(name, declared, 0.8) if len(name) > 2 else ""


def declare_or_use(name: str, line: int | None, text: str) -> str:
    """The advice for an undefined name that isn't close to another one; "" for none. line: of the compiler's error."""
    tokens = visible_tokens(text)
    follows = {two.text for one, two in pairwise(tokens) if one.text == name}
    if "(" in follows:
        return ""
    if looks_like_a_tile(name) and "[" not in follows:
        return f"Declare it first, for example `#define {name} 16`."
    free = [f"`{parameter}`" for parameter in unused_parameters(tokens, line, arrays="[" in follows)]
    return f"Declare it before this line, or use the parameter {listed(free, 'or')}." if free else ""


def _as_constant(tokens: list[Token], name: str) -> str:
    """`const int T = 16;` for the variable of `int T = 16;`."""
    for index, token in enumerate(tokens[1:-3], 1):
        equals, value, end = tokens[index + 1 : index + 4]
        whole = tokens[index - 1].text in _WHOLE and value.kind is Kind.NUMBER
        if token.text == name and whole and equals.text == "=" and end.text in {";", ","}:
            return f"const {tokens[index - 1].text} {name} = {value.text};"
    return ""


def _extent(here: list[Token], macros: list[Macro]) -> str:
    """The first name between brackets, except macros."""
    defined = {macro.name for macro in macros}
    depth = 0
    for token in here:
        depth += (token.text == "[") - (token.text == "]")
        if depth and token.kind is Kind.NAME and token.text not in defined:
            return token.text
    return ""


def _declared_again(here: list[Token], macros: Collection[str]) -> str:
    """The macro whose name this line declares again as a variable or parameter; "" for none."""
    for index, token in enumerate(here[1:-1], 1):
        declared = here[index - 1].text in _TYPES and here[index + 1].text in {",", ")", ";", "=", "["}
        if declared and token.text in macros:
            return token.text
    return ""
