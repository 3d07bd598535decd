"""Other names for a tile, such as `BLOCK_SIZE` instead of an exercise's `TILE_WIDTH`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from kernels.exercise import Exercise
from kernels.source.constants import declared_constants
from kernels.source.launch.evidence import block_steps, shared_extents
from kernels.source.names import Names
from kernels.source.text import Kind

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_KEYS = {"tile", "block", "blk", "thread", "threads"}
_SHORT = {
    "ts", "tw", "td", "tsz", "bs", "bw", "bd", "bsz", "tpb", "bm", "bn", "bk", "tm", "tn", "tk", "bx", "by",
    "tilewidth", "tilesize", "tiledim", "blocksize", "blockdim", "blockwidth", "blksize",
}  # fmt: skip
# A name with one of these words isn't the side of a block.
_OTHERS = {
    "num", "count", "elements", "elems", "total", "area", "cells", "bytes", "idx", "index", "id", "log", "mask",
    "offset", "stride", "pitch", "pad", "padding", "padded", "max", "min", "last", "first", "mem", "shared", "smem",
    "blocks", "tiles", "phases", "steps", "squared", "work", "coarse", "factor", "unroll",
}  # fmt: skip
_COUNTED_THREADS = {"num", "count", "total", "max"}
_MOST_NAMES = 16

CALL = "()"
"""The end of a function's name that is used as a constant."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A name that may be the tile, and its values.

    strong: whether it is the extent of a shared array, or a factor of block indices
    listed: whether it is a common name for tiles
    """

    name: str
    line: int
    values: tuple[int, ...]
    strong: bool
    listed: bool = True


def looks_like_a_tile(name: str) -> bool:
    """Whether a name is common for tiles and blocks."""
    words = [word.lower() for word in _WORD.findall(name)]
    words = words[1:] if words[:1] == ["k"] else words
    threads = bool({"thread", "threads"} & set(words))
    if (_OTHERS - (_COUNTED_THREADS if threads else set())) & set(words):
        return False
    return bool(_KEYS & set(words)) or "".join(words) in _SHORT or words[:1] in (["bx"], ["by"])


def tile_names(exercise: Exercise, names: Names) -> list[str]:
    """The names that look like a tile or are used as one, without names built on another."""
    known = {
        exercise.tile_name,
        *exercise.macros,
        *exercise.size_macros,
        *exercise.sizes,
        *(constant.symbol for constant in exercise.constants),
    }
    constants = [name for name in dict.fromkeys(_constants(names)) if name not in known]
    listed = [name for name in constants if looks_like_a_tile(name) and names.used(name)]
    found = listed if _strong(exercise, names, listed) else [*listed, *_used_as_a_tile(exercise, names, known)]
    built = {other for name in found for other in names.built_on(name) - {name}}
    return list(dict.fromkeys(name for name in found if name not in built))[:_MOST_NAMES]


def candidates(exercise: Exercise, names: Names, found: Sequence[str]) -> list[Candidate]:
    strong = _strong(exercise, names, found)
    return [
        Candidate(
            name,
            names.line(name.removesuffix(CALL)) or 1,
            values,
            name in strong,
            looks_like_a_tile(name.removesuffix(CALL)),
        )
        for name in found
        if (values := names.values(name))
    ]


def _strong(exercise: Exercise, names: Names, found: Sequence[str]) -> set[str]:
    """The names that are extents of shared arrays or factors of block indices."""
    shared = shared_extents(names.tokens)
    counting = {token.text for step in block_steps(names) for token in step.factors[:1]}
    least = min(2, len(exercise.launch.block))
    strong = set()
    for name in found:
        built = names.built_on(name.removesuffix(CALL))
        extents = any(sum(text in built for text in array) >= least for array in shared)
        if extents or built & counting:
            strong.add(name)
    return strong


def _used_as_a_tile(exercise: Exercise, names: Names, known: AbstractSet[str]) -> list[str]:
    """The names that the code uses as a tile.

    Steps from block to block are better evidence than extents of arrays, which may be padded.
    """
    follows = names.mentions("blockDim")
    if follows and len(exercise.launch.block) < 2:
        return []
    steps = [token for step in block_steps(names) for token in step.factors if not follows]
    arrays = shared_extents(names.tokens)
    if len(exercise.launch.block) > 1:
        extents = [text for array in arrays for text in array if array.count(text) > 1]
    else:
        extents = [array[0] for array in arrays if len(array) == 1]
    counted = dict.fromkeys(token.text for token in steps if token.kind is Kind.NAME)
    both = [name for name in counted if name in extents]
    numbered = any(token.kind is Kind.NUMBER for token in steps)
    chosen = both or list(counted) or ([] if numbered else list(dict.fromkeys(extents)))
    calls = set(re.findall(r" constexpr (?:\S+ ){0,4}?(\S+) \( \) \{", names.code))
    return [
        name + CALL if name in calls else name
        for name in chosen
        if name not in known and (name in calls or names.line(name) is not None)
    ]


def _constants(names: Names) -> Iterator[str]:
    """The macros, constants and template parameters of a file."""
    yield from (macro.name for macro in names.macros if not macro.function_like)
    yield from (token.text for token, _ in declared_constants(names.tokens))
    for parameters in re.findall(r" template < ([^>;{]*)", names.code):
        yield from (words[-1] for each in parameters.split(",") if (words := each.partition("=")[0].split()))
