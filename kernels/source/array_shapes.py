"""The extents of the arrays that a source declares. The compiler keeps only their sizes in bytes.

Extents give an element a name such as `Mds[0][3]`. An element of an unreadable array is named by its position alone.
Local arrays of a thread are left out, because they have no names in the compiled code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from kernels.expression import value_of
from kernels.source.conditions import visible_tokens
from kernels.source.text import Kind, Token, closing

_SPACES = {"__shared__", "__device__", "__constant__"}
_WITH_ARGUMENTS = {"__align__", "alignas", "__attribute__"}


def array_shapes(text: str, names: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """Extents by array name, in shared, global and constant memory, without names that have different extents.

    names: the values of macros and constants in the extents
    """
    shapes: dict[str, tuple[int, ...] | None] = {}
    for name, extents in _read(text):
        shape = _evaluated(extents, names)
        shapes[name] = shape if shapes.get(name, shape) == shape else None
    return {name: shape for name, shape in shapes.items() if shape is not None}


@lru_cache(maxsize=4)
def _read(text: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Names and extents as text. The result is cached, because each case of a job evaluates it again."""
    tokens = visible_tokens(text)
    return tuple((name, tuple(extents)) for _, name, extents in declared_arrays(tokens))


def declared_arrays(tokens: list[Token]) -> Iterator[tuple[str, str, list[str]]]:
    """Every `name[a][b]` in a declaration that names a memory: memory, name and extents."""
    memory = ""
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token.text in _SPACES:
            memory = token.text
        elif token.text in {";", "}"}:
            memory = ""
        elif memory and token.text == "=":
            index = _initialiser_end(tokens, index)
            continue
        elif memory and token.text == "(" and tokens[index - 1].text in _WITH_ARGUMENTS:
            index = closing(tokens, index)
            continue
        elif token.text in {"(", "{"}:
            # A function, or the members of a type.
            memory = ""
        elif memory and token.kind is Kind.NAME and (extents := _extents(tokens, index + 1)):
            yield memory, token.text, extents
        index += 1


def _initialiser_end(tokens: list[Token], index: int) -> int:
    """The index of the comma or semicolon that ends an initialiser."""
    while index < len(tokens) and tokens[index].text not in {",", ";"}:
        index = closing(tokens, index) if tokens[index].text in {"(", "[", "{"} else index + 1
    return index


def _extents(tokens: Sequence[Token], start: int) -> list[str]:
    """The texts between the brackets from `start` on."""
    extents = []
    while start < len(tokens) and tokens[start].text == "[":
        end = start + 1
        while end < len(tokens) and tokens[end].text not in {"]", "[", ";"}:
            end += 1
        extents.append(" ".join(token.text for token in tokens[start + 1 : end]))
        start = end + 1
    return extents


def _evaluated(extents: Sequence[str], names: Mapping[str, int]) -> tuple[int, ...] | None:
    shape = [value_of(extent, names) or 0 for extent in extents]
    return tuple(shape) if min(shape) > 0 else None
