"""The tile that a file declares, under the exercise's name or another; never a guess.

A file may leave the tile open and take Tilelab's value. A declared tile is read from the text if that is certain.
Otherwise the compiler evaluates it. If that gives no single value either, the file is refused.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from kernels.exercise import Exercise
from kernels.exercise.sizes import steps
from kernels.expression import Expression, ExpressionError
from kernels.launch import LaunchOverride
from kernels.source.launch.evidence import block_steps, follows_launch, reached, shared_extents
from kernels.source.launch.question import fits, largest_fitting, question, refused, value_of
from kernels.source.launch.tile_names import Candidate, candidates, tile_names
from kernels.source.names import Names
from kernels.source.text import Kind
from kernels.verdict import Finding
from kernels.wording import listed

_SMALLEST_NUMBER = 4
_BLOCK = "blockDim"
_MANY_BLOCKS = 5040


@dataclass(frozen=True, slots=True)
class Tile:
    """The tile of a file.

    value: None if the file leaves the tile open
    line: the line of its declaration
    note: for the report, if the tile's name isn't the exercise's
    """

    value: int | None = None
    line: int | None = None
    note: str = ""


def find_tile(exercise: Exercise, names: Names, launch: LaunchOverride | None) -> Tile | Finding:
    """The tile of a file; a finding if it is unknown and the launch depends on it. Nothing while a name is asked."""
    if launch is not None and launch.tile is not None:
        return _commented(exercise, names, value_of(launch.tile.text, names), launch.line)
    name = exercise.tile_name
    line = names.line(name)
    if line is not None and not _matters(exercise, names, launch):
        return checked(exercise, Tile(names.constants.sure(name), line))
    used = names.used(name)
    if not used and _launched_by_tile(exercise, names, launch) and (launch is None or launch.block is None):
        other = _under_another_name(exercise, names)
        if other is not None:
            return other
    return _declared(exercise, names, line) if line is not None else Tile()


def _commented(exercise: Exercise, names: Names, value: int | None, line: int) -> Tile | Finding:
    """The tile of a launch comment; refused if the file uses another tile."""
    name = exercise.tile_name
    declared = names.line(name)
    if declared is not None and names.used(name):
        values = names.values(name)
        if len(values) == 1 and values[0] != value:
            return refused(
                f"The launch comment has `tile={value}`, but `{name}` is {values[0]} (line {declared}). Keep one.", line
            )
    return checked(exercise, Tile(value, line))


def _declared(exercise: Exercise, names: Names, line: int) -> Tile | Finding:
    """The tile that a file declares under the exercise's name."""
    name = exercise.tile_name
    if name in {constant.symbol for constant in exercise.constants} or _follows_launch(names, name):
        return Tile()
    values = names.values(name)
    if len(values) == 1:
        return checked(exercise, Tile(values[0], line))
    if values:
        return refused(
            f"`{name}` has more than one value here: {listed(list(map(str, values)))}. "
            f"Add the line `//!tilelab tile={values[0]}` with the value for the launch.",
            line,
        )
    if not names.used(name):
        return Tile()
    return refused(
        f"Tilelab can't evaluate `{name}`, so the block to launch is unknown. Write it as a constant, such as "
        f"`#define {name} {exercise.tile}`, or add the line `//!tilelab tile={exercise.tile}` with your number.",
        line,
    )


def checked(exercise: Exercise, tile: Tile) -> Tile | Finding:
    """Refuse a tile that fits no case."""
    if tile.value is None or 1 <= tile.value <= exercise.largest_tile:
        return tile
    largest = largest_fitting(exercise)
    more = f", or up to {exercise.largest_tile:,} with `block=` in a launch comment"
    own = "" if largest == exercise.largest_tile else more
    return refused(f"The tile is {tile.value:,} here. Choose one from 1 to {largest:,}{own}.", tile.line)


def _launched_by_tile(exercise: Exercise, names: Names, launch: LaunchOverride | None) -> bool:
    rule = exercise.launch.override(launch)
    used = {name for text in (*rule.grid, *rule.block, rule.shared) for name in text.names}
    return bool(used & {exercise.tile_name, *names.constants.derived})


def _matters(exercise: Exercise, names: Names, launch: LaunchOverride | None) -> bool:
    if _launched_by_tile(exercise, names, launch):
        return True
    texts: list[Expression] = [each for operand in exercise.operands for each in (operand.rows, operand.cols)]
    texts += [constant.value for constant in exercise.constants]
    texts += [exercise.section] if exercise.section is not None else []
    if any(exercise.tile_name in text.names for text in texts):
        return True
    return any(steps(exercise, tile) != steps(exercise, exercise.tile) for tile in exercise.tiles)


def _follows_launch(names: Names, name: str) -> bool:
    """Whether the name means the launched block, as in `int TILE_WIDTH = blockDim.x`."""
    found = [_BLOCK in macro.names for macro in names.macros if macro.name == name]
    found += [f" {_BLOCK} " in value for value in re.findall(rf" {re.escape(name)} [=({{]([^;,)]*)", names.code)]
    return bool(found) and all(found)


def _under_another_name(exercise: Exercise, names: Names) -> Tile | Finding | None:
    """The tile under another name; None if no name is used as a tile."""
    names = names.within(reached(names, exercise.kernel))
    found = tile_names(exercise, names)
    known = [candidate for candidate in candidates(exercise, names, found) if not _agrees(exercise, candidate)]
    if not known:
        return (None if found else _by_numbers(exercise, names)) or _unsupported(exercise, names)
    values = {value for candidate in known for value in candidate.values}
    best = next((candidate for candidate in known if candidate.strong), None)
    if names.mentions(_BLOCK) and _follows_block(exercise, best):
        return None
    if best is None or len(values) > 1 or not fits(exercise, best.values[0]) or _may_be_a_section(exercise, best):
        return question(exercise, names, known)
    note = f"The block size comes from your `{best.name}` = {best.values[0]} (line {best.line})."
    return Tile(best.values[0], best.line, note)


def _follows_block(exercise: Exercise, best: Candidate | None) -> bool:
    """Whether a kernel that uses `blockDim` works with the launched block."""
    if best is None:
        return True
    if not best.listed:
        return best.values[0] >= exercise.tile  # the launched block fits into its arrays
    return len(best.values) > 1 and exercise.tile in best.values


def _agrees(exercise: Exercise, candidate: Candidate) -> bool:
    """Whether an unusual name is the exercise's step from block to block."""
    if candidate.listed or candidate.values == (exercise.tile,):
        return False
    return candidate.values in [(step,) for step in _steps(exercise)]


def _may_be_a_section(exercise: Exercise, candidate: Candidate) -> bool:
    """Whether a name may count the elements of a block that has several for each thread."""
    return not candidate.listed and len(exercise.launch.block) == 1 and _steps(exercise) != [exercise.tile]


def _steps(exercise: Exercise) -> list[int]:
    """The distance from one of the exercise's blocks to the next, on each axis."""
    size = _MANY_BLOCKS * exercise.tile * math.prod(exercise.macros.values())
    names = {**dict.fromkeys((*exercise.sizes, *exercise.size_macros), size), **exercise.macros}
    return [
        size // max(1, text.evaluate({**names, exercise.tile_name: exercise.tile})) for text in exercise.launch.grid
    ]


def _by_numbers(exercise: Exercise, names: Names) -> Tile | Finding | None:
    """The tile of a file with plain numbers as steps, as in `blockIdx.x * 16 + threadIdx.x`."""
    if len(exercise.launch.block) < 2 or names.mentions(_BLOCK):
        return None
    found = [token for step in block_steps(names) for token in step.factors[:1] if token.kind is Kind.NUMBER]
    numbers = {number for token in found if (number := _number(token.text)) is not None}
    if len(numbers) != 1 or (tile := numbers.pop()) < _SMALLEST_NUMBER or not fits(exercise, tile):
        return None
    if tile == exercise.tile:
        return Tile(tile, found[0].line)
    name = exercise.tile_name
    if (line := names.line(name)) is not None and names.values(name) == (tile,):
        return Tile(tile, line)
    return refused(
        f"Which block does your kernel need? It uses steps of {tile} from block to block, the exercise uses "
        f"{exercise.tile}. Add the line `//!tilelab tile={tile}`. If your blocks have fewer threads, set `block=` and "
        "`grid=`.",
        found[0].line,
    )


def _unsupported(exercise: Exercise, names: Names) -> Finding | None:
    """A question if nothing in the kernel shows that it fits the exercise's tile."""
    if len(exercise.launch.block) < 2 or follows_launch(names) or _told_by_constant(exercise, names):
        return None
    counted = [token for step in block_steps(names) for token in step.factors]
    if not counted:
        return None
    texts = {token.text for token in counted} | {text for array in shared_extents(names.tokens) for text in array}
    usual = {exercise.tile, *_steps(exercise)}
    if any(usual & {_number(text), *names.known(text)} for text in texts):
        return None
    return refused(
        f"Which block does your kernel need? It doesn't use `{exercise.tile_name}`, and Tilelab can't tell how far "
        f"apart your blocks are. Add the line `//!tilelab tile={exercise.tile}` with your number.",
        counted[0].line,
    )


def _told_by_constant(exercise: Exercise, names: Names) -> bool:
    """Whether the code reads the tile from a module variable that the exercise sets."""
    return any(
        exercise.tile_name in constant.value.names and names.used(constant.symbol) for constant in exercise.constants
    )


def _number(text: str) -> int | None:
    try:
        return Expression.parse(text.replace("'", "")).evaluate({})
    except ExpressionError:
        return None
