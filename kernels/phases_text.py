"""A table of phases as plain text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from kernels.evidence import PhaseTable
from kernels.phase_views import (
    block_header,
    block_places,
    block_rows,
    course_place,
    fetched_operands,
    thread_header,
    thread_rows,
)
from kernels.table import table as aligned

Coordinates = tuple[int, int, int]
_MOST_PHASES = 8
_MOST_ROWS = 16
_MOST_BLOCKS = 4


def render_phases(
    table: PhaseTable, blocks: Sequence[Coordinates] | None = None, *, most_rows: int = _MOST_ROWS
) -> str:
    """What each thread of some blocks does, phase by phase, and what each block loads.

    blocks: as x, y, z; None shows the first
    most_rows: how many threads of a block are listed
    """
    chosen = block_places(table)[:1] if blocks is None else blocks
    parts = [_head(table)]
    parts += [_block(table, block, most_rows) for block in chosen]
    parts += [_loads(table, operand) for operand in fetched_operands(table)]
    parts.append([table.note] if table.note else [])
    return "\n\n".join("\n".join(part) for part in parts if part)


def _head(table: PhaseTable) -> list[str]:
    sizes = ", ".join(f"{name} {value}" for name, value in table.sizes.items())
    return [f"Execution phases at {sizes}, tile {table.tile}"]


def _block(table: PhaseTable, block: Coordinates, most_rows: int) -> list[str]:
    """One block: a table for each phase, as wide as a line can be."""
    header, rows = thread_header(table), thread_rows(table, block)
    width = len(fetched_operands(table)) + 1
    lines = [f"Block {course_place(block, table.launch.grid)}"]
    for number, phase in enumerate(table.phases[:_MOST_PHASES]):
        columns = range(1 + number * width, 1 + (number + 1) * width)
        names = (header[0], *(header[column].partition(": ")[2] for column in columns))
        picked = [(row[0], *(row[column] for column in columns)) for row in rows]
        shown = list(chain.from_iterable(map(_stacked, [row for row in picked if any(row[1:])][:most_rows])))
        lines += [f"  Phase {phase.number}", *aligned([names, *shown], "<" * (width + 1), indent=4)]
    left = len(rows) - most_rows
    lines += [f"  ... and {left} more threads"] if left > 0 else []
    left = len(table.phases) - _MOST_PHASES
    return lines + ([f"  ... and {left} more phases"] if left > 0 else [])


def _stacked(row: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Several entries of a cell below each other."""
    cells = [cell.split("; ") for cell in row]
    height = max(map(len, cells))
    return [tuple(cell[at] if at < len(cell) else "" for cell in cells) for at in range(height)]


def _loads(table: PhaseTable, operand: str) -> list[str]:
    """What each block loads of one operand; the phases go down and the blocks across, some blocks at a time."""
    header, rows = block_header(table), block_rows(table, operand)
    lines = [f"Elements of {operand} loaded by each block"]
    for first in range(1, min(len(header), 1 + 4 * _MOST_BLOCKS), _MOST_BLOCKS):
        chosen = slice(first, first + _MOST_BLOCKS)
        block = [(row[0], *row[chosen]) for row in (header, *rows[: 2 * _MOST_PHASES])]
        lines += aligned(block, "<" * len(block[0]))
    left = len(header) - 1 - 4 * _MOST_BLOCKS
    return lines + ([f"  ... and {left} more blocks"] if left > 0 else [])
