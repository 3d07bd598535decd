"""The extents of the arrays that a source declares. The compiler keeps only their sizes in bytes.

Extents give an element a name such as `Mds[0][3]`. An element of an unreadable array is named by its position alone.
Local arrays of a thread are left out, because they have no names in the compiled code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kernels.expression import value_of
from kernels.source.conditions import visible_tokens
from kernels.source.text import Kind, Token, closing

_SPACES = {"__shared__", "__device__", "__constant__"}
_WITH_ARGUMENTS = {"__align__", "alignas", "__attribute__"}


_Extents = tuple[str, ...]

# A declaration may have several of these words. The first row with one of them decides.
_BYTES = {
    1: {"char", "bool", "int8_t", "uint8_t", "__nv_fp8_e4m3", "__nv_fp8_e5m2"},
    2: {"short", "int16_t", "uint16_t", "half", "__half", "__nv_bfloat16", "nv_bfloat16"},
    8: {"long", "double", "int64_t", "uint64_t", "size_t", "float2", "int2", "uint2"},
    16: {"float4", "int4", "uint4", "double2"},
    4: {"float", "int", "unsigned", "signed", "int32_t", "uint32_t", "uint", "half2", "__half2", "__nv_bfloat162"},
}


def array_shapes(text: str, names: Mapping[str, int], dynamic: int) -> dict[str, tuple[int, ...]]:
    """Extents by array name, in shared, global and constant memory, without names that have different extents.

    names: the values of macros and constants in the extents
    dynamic: the bytes of dynamic shared memory, for arrays without a size; 0 if unknown
    """
    shapes: dict[str, tuple[int, ...] | None] = {}
    sized, unsized = _read(text)
    filled = ((name, (f"{dynamic}/({size})", *inner)) for name, size, inner in unsized)
    for name, extents in (*sized, *filled):
        shape = _evaluated(extents, names)
        shapes[name] = shape if shapes.get(name, shape) == shape else None
    return {name: shape for name, shape in shapes.items() if shape is not None}


@lru_cache(maxsize=4)
def _read(text: str) -> tuple[tuple[tuple[str, _Extents], ...], tuple[tuple[str, str, _Extents], ...]]:
    """Names and extents as text. For names without a size, the bytes of an element and its own extents.

    The result is cached, because each case of a job evaluates it again.
    """
    tokens = visible_tokens(text)
    sized = ((name, tuple(extents)) for _, name, extents in declared_arrays(tokens) if extents[0])
    return tuple(sized), tuple(_unsized(tokens))


def _unsized(tokens: list[Token]) -> Iterator[tuple[str, str, _Extents]]:
    """Each `extern __shared__ type name[]` of a known type, with the bytes of an element and its own extents."""
    aliases = _aliases(tokens)
    for statement in _statements(tokens):
        texts = [token.text for token in statement]
        if {"extern", "__shared__"} <= set(texts) and texts[-2:] == ["[", "]"] and texts[2:]:
            meant = [aliases[text] for text in texts if text in aliases]
            words, inner = (
                set(texts).union(*(each.words for each in meant)),
                [x for each in meant for x in each.extents],
            )
            size = next((size for size, types in _BYTES.items() if types & words), 0)
            if size:
                yield texts[-3], "*".join([str(size), *(f"({extent})" for extent in inner)]), tuple(inner)


@dataclass(frozen=True, slots=True)
class _Alias:
    """What a name of a type means: the words of its declaration, and the extents of an array."""

    words: frozenset[str]
    extents: _Extents


def _aliases(tokens: list[Token]) -> dict[str, _Alias]:
    """The types that a file names with `typedef` or `using`, apart from those of functions and pointers to them."""
    found: dict[str, _Alias] = {}
    for statement in _statements(tokens):
        texts = [token.text for token in statement]
        end = texts.index("[") if "[" in texts else len(texts)
        if "(" in texts[:end] or end < 2:
            continue
        if texts[0] == "typedef":
            name = texts[end - 1]
        elif texts[0] == "using" and texts[2:3] == ["="]:
            name = texts[1]
        else:
            continue
        meant = [found[text] for text in texts[:end] if text in found]
        words = frozenset(texts).union(*(each.words for each in meant))
        found[name] = _Alias(words, (*_extents(statement, end), *(x for each in meant for x in each.extents)))
    return found


def _statements(tokens: list[Token]) -> Iterator[list[Token]]:
    statement: list[Token] = []
    for token in tokens:
        if token.text in {";", "{", "}"}:
            yield statement
            statement = []
        else:
            statement.append(token)


def declared_arrays(tokens: list[Token]) -> Iterator[tuple[str, str, list[str]]]:
    """Every `name[a][b]` in a declaration that names a memory: memory, name and extents, also of a type's name."""
    aliases = {name: alias.extents for name, alias in _aliases(tokens).items() if alias.extents}
    memory, inner = "", ""
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token.text in _SPACES:
            memory, inner = token.text, ""
        elif memory and token.text in aliases:
            inner = token.text
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
        elif memory and token.kind is Kind.NAME:
            extents = _extents(tokens, index + 1)
            if extents or (inner and tokens[index - 1].text in {inner, ","}):
                yield memory, token.text, [*extents, *aliases.get(inner, ())]
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
