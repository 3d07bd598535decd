"""The extents of the shared arrays that a source declares: the compiler keeps only their sizes in bytes.

They serve to name an element as `Mds[0][3]`; what cannot be read here is named by its position alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kernels.expression import Expression, ExpressionError
from kernels.source_text import Kind, Token, scan

_SHARED = "__shared__"


def shared_shapes(text: str, names: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """Extents by array name; a name that is declared twice, with different ones, is left out.

    names: what the macros and constants in the extents stand for
    """
    tokens = [item for item in scan(text) if isinstance(item, Token)]
    shapes: dict[str, tuple[int, ...] | None] = {}
    for name, extents in _declared(tokens):
        shape = _evaluated(extents, names)
        shapes[name] = shape if shapes.get(name, shape) == shape else None
    return {name: shape for name, shape in shapes.items() if shape is not None}


def _declared(tokens: Sequence[Token]) -> Iterator[tuple[str, list[str]]]:
    """Every `name[a][b]` in a declaration with `__shared__`, as name and extents."""
    inside = False
    for i, token in enumerate(tokens):
        if token.text == _SHARED:
            inside = True
        elif token.text in {";", "{", "}", "="}:
            inside = False
        elif inside and token.kind is Kind.NAME:
            extents = _extents(tokens, i + 1)
            if extents:
                yield token.text, extents


def _extents(tokens: Sequence[Token], start: int) -> list[str]:
    """The texts between the brackets that stand at `start`."""
    extents = []
    while start < len(tokens) and tokens[start].text == "[":
        end = start + 1
        while end < len(tokens) and tokens[end].text not in {"]", "[", ";"}:
            end += 1
        extents.append(" ".join(token.text for token in tokens[start + 1 : end]))
        start = end + 1
    return extents


def _evaluated(extents: Sequence[str], names: Mapping[str, int]) -> tuple[int, ...] | None:
    try:
        return tuple(Expression.parse(extent).evaluate(names) for extent in extents)
    except ExpressionError:
        return None
