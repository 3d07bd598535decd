"""What an axis changes: the kernel's text, its tile, a macro, a size, a compiler flag, or a layout."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kernels.exercise import Exercise
from kernels.exercise.checks import REGISTERS
from kernels.exercise.table import LARGEST
from kernels.experiment.model import Axis, Params
from kernels.experiment.variant import defined
from kernels.source.source_file import Source, read_source
from kernels.wording import did_you_mean

_MOST_BYTES = 2**35
_FLOAT = 4


class Role(StrEnum):
    """What an axis changes."""

    SIZE = "size"
    DEFINE = "define"
    TILE = "tile"
    MACRO = "macro"
    FLAG = "flag"
    LAYOUT = "layout"


FLAGS: Mapping[str, tuple[str, range]] = {"fmad": ("fmad", range(2)), "maxrregcount": ("max_registers", REGISTERS)}
"""The compiler's options that an axis can change: each with its field of the exercise, and its values."""

_COLUMN_MAJOR = "_COLUMN_MAJOR"


class UnfitAxis(ValueError):
    """An axis that a kernel and its exercise can't take; the message is a sentence."""

    def __init__(self, axis: str, reason: str) -> None:
        super().__init__(reason)
        self.axis = axis


@dataclass(frozen=True, slots=True)
class Change:
    """The values of one point, by what they change.

    tile: None for the exercise's own
    flags: values of FLAGS, and 0 or 1 for the layout of a matrix
    """

    defines: Mapping[str, int] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    macros: Mapping[str, int] = field(default_factory=dict)
    tile: int | None = None
    flags: Mapping[str, int] = field(default_factory=dict)


def roles(names: Iterable[str], text: str, kernel: str, exercise: Exercise) -> dict[str, Role]:
    """What each axis changes of one kernel; raises UnfitAxis for the first that changes nothing."""
    source = read_source(text.encode(), exercise)
    own = _own_names(text, source if isinstance(source, Source) else None, exercise)
    found = {}
    for name in names:
        role = _role(name, own, exercise)
        if role is None:
            known = {*own, *exercise.sizes, *exercise.macros, exercise.tile_name, *FLAGS, *layouts(exercise)}
            raise UnfitAxis(
                name,
                f"`{name}` isn't defined in {kernel}, and {exercise.name} has no such size, tile or macro. "
                f"It has {', '.join((*exercise.sizes, exercise.tile_name, *exercise.macros))}. "
                f"Flags of the compiler are {' and '.join(FLAGS)}."
                f"{did_you_mean(name, known)}",
            )
        if role is Role.TILE and isinstance(source, Source) and source.plan.tile.fixed:
            raise UnfitAxis(name, f"`{name}` changes nothing, because {kernel} sets its own tile.")
        found[name] = role
    return found


def change(params: Params, given: Mapping[str, Role], exercise: Exercise) -> Change:
    """What a point changes; a size without an axis keeps its value of the ranking."""
    by_role: dict[Role, dict[str, int]] = {role: {} for role in Role}
    for name, value in params.items():
        by_role[given[name]][name] = value
    return Change(
        defines={**by_role[Role.DEFINE], **by_role[Role.LAYOUT]},
        sizes={**exercise.ranking, **by_role[Role.SIZE]},
        macros=by_role[Role.MACRO],
        tile=by_role[Role.TILE].get(exercise.tile_name),
        flags={**by_role[Role.FLAG], **by_role[Role.LAYOUT]},
    )


def layouts(exercise: Exercise) -> Mapping[str, str]:
    """The axes for the layouts of the exercise's matrices, each with the matrix: `N_COLUMN_MAJOR` for N."""
    return {f"{operand.name}{_COLUMN_MAJOR}": operand.name for operand in exercise.operands if not operand.vector}


def matrix_of(flag: str) -> str:
    return flag.removesuffix(_COLUMN_MAJOR)


def check_values(axis: Axis, role: Role, exercise: Exercise) -> None:
    """Raise UnfitAxis for a value that the exercise can't take."""
    if role is Role.TILE and (unfit := [value for value in axis.values if value not in exercise.tiles]):
        allowed = ", ".join(map(str, exercise.tiles))
        raise UnfitAxis(axis.name, f"`{axis.name}` can't be {unfit[0]:,}: {exercise.name} is graded with {allowed}.")
    if role is Role.MACRO:
        most = exercise.largest_macros[axis.name]
        if unfit := [value for value in axis.values if not 1 <= value <= most]:
            raise UnfitAxis(axis.name, f"`{axis.name}` can't be {unfit[0]:,}: {exercise.name} allows 1 to {most:,}.")
    if role is Role.SIZE:
        _check_sizes(axis, exercise)
    if role in {Role.FLAG, Role.LAYOUT}:
        taken = FLAGS[axis.name][1] if role is Role.FLAG else range(2)
        if unfit := [value for value in axis.values if value not in taken]:
            raise UnfitAxis(axis.name, f"`{axis.name}` can't be {unfit[0]:,}: it's {taken[0]} to {taken[-1]}.")


def _role(name: str, own: frozenset[str], exercise: Exercise) -> Role | None:
    if name in exercise.sizes:
        return Role.SIZE
    if name in layouts(exercise):
        return Role.LAYOUT
    if name in own:
        return Role.DEFINE
    if name == exercise.tile_name:
        return Role.TILE
    if name in exercise.macros:
        return Role.MACRO
    return Role.FLAG if name in FLAGS else None


def _own_names(text: str, source: Source | None, exercise: Exercise) -> frozenset[str]:
    """The names whose value in the file counts. A tile that the file guards with `#ifndef` is set from outside.

    source: None for a file that can't be graded; each point will say why
    """
    given = exercise.size_macros.keys() if source is None else exercise.macro_names - source.own_macros
    return defined(text) - given


def _check_sizes(axis: Axis, exercise: Exercise) -> None:
    if min(axis.values) < 1:
        raise UnfitAxis(axis.name, f"`{axis.name}` can't be 0: sizes are at least 1.")
    if max(axis.values) > LARGEST:
        raise UnfitAxis(axis.name, f"`{axis.name}` can't be {max(axis.values):,}: sizes are at most {LARGEST:,}.")
    largest = {**exercise.ranking, axis.name: max(axis.values)}
    shapes = [operand.shape(exercise.names(exercise.tile, largest)) for operand in exercise.operands]
    needed = _FLOAT * sum(rows * columns for rows, columns in shapes)
    if needed > _MOST_BYTES:
        raise UnfitAxis(
            axis.name,
            f"`{axis.name}` can't be {max(axis.values):,}: the operands would take {needed / 2**30:,.0f} GiB. "
            f"The limit is {_MOST_BYTES // 2**30} GiB.",
        )
