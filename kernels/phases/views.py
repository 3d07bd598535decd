"""A table of phases as plain rows of text, by thread and by block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from kernels.evidence import Accumulation, BlockPhase, Fetch, Fill, PhaseTable, Stage, StagePhase, StageTable

PADDING = "0"
"""The sign for a zero past the edge of a matrix."""


def cell_place(name: str) -> tuple[str, int, int]:
    """Split an element's or cell's name: `Mds`, 1, 0 for `Mds[1][0]`. With a single index, the row is 0."""
    first, *indices = name.split("[")
    numbers = [index.rstrip("]") for index in indices]
    if not numbers or not all(number.lstrip("-").isdigit() for number in numbers[-2:]):
        return name, 0, 0
    array = "[".join([first, *indices[:-2]])
    return array, int(numbers[-2]) if len(numbers) > 1 else 0, int(numbers[-1])


Coordinates = tuple[int, int, int]
Row = tuple[str, ...]


def course_place(place: Coordinates, extent: Coordinates) -> str:
    """Write a thread or block as the course does, row first: `1,0` is y 1, x 0. Without a y, only x."""
    x, y, z = place
    if extent[2] > 1:
        return f"{z},{y},{x}"
    return f"{y},{x}" if extent[1] > 1 else str(x)


def axes(extent: Coordinates, letter: str) -> str:
    """Return the names of the numbers of `course_place`: `ty,tx`."""
    names = "zyx" if extent[2] > 1 else "yx" if extent[1] > 1 else "x"
    return ",".join(letter + name for name in names)


def block_phase(table: PhaseTable, phase: int, block: Coordinates) -> BlockPhase | None:
    """Return what a block does in a phase, if anything; `block` is x, y, z."""
    for entry in table.phases:
        if entry.number == phase:
            return next((each for each in entry.blocks if each.block == block), None)
    return None


def block_places(table: PhaseTable) -> tuple[Coordinates, ...]:
    """Return the blocks that do something, row by row."""
    found = {entry.block for phase in table.phases for entry in phase.blocks}
    return tuple(sorted(found, key=lambda block: block[::-1]))


def fetched_operands(table: PhaseTable) -> tuple[str, ...]:
    """Return the operands that are loaded into shared memory, in the order in which the kernel uses them."""
    found = {_operand(fetch) for fetch in _fetches(table)} - {""}
    return (*(name for name in table.matrices if name in found), *sorted(found - table.matrices.keys()))


def fetch_text(fetch: Fetch) -> str:
    """Return `M[1][0] -> Mds[1][0]`."""
    return f"{fetch.element} -> {fetch.cell}"


def sum_text(one: Accumulation, *, several: bool) -> str:
    """Return `PValue += Mds[0][0]*Nds[0][0] + ...`. If a thread has several sums, name each by its output element."""
    return f"{one.target if several else 'PValue'} += {one.cells or one.elements}"


def with_several_sums(table: PhaseTable, block: Coordinates) -> frozenset[Coordinates]:
    """Return the threads of a block that keep more than one sum."""
    targets: dict[Coordinates, set[str]] = {}
    for phase in table.phases:
        entry = block_phase(table, phase.number, block)
        for one in entry.accumulations if entry else ():
            targets.setdefault(one.thread, set()).add(one.target)
    return frozenset(thread for thread, names in targets.items() if len(names) > 1)


def shared_arrays(table: PhaseTable) -> tuple[str, ...]:
    """Return the shared arrays in `table.matrices`."""
    bases = {_array(fetch) for fetch in _fetches(table)}
    return tuple(name for name in table.matrices if name.split("[", 1)[0] in bases)


def operands(table: PhaseTable) -> tuple[str, ...]:
    """Return the operands in `table.matrices`: usually left, right, output."""
    shared = shared_arrays(table)
    return tuple(name for name in table.matrices if name not in shared)


def thread_header(table: PhaseTable) -> Row:
    """Return the columns of `thread_rows`: the thread, then for each phase its loads of each operand, and its sum."""
    columns = [*fetched_operands(table), "sum"]
    phases = [f"phase {phase.number}: {column}" for phase in table.phases for column in columns]
    return (f"thread ({axes(table.launch.block, 't')})", *phases)


def thread_rows(table: PhaseTable, block: Coordinates) -> tuple[Row, ...]:
    """Return the execution phases of one block, a row for each thread. "; " separates several entries of a column."""
    operand_of, several = _padding_operands(table), with_several_sums(table, block)
    entries = [block_phase(table, phase.number, block) for phase in table.phases]
    rows = []
    for thread in _threads(entries):
        row = [course_place(thread, table.launch.block)]
        for entry in entries:
            fetches = [fetch for fetch in (entry.fetches if entry else ()) if fetch.thread == thread]
            columns = []
            for operand in fetched_operands(table):
                chosen = [fetch for fetch in fetches if (_operand(fetch) or _guess(fetch, operand_of)) == operand]
                columns.append("; ".join(map(fetch_text, chosen)))
            row.extend(columns)
            sums = [each for each in entry.accumulations if each.thread == thread] if entry else []
            row.append("; ".join(sum_text(each, several=thread in several) for each in sums))
        rows.append(tuple(row))
    return tuple(rows)


def block_header(table: PhaseTable) -> Row:
    """Return the columns of `block_rows`."""
    return ("Tiles loaded by", *(f"Block {course_place(place, table.launch.grid)}" for place in block_places(table)))


def block_rows(table: PhaseTable, operand: str) -> tuple[Row, ...]:
    """Return the elements of an operand that each block loads in each phase.

    Each is given by row and column, and by position in memory.
    """
    rows = []
    for phase in table.phases:
        entries = {entry.block: entry.fetches for entry in phase.blocks}
        chosen = [
            [fetch for fetch in entries.get(block, ()) if _operand(fetch) == operand] for block in block_places(table)
        ]
        if any(chosen):
            rows.append((f"Phase {phase.number} (2D index)", *(_listed(f.element for f in each) for each in chosen)))
            rows.append(
                (f"Phase {phase.number} (linearized index)", *(_listed(f.linear for f in each) for each in chosen))
            )
    return tuple(rows)


def _listed(names: Iterable[str]) -> str:
    """Return each element once, because several threads may load the same one."""
    return ", ".join(dict.fromkeys(names))


def _fetches(table: PhaseTable) -> Iterator[Fetch]:
    for phase in table.phases:
        for entry in phase.blocks:
            yield from entry.fetches


def _threads(entries: Sequence[BlockPhase | None]) -> list[Coordinates]:
    """Return the threads that do something, row by row."""
    found: set[Coordinates] = set()
    for entry in filter(None, entries):
        found.update(fetch.thread for fetch in entry.fetches)
        found.update(accumulation.thread for accumulation in entry.accumulations)
    return sorted(found, key=lambda thread: thread[::-1])


def _operand(fetch: Fetch) -> str:
    """Return the operand of a fetched element; "" for a padding zero."""
    return "" if fetch.element == PADDING else fetch.element.split("[", 1)[0]


def _padding_operands(table: PhaseTable) -> dict[tuple[str, int | None], str]:
    """Return the operand of each padding zero: an operand stored to the same array, preferably in the same line."""
    found: dict[tuple[str, int | None], str] = {}
    for fetch in _fetches(table):
        if name := _operand(fetch):
            found.setdefault((_array(fetch), fetch.line), name)
            found.setdefault((_array(fetch), None), name)
    return found


def _guess(fetch: Fetch, operand_of: Mapping[tuple[str, int | None], str]) -> str:
    array = _array(fetch)
    return operand_of.get((array, fetch.line)) or operand_of.get((array, None), "")


def _array(fetch: Fetch) -> str:
    return fetch.cell.split("[", 1)[0]


@dataclass(frozen=True, slots=True)
class Held:
    """A tile in a stage. state: of the "current" phase, copied "ahead" in this run, or left "over"."""

    stage: Stage
    fill: Fill
    state: Literal["current", "ahead", "over"]

    @property
    def tile(self) -> str:
        """Such as `M[0..63][64..127]`."""
        return self.stage.operand + "".join(f"[{a}..{b}]" for a, b in (self.fill.rows, self.fill.columns))


def held_in(table: StageTable, phase: StagePhase) -> tuple[Held, ...]:
    """Return what the stages hold when a phase begins to use its tiles."""
    found = ((table.stages[at], table.fills[held]) for at, held in enumerate(phase.held) if held is not None)
    return tuple(Held(stage, fill, _state(fill, phase)) for stage, fill in found)


def _state(fill: Fill, phase: StagePhase) -> Literal["current", "ahead", "over"]:
    if fill.phase == phase.number:
        return "current"
    return "ahead" if fill.phase > phase.number else "over"
