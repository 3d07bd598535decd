"""The launch and the tile that a file sets, under the exercise's name or another; never a guess.

A file may leave the tile open and take Tilelab's value. A declared tile is read from the text if that is certain.
Otherwise the compiler evaluates it. If that gives no single value either, the file is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from kernels.exercise import Exercise
from kernels.exercise.sizes import steps
from kernels.expression import Expression, value_of
from kernels.launch import LaunchOverride
from kernels.source.launch.comment import check_names, find_launch_comment
from kernels.source.launch.evidence import Evidence, follows_launch, read_evidence
from kernels.source.launch.grid import with_grid
from kernels.source.launch.question import fits, largest_fitting, question
from kernels.source.launch.tile_names import Candidate, find_candidates
from kernels.source.names import Names
from kernels.source.text import Comment, Kind
from kernels.verdict import Finding, rejected
from kernels.wording import listed

_SMALLEST_NUMBER = 4
_BLOCK = "blockDim"
_MANY_BLOCKS = 5040


@dataclass(frozen=True, slots=True)
class Tile:
    """The tile of a file.

    value: None if the file leaves the tile open
    line: the line that sets it
    note: for the report, if the tile's name isn't the exercise's
    default: whether it stands inside `#ifndef`, so that a requested tile replaces it
    """

    value: int | None = None
    line: int | None = None
    note: str = ""
    default: bool = False

    @property
    def fixed(self) -> bool:
        return self.value is not None and not self.default

    def chosen(self, asked: int | None, usual: int) -> int:
        """The tile of cases and launch: fixed, otherwise requested, otherwise the default, otherwise the usual one."""
        if self.value is not None and self.fixed:
            return self.value
        return asked or self.value or usual


@dataclass(frozen=True, slots=True)
class FilePlan:
    """The launch and the tile that a file sets.

    launch: the settings of its `//!tilelab` comment, if it has one
    asked: the names that the compiler must evaluate before the file can be planned
    """

    launch: LaunchOverride | None
    tile: Tile
    asked: tuple[str, ...] = ()


def plan_file(
    exercise: Exercise, names: Names, comments: Iterable[Comment], default: tuple[int, int] | None
) -> FilePlan | Finding:
    """Decide the launch and the tile of a file, or why they are unknown. Decisions on asked names don't count.

    default: the value and line of its tile inside `#ifndef`
    """
    launch = find_launch_comment(comments)
    if isinstance(launch, Finding):
        return launch
    decided = launch and (check_names(launch, exercise, names) or with_grid(exercise, names, launch))
    if isinstance(decided, Finding):
        if not names.asked:
            return decided
        decided = launch
    tile = _find_tile(exercise, names, decided)
    if names.asked:
        tile = Tile()
    if isinstance(tile, Finding):
        return tile
    undecided = tile.value is None and names.line(exercise.tile_name) is None
    if undecided and default is not None and default[0] != exercise.tile:
        tile = _checked(exercise, Tile(*default, default=True))
    return tile if isinstance(tile, Finding) else FilePlan(decided, tile, tuple(sorted(names.asked)))


def _find_tile(exercise: Exercise, names: Names, launch: LaunchOverride | None) -> Tile | Finding:
    """The tile of a file; a finding if it is unknown and the launch depends on it."""
    if launch is not None and launch.tile is not None:
        return _commented(exercise, names, value_of(launch.tile.text, names.constants.values), launch.line)
    name = exercise.tile_name
    line = names.line(name)
    if line is not None and not _matters(exercise, names, launch):
        value = names.constants.sure(name)
        return Tile() if value is None else _checked(exercise, Tile(value, line))
    used = names.used(name)
    if not used and _launched_by_tile(exercise, names, launch) and (launch is None or launch.block is None):
        other = _under_another_name(exercise, read_evidence(names, exercise.kernel))
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
            return rejected(
                f"The launch comment has `tile={value}`, but `{name}` is {values[0]} (line {declared}). Keep one.", line
            )
    return _checked(exercise, Tile(value, line))


def _declared(exercise: Exercise, names: Names, line: int) -> Tile | Finding:
    """The tile that a file declares under the exercise's name."""
    name = exercise.tile_name
    if name in {constant.symbol for constant in exercise.constants} or _follows_launch(names, name):
        return Tile()
    values = names.values(name)
    if len(values) == 1:
        return _checked(exercise, Tile(values[0], line))
    if values:
        return rejected(
            f"`{name}` has more than one value here: {listed(list(map(str, values)))}. "
            f"Add the line `//!tilelab tile={values[0]}` with the value for the launch.",
            line,
        )
    if not names.used(name):
        return Tile()
    return rejected(
        f"Tilelab can't evaluate `{name}`, so the block to launch is unknown. Write it as a constant, such as "
        f"`#define {name} {exercise.tile}`, or add the line `//!tilelab tile={exercise.tile}` with your number.",
        line,
    )


def _checked(exercise: Exercise, tile: Tile) -> Tile | Finding:
    """Refuse a tile that fits no case."""
    if tile.value is None or 1 <= tile.value <= exercise.largest_tile:
        return tile
    largest = largest_fitting(exercise)
    more = f", or up to {exercise.largest_tile:,} with `block=` in a launch comment"
    own = "" if largest == exercise.largest_tile else more
    return rejected(f"The tile is {tile.value:,} here. Choose one from 1 to {largest:,}{own}.", tile.line)


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


def _under_another_name(exercise: Exercise, evidence: Evidence) -> Tile | Finding | None:
    """The tile under another name; None if no name is used as a tile."""
    found = find_candidates(exercise, evidence)
    known = [candidate for candidate in found if candidate.values and not _agrees(exercise, candidate)]
    if not known:
        return (None if found else _by_numbers(exercise, evidence)) or _unsupported(exercise, evidence)
    values = {value for candidate in known for value in candidate.values}
    best = next((candidate for candidate in known if candidate.strong), None)
    if evidence.names.mentions(_BLOCK) and _follows_block(exercise, best):
        return None
    if best is None or len(values) > 1 or not fits(exercise, best.values[0]) or _may_be_a_section(exercise, best):
        return question(exercise, evidence, known)
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


def _by_numbers(exercise: Exercise, evidence: Evidence) -> Tile | Finding | None:
    """The tile of a file with plain numbers as steps, as in `blockIdx.x * 16 + threadIdx.x`."""
    names = evidence.names
    if len(exercise.launch.block) < 2 or names.mentions(_BLOCK):
        return None
    found = [token for token in evidence.first_factors if token.kind is Kind.NUMBER]
    numbers = {number for token in found if (number := value_of(token.text.replace("'", ""), {})) is not None}
    if len(numbers) != 1 or (tile := numbers.pop()) < _SMALLEST_NUMBER or not fits(exercise, tile):
        return None
    if tile == exercise.tile:
        return Tile(tile, found[0].line)
    name = exercise.tile_name
    if (line := names.line(name)) is not None and names.values(name) == (tile,):
        return Tile(tile, line)
    return rejected(
        f"Which block does your kernel need? It uses steps of {tile} from block to block, the exercise uses "
        f"{exercise.tile}. Add the line `//!tilelab tile={tile}`. If your blocks have fewer threads, set `block=` and "
        "`grid=`.",
        found[0].line,
    )


def _unsupported(exercise: Exercise, evidence: Evidence) -> Finding | None:
    """A question if nothing in the kernel shows that it fits the exercise's tile."""
    names = evidence.names
    if len(exercise.launch.block) < 2 or follows_launch(names) or _told_by_constant(exercise, names):
        return None
    counted = evidence.factors
    if not counted:
        return None
    texts = {token.text for token in counted} | {text for array in evidence.arrays for text in array}
    usual = {exercise.tile, *_steps(exercise)}
    if any(usual & {value_of(text.replace("'", ""), {}), *names.known(text)} for text in texts):
        return None
    return rejected(
        f"Which block does your kernel need? It doesn't use `{exercise.tile_name}`, and Tilelab can't tell how far "
        f"apart your blocks are. Add the line `//!tilelab tile={exercise.tile}` with your number.",
        counted[0].line,
    )


def _told_by_constant(exercise: Exercise, names: Names) -> bool:
    """Whether the code reads the tile from a module variable that the exercise sets."""
    return any(
        exercise.tile_name in constant.value.names and names.used(constant.symbol) for constant in exercise.constants
    )
