"""Views of a table of phases as plain rows of text: who loads and adds up what, and what each block loads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kernels.evidence import Accumulation, BlockPhase, Fetch, PhaseTable

PADDING = "0"
"""What stands for a zero beyond the edge of a matrix."""


def cell_place(name: str) -> tuple[str, int, int]:
    """The array, row and column of an element or cell: `Mds`, 1, 0 of `Mds[1][0]`; row 0 where there is one index."""
    first, *indices = name.split("[")
    numbers = [index.rstrip("]") for index in indices]
    if not numbers or not all(number.lstrip("-").isdigit() for number in numbers[-2:]):
        return name, 0, 0
    array = "[".join([first, *indices[:-2]])
    return array, int(numbers[-2]) if len(numbers) > 1 else 0, int(numbers[-1])


Coordinates = tuple[int, int, int]
Row = tuple[str, ...]


def course_place(place: Coordinates, extent: Coordinates) -> str:
    """A thread or block as the course writes it, row first: `1,0` is y 1, x 0; the x alone where there is no y."""
    x, y, z = place
    if extent[2] > 1:
        return f"{z},{y},{x}"
    return f"{y},{x}" if extent[1] > 1 else str(x)


def axes(extent: Coordinates, letter: str) -> str:
    """What the numbers of `course_place` are: `ty,tx`."""
    names = "zyx" if extent[2] > 1 else "yx" if extent[1] > 1 else "x"
    return ",".join(letter + name for name in names)


def block_phase(table: PhaseTable, phase: int, block: Coordinates) -> BlockPhase | None:
    """What a block does in a phase, if anything; `block` is x, y, z."""
    for entry in table.phases:
        if entry.number == phase:
            return next((each for each in entry.blocks if each.block == block), None)
    return None


def block_places(table: PhaseTable) -> tuple[Coordinates, ...]:
    """The blocks that do something, row by row."""
    found = {entry.block for phase in table.phases for entry in phase.blocks}
    return tuple(sorted(found, key=lambda block: block[::-1]))


def fetched_operands(table: PhaseTable) -> tuple[str, ...]:
    """The operands that are brought into shared memory, in the order in which the kernel takes them."""
    found = {_operand(fetch) for fetch in _fetches(table)} - {""}
    return (*(name for name in table.matrices if name in found), *sorted(found - table.matrices.keys()))


def fetch_text(fetch: Fetch) -> str:
    """`M[1][0] -> Mds[1][0]`."""
    return f"{fetch.element} -> {fetch.cell}"


def sum_text(one: Accumulation, *, several: bool) -> str:
    """`PValue += Mds[0][0]*Nds[0][0] + ...`; of a thread with several sums, by the element that each ends in."""
    return f"{one.target if several else 'PValue'} += {one.cells or one.elements}"


def with_several_sums(table: PhaseTable, block: Coordinates) -> frozenset[Coordinates]:
    """The threads of a block that keep more than one sum."""
    targets: dict[Coordinates, set[str]] = {}
    for phase in table.phases:
        entry = block_phase(table, phase.number, block)
        for one in entry.accumulations if entry else ():
            targets.setdefault(one.thread, set()).add(one.target)
    return frozenset(thread for thread, names in targets.items() if len(names) > 1)


def shared_arrays(table: PhaseTable) -> tuple[str, ...]:
    """The shared arrays among `table.matrices`."""
    bases = {_array(fetch) for fetch in _fetches(table)}
    return tuple(name for name in table.matrices if name.split("[", 1)[0] in bases)


def operands(table: PhaseTable) -> tuple[str, ...]:
    """The operands among `table.matrices`: left, right, output as a rule."""
    shared = shared_arrays(table)
    return tuple(name for name in table.matrices if name not in shared)


def thread_header(table: PhaseTable) -> Row:
    """The columns of `thread_rows`: the thread, then for each phase what it brings of each operand, and its sum."""
    columns = [*fetched_operands(table), "sum"]
    phases = [f"phase {phase.number}: {column}" for phase in table.phases for column in columns]
    return (f"thread ({axes(table.launch.block, 't')})", *phases)


def thread_rows(table: PhaseTable, block: Coordinates) -> tuple[Row, ...]:
    """The execution phases of one block, a row for each thread; several entries of a column are joined by "; "."""
    operand_of, several = _padding_operands(table), with_several_sums(table, block)
    entries = [block_phase(table, phase.number, block) for phase in table.phases]
    rows = []
    for thread in _threads(entries):
        row = [course_place(thread, table.launch.block)]
        for entry in entries:
            row.extend(_load_columns(table, entry, thread, operand_of))
            sums = [each for each in entry.accumulations if each.thread == thread] if entry else []
            row.append("; ".join(sum_text(each, several=thread in several) for each in sums))
        rows.append(tuple(row))
    return tuple(rows)


def _load_columns(
    table: PhaseTable,
    entry: BlockPhase | None,
    thread: Coordinates,
    operand_of: Mapping[tuple[str, int | None], str],
) -> list[str]:
    fetches = [fetch for fetch in (entry.fetches if entry else ()) if fetch.thread == thread]
    columns = []
    for operand in fetched_operands(table):
        chosen = [fetch for fetch in fetches if (_operand(fetch) or _guess(fetch, operand_of)) == operand]
        columns.append("; ".join(map(fetch_text, chosen)))
    return columns


def block_header(table: PhaseTable) -> Row:
    """The columns of `block_rows`."""
    return (
        "Tiles loaded by",
        *(f"Block {course_place(each, table.launch.grid)}" for each in block_places(table)),
    )


def block_rows(table: PhaseTable, operand: str) -> tuple[Row, ...]:
    """The elements of an operand that each block loads in each phase: by row and column, then by place in memory."""
    rows = []
    for phase in table.phases:
        entries = {entry.block: entry.fetches for entry in phase.blocks}
        chosen = [
            [fetch for fetch in entries.get(block, ()) if _operand(fetch) == operand]
            for block in block_places(table)
        ]
        if any(chosen):
            rows.append(
                (f"Phase {phase.number} (2D index)", *(_listed(f.element for f in each) for each in chosen))
            )
            rows.append(
                (
                    f"Phase {phase.number} (linearized index)",
                    *(_listed(f.linear for f in each) for each in chosen),
                )
            )
    return tuple(rows)


def _listed(names: Iterable[str]) -> str:
    """Each element once: several threads may bring the same one."""
    return ", ".join(dict.fromkeys(names))


def _fetches(table: PhaseTable) -> Iterator[Fetch]:
    for phase in table.phases:
        for entry in phase.blocks:
            yield from entry.fetches


def _threads(entries: Sequence[BlockPhase | None]) -> list[Coordinates]:
    """The threads that do something, row by row."""
    found: set[Coordinates] = set()
    for entry in filter(None, entries):
        found.update(fetch.thread for fetch in entry.fetches)
        found.update(each.thread for each in entry.accumulations)
    return sorted(found, key=lambda thread: thread[::-1])


def _operand(fetch: Fetch) -> str:
    """The operand that a fetch brings an element of; "" for a padding zero."""
    return "" if fetch.element == PADDING else fetch.element.split("[", 1)[0]


def _padding_operands(table: PhaseTable) -> dict[tuple[str, int | None], str]:
    """Which operand a padding zero stands for: that which goes into the same array, by the same line if possible."""
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
