"""Disguise a copy as students do: new names, other layout, other comments, other order, small rewrites.

Each disguise keeps the meaning of the kernel.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from bench.copies.layout import Layout, laid_out, names_in

Disguise = Callable[[str, random.Random], str]

_KEPT = re.compile(
    r"threadIdx|blockIdx|blockDim|gridDim|[xyz]|__\w+__|__syncthreads|MatrixMulKernel|define|ifndef|endif|pragma|"
    r"unroll|u?int|float[24]?|double|unsigned|signed|long|short|char|size_t|u?int\d+_t|const|constexpr|static|volatile|"
    r"bool|void|auto|extern|struct|template|typename|operator|namespace|using|asm|sizeof|static_assert|enum|include|"
    r"undef|endif|ifdef|for|if|else|do|while|switch|case|break|continue|return|goto|true|false|fmaf?|ceilf?|min|max|"
    r"cuda|cg|cooperative_groups|nv|TILE_WIDTH"
)
_WORDS = (
    "alpha", "u", "v", "w1", "idx", "rowId", "colId", "tmp", "buf0", "buf1", "mine", "zz", "step", "pos", "cell", "s0",
    "s1", "out", "res", "lim", "len", "a1", "b1", "left", "right", "block_r", "block_c", "thr_r", "thr_c", "g", "h",
)  # fmt: skip
_TILES = ("TILE_DIM", "BLOCK_SIZE", "TILE_SIZE")
_MACRO = re.compile(r"(?m)^#define (\w+) \(?\d+\)?$|^const int (\w+) =")
_REMARKS = (
    "get the data", "my solution", "first part", "now compute", "done here", "this is the main loop", "own indices",
)  # fmt: skip
_ASSIGNED = re.compile(r"^(?:[a-z_]+ )*\*?(\w+)(?:\[[^=]*\])* *(?:[-+*/]?=|;|\[)")
_SEVERAL = re.compile(r"(?:__shared__|const|unsigned|int|float|size_t|uint|auto|bool|double)\b.*,")
_WORD = re.compile(r"[A-Za-z_]\w*")


def renamed(text: str, draw: random.Random) -> str:
    """Every own name replaced, parameters and macros too."""
    pool = list(_WORDS)
    draw.shuffle(pool)
    own = [name for name in names_in(text) if not _KEPT.fullmatch(name)]
    names = {name: pool[place] if place < len(pool) else f"n{place}" for place, name in enumerate(own)}
    # Only some names tell Tilelab the size of the tile.
    names.update(
        (name, draw.choice(_TILES))
        for name in (group for found in _MACRO.findall(text) for group in found)
        if name in names
    )
    return _WORD.sub(lambda match: names.get(match.group(), match.group()), without_comments(text))


def without_comments(text: str) -> str:
    """The text on its lines, without comments."""
    return re.sub(r"[ \t]*//[^\n]*", "", text)


def commented(text: str, draw: random.Random) -> str:
    """Other comments, or none."""
    lines = without_comments(text).splitlines()
    share = draw.choice((0.0, 0.2, 0.5))
    found: list[str] = []
    for line in lines:
        if line.strip() and not line.startswith("#") and draw.random() < share:
            found.append(f"// {draw.choice(_REMARKS)}")
        found.append(line)
    return "\n".join(found) + "\n"


def reformatted(text: str, draw: random.Random) -> str:
    """Another indentation, other braces and spaces."""
    layout = Layout(
        draw.choice(("  ", "    ", "\t", "   ")),
        own_line=draw.random() < 0.5,
        spaced=draw.random() < 0.5,
        star_left=draw.random() < 0.5,
    )
    lines = laid_out(text, layout).splitlines()
    return "".join(line + ("\n\n" if draw.random() < 0.15 else "\n") for line in lines)


def reordered(text: str, draw: random.Random) -> str:
    """Independent neighbours exchanged: declarations, loads, factors, and both sides of `&&`."""
    lines = [line.strip() for line in laid_out(text, Layout()).splitlines()]
    flipped = [_flipped(line, draw) for line in lines if line]
    return laid_out("\n".join(_written(_shuffled(_units(flipped), draw))), Layout())


def rewritten(text: str, draw: random.Random) -> str:
    """Small rewrites: forms of increments, comparisons, assignments, zeros."""
    text = laid_out(text, Layout())
    for pattern, new in draw.sample(_REWRITES, 3):
        text = re.sub(pattern, new, text)
    return text


_REWRITES: tuple[tuple[str, str], ...] = (
    (r"\+\+(\w+)", r"\1++"),
    (r"\b(\w+)\+\+", r"\1 += 1"),
    (r"(?:(?<=\()|(?<=&& )|(?<=; ))(\w+) < (\w+)(?=\)| &&|;)", r"\2 > \1"),
    (r"(?m)^(\s*)(\w+) \+= ([^;]+);", r"\1\2 = \2 + \3;"),
    (r"\b0\.0f\b|\b0\.f\b|\b0\.0\b", "0"),
    (r"\bint (?=\w+ = (?:threadIdx|blockIdx)\b)", "const int "),
    (r"\bconst (?=float)", ""),
    (r"(?m)^(\s*#define \w+ )16$", r"\1(16)"),
)

DISGUISES: Mapping[str, tuple[Disguise, ...]] = {
    "renamed": (renamed,),
    "comments": (commented,),
    "reformatted": (reformatted,),
    "reordered": (reordered,),
    "rewritten": (rewritten,),
    "renamed, reordered, reformatted, comments": (reordered, renamed, commented, reformatted),
    "all, and rewritten": (rewritten, reordered, renamed, commented, reformatted),
}


def disguised(text: str, kind: str, seed: int) -> str:
    """The copy in one of DISGUISES."""
    draw = random.Random(f"{kind} {seed}")
    for disguise in DISGUISES[kind]:
        text = disguise(text, draw)
    return text


def _flipped(line: str, draw: random.Random) -> str:
    """Exchange the sides of `&&` and of products and sums of two names."""
    if draw.random() < 0.5:
        line = re.sub(r"\((\w+ < \w+) && (\w+ < \w+)\)", r"(\2 && \1)", line)
    if draw.random() < 0.5:
        line = re.sub(r"(?<![\w.*/%-] )(?<![\w.)\]])([\w.]+) \* ([\w.]+)(?! [*/%])(?![\w.(\[])", r"\2 * \1", line)
    return line


@dataclass(frozen=True, slots=True)
class _Unit:
    """A statement, or a head with its block. fixed: whether it must stay in its place."""

    lines: tuple[str, ...]
    inner: tuple[_Unit, ...]
    fixed: bool
    reads: frozenset[str]
    writes: frozenset[str]


def _units(lines: list[str]) -> tuple[_Unit, ...]:
    """The statements of a block; `else` belongs to its `if`."""
    found: list[_Unit] = []
    place = 0
    while place < len(lines):
        end = _end(lines, place)
        while end < len(lines) and lines[end].startswith("else"):
            end = _end(lines, end)
        part = lines[place:end]
        whole = " ".join(part)
        fixed = bool(re.search(r"#|//|__syncthreads|return|\b(for|while) ?\(|__global__", whole))
        inner = _units(part[1:-1]) if fixed and part[0].endswith("{") and part[-1] == "}" else ()
        writes = frozenset(name for line in part for name in _written_by(line.partition("//")[0].strip()))
        found.append(_Unit(tuple(part), inner, fixed, frozenset(_WORD.findall(whole)), writes))
        place = end
    return tuple(found)


def _written_by(line: str) -> list[str]:
    """The names that a line may set; of a declaration with commas, all names."""
    match = _ASSIGNED.match(line)
    if match and _SEVERAL.match(line):
        return _WORD.findall(line)
    return [match.group(1)] if match else []


def _end(lines: list[str], place: int) -> int:
    """The line after the statement that begins at `place`."""
    line = lines[place].partition("//")[0].strip()
    depth = line.count("{") - line.count("}")
    if depth > 0:
        place += 1
        while place < len(lines) and depth > 0:
            depth += lines[place].count("{") - lines[place].count("}")
            place += 1
        return place
    if line.endswith(";") or line.startswith("#") or not line:
        return place + 1
    return _end(lines, place + 1) if place + 1 < len(lines) else place + 1


def _shuffled(units: tuple[_Unit, ...], draw: random.Random) -> list[_Unit]:
    order = list(units)
    for _ in range(2):
        for place in range(len(order) - 1):
            first, second = order[place], order[place + 1]
            free = not (first.fixed or second.fixed)
            if free and not (first.writes & second.reads or second.writes & first.reads) and draw.random() < 0.5:
                order[place : place + 2] = [second, first]
    return [_with_inner(each, draw) if each.inner else each for each in order]


def _with_inner(unit: _Unit, draw: random.Random) -> _Unit:
    inner = _written(_shuffled(unit.inner, draw))
    return replace(unit, lines=(unit.lines[0], *inner, unit.lines[-1]), inner=())


def _written(units: list[_Unit]) -> list[str]:
    return [line for unit in units for line in unit.lines]
