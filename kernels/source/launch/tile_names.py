"""Other names for a tile, such as `BLOCK_SIZE` instead of an exercise's `TILE_WIDTH`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from kernels.exercise import Exercise
from kernels.source.constants import declared_constants
from kernels.source.launch.evidence import Evidence
from kernels.source.names import CALL, Names
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


@dataclass(frozen=True, slots=True)
class Candidate:
    """A name that may be the tile, and its values.

    strong: whether it is the extent of a shared array, or a factor of block indices
    """

    name: str
    line: int
    values: tuple[int, ...]
    strong: bool

    @property
    def listed(self) -> bool:
        """Whether it is a common name for tiles."""
        return looks_like_a_tile(self.name)


def looks_like_a_tile(name: str) -> bool:
    """Whether a name is common for tiles and blocks."""
    words = [word.lower() for word in _WORD.findall(name)]
    words = words[1:] if words[:1] == ["k"] else words
    threads = bool({"thread", "threads"} & set(words))
    if (_OTHERS - (_COUNTED_THREADS if threads else set())) & set(words):
        return False
    return bool(_KEYS & set(words)) or "".join(words) in _SHORT or words[:1] in (["bx"], ["by"])


def find_candidates(exercise: Exercise, evidence: Evidence) -> list[Candidate]:
    """The names that look like a tile or are used as one, without names built on another. Asks for their values."""
    names = evidence.names
    known = {*exercise.macro_names, *exercise.sizes, *(constant.symbol for constant in exercise.constants)}
    constants = [name for name in dict.fromkeys(_constants(names)) if name not in known]
    found = [name for name in constants if looks_like_a_tile(name) and names.used(name)]
    if not any(_is_strong(exercise, evidence, name) for name in found):
        found += _used_as_a_tile(exercise, evidence, known)
    built = {other for name in found for other in names.built_on(name) - {name}}
    chosen = [name for name in dict.fromkeys(found) if name not in built][:_MOST_NAMES]
    return [
        Candidate(name, names.line(name) or 1, names.values(name), _is_strong(exercise, evidence, name))
        for name in chosen
    ]


def _is_strong(exercise: Exercise, evidence: Evidence, name: str) -> bool:
    """Whether a name is the extent of a shared array or a factor of a block index."""
    built = evidence.names.built_on(name)
    least = min(2, len(exercise.launch.block))
    return any(sum(text in built for text in array) >= least for array in evidence.arrays) or any(
        token.text in built for token in evidence.first_factors
    )


def _used_as_a_tile(exercise: Exercise, evidence: Evidence, known: AbstractSet[str]) -> list[str]:
    """The names that the code uses as a tile.

    Steps from block to block are better evidence than extents of arrays, which may be padded.
    """
    names = evidence.names
    follows = names.mentions("blockDim")
    if follows and len(exercise.launch.block) < 2:
        return []
    steps = [] if follows else evidence.factors
    if len(exercise.launch.block) > 1:
        extents = [text for array in evidence.arrays for text in array if array.count(text) > 1]
    else:
        extents = [array[0] for array in evidence.arrays if len(array) == 1]
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
