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
    for name, extents in (*sized, *((name, (f"{dynamic}/{size}",)) for name, size in unsized if dynamic % size == 0)):
        shape = _evaluated(extents, names)
        shapes[name] = shape if shapes.get(name, shape) == shape else None
    return {name: shape for name, shape in shapes.items() if shape is not None}


@lru_cache(maxsize=4)
def _read(text: str) -> tuple[tuple[tuple[str, tuple[str, ...]], ...], tuple[tuple[str, int], ...]]:
    """Names and extents as text, and names without a size with the bytes of an element.

    The result is cached, because each case of a job evaluates it again.
    """
    tokens = visible_tokens(text)
    sized = ((name, tuple(extents)) for _, name, extents in declared_arrays(tokens) if any(extents))
    return tuple(sized), tuple(_unsized(tokens))


def _unsized(tokens: list[Token]) -> Iterator[tuple[str, int]]:
    """Each `extern __shared__ type name[]` of a known type, with the bytes of its elements."""
    aliases: dict[str, set[str]] = {}
    statement: list[str] = []
    for token in tokens:
        if token.text not in {";", "{", "}"}:
            statement.append(token.text)
            continue
        words = set(statement)
        for alias, meant in aliases.items():
            words |= meant if alias in words else set()
        if statement[:1] == ["typedef"]:
            aliases[statement[-1]] = words
        elif statement[:1] == ["using"] and statement[2:3] == ["="]:
            aliases[statement[1]] = words
        elif {"extern", "__shared__"} <= words and statement[-2:] == ["[", "]"] and statement[2:]:
            size = next((size for size, types in _BYTES.items() if types & words), 0)
            if size:
                yield statement[-3], size
        statement = []


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
