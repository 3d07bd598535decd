"""A table of phases as plain text, also within a handout."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from itertools import chain

from kernels.evidence import PhaseTable, StageTable
from kernels.phases.handout import HandoutPhases, handout_lines
from kernels.phases.views import (
    Held,
    block_header,
    block_places,
    block_rows,
    course_place,
    fetched_operands,
    held_in,
    thread_header,
    thread_rows,
)
from kernels.rendering.table import table as aligned

Coordinates = tuple[int, int, int]
_MOST_PHASES = 8
_MOST_ROWS = 16
_MOST_BLOCKS = 8
_WIDTH = 100
_NARROWEST_CELL = 30
_STATES = {"ahead": "(copied ahead)", "over": "(left over)"}
_FIGURE = re.compile(r"!\[([^\[\]]*)\]\([^()\s]+\)")


def render_phases(table: PhaseTable, *, width: int = _WIDTH) -> str:
    """The work of each thread of the first block by phase, and the loads of all blocks. width: columns of a line."""
    sizes = ", ".join(f"{name}={value}" for name, value in table.sizes.items())
    parts = [[f"Execution phases at {sizes}, tile {table.tile}"]]
    parts += [_block(table, block, width) for block in block_places(table)[:1]]
    parts += [_loads(table, operand, width) for operand in fetched_operands(table)]
    parts.append(textwrap.wrap(table.note, width) if table.note else [])
    return "\n\n".join("\n".join(part) for part in parts if part)


def render_stages(table: StageTable, *, width: int = _WIDTH) -> str:
    """The tiles in the stages of the first block, when it begins to use the tiles of each phase."""
    sizes = ", ".join(f"{name}={value}" for name, value in table.sizes.items())
    operands = tuple(dict.fromkeys(stage.operand for stage in table.stages))
    rows: list[tuple[str, ...]] = [("phase", "stage", *operands)]
    for phase in table.phases[:_MOST_PHASES]:
        held = held_in(table, phase)
        for row, number in enumerate(sorted({each.stage.number for each in held})):
            tiles = {each.stage.operand: each for each in held if each.stage.number == number}
            cells = (_tile(tiles[name]) if name in tiles else "" for name in operands)
            rows.append(("" if row else str(phase.number), str(number), *cells))
    lines = [
        f"Stages of the first block in this run, at {sizes}, tile {table.tile}",
        *aligned(rows, ">>" + "<" * len(operands)),
    ]
    left = len(table.phases) - _MOST_PHASES
    lines += [f"  ... and {left} more phases; --json has them"] if left > 0 else []
    return "\n".join([*lines, *(textwrap.wrap(table.note, width) if table.note else [])])


def _tile(held: Held) -> str:
    return held.tile if held.state == "current" else f"{held.tile} {_STATES[held.state]}"


def render_handout(handout: str, phases: Sequence[HandoutPhases]) -> str:
    """The handout with each table of phases as text, and the description of each figure in its place."""
    lines = handout_lines(handout)
    for phase in reversed(phases):
        lines[phase.line - 1 : phase.last] = ["```text", *render_phases(phase.table).split("\n"), "```"]
    return _FIGURE.sub(r"Figure: \1", "\n".join(lines))


def _block(table: PhaseTable, block: Coordinates, width: int) -> list[str]:
    header, rows = thread_header(table), thread_rows(table, block)
    step = len(fetched_operands(table)) + 1
    lines = [f"Block {course_place(block, table.launch.grid)}"]
    for number, phase in enumerate(table.phases[:_MOST_PHASES]):
        columns = range(1 + number * step, 1 + (number + 1) * step)
        names = (header[0], *(header[column].partition(": ")[2] for column in columns))
        picked = [(row[0], *(row[column] for column in columns)) for row in rows]
        cells = [tuple(cell.split("; ") for cell in row) for row in picked if any(row[1:])][:_MOST_ROWS]
        shown = [names, *chain.from_iterable(map(_stacked, _narrowed(cells, names, width)))]
        lines += [f"  Phase {phase.number}", *aligned(shown, "<" * (step + 1), indent=4)]
    left = len(rows) - _MOST_ROWS
    lines += [f"  ... and {left} more threads"] if left > 0 else []
    left = len(table.phases) - _MOST_PHASES
    return lines + ([f"  ... and {left} more phases; --json has them"] if left > 0 else [])


def _narrowed(rows: Sequence[tuple[list[str], ...]], names: Sequence[str], width: int) -> list[tuple[list[str], ...]]:
    """The rows with long sums, in the last column, broken before a plus."""
    used = [[name, *chain.from_iterable(row[i] for row in rows)] for i, name in enumerate(names[:-1])]
    taken = sum(max(map(len, cells)) + 2 for cells in used if any(cells[1:]) or cells[0])
    room = max(_NARROWEST_CELL, width - 4 - taken)
    return [(*row[:-1], list(chain.from_iterable(_broken(text, room) for text in row[-1]))) for row in rows]


def _broken(text: str, room: int) -> list[str]:
    """`PValue += a + b` on as many lines as needed; each further line begins with a plus."""
    lines: list[str] = []
    for number, part in enumerate(text.split(" + ")):
        piece = part if not number else f"+ {part}"
        if number and len(lines[-1]) + 1 + len(piece) <= room:
            lines[-1] += f" {piece}"
        else:
            lines.append(piece if not number else f"  {piece}")
    return lines


def _stacked(row: tuple[list[str], ...]) -> list[tuple[str, ...]]:
    """The entries of each cell, one below the other."""
    height = max(map(len, row))
    return [tuple(cell[at] if at < len(cell) else "" for cell in row) for at in range(height)]


def _loads(table: PhaseTable, operand: str, width: int) -> list[str]:
    """The loads of one operand: a row for each phase, a column for each block that fits."""
    header, rows = block_header(table), block_rows(table, operand)
    kept, lines = rows[: 2 * _MOST_PHASES], [f"Elements of {operand} loaded by each block"]
    label = max(len(row[0]) for row in (header, *kept))
    widest = max(len(cell) for row in (header, *kept) for cell in row[1:])
    room = max(_NARROWEST_CELL, width - label - 4)
    across = max(1, (room + 2) // (min(widest, room) + 2))
    last = min(len(header), 1 + _MOST_BLOCKS)
    for first in range(1, last, across):
        chosen = slice(first, min(first + across, last))
        block = [
            each
            for row in (header, *kept)
            for each in _stacked(([row[0]], *(_folded(cell, room) for cell in row[chosen])))
        ]
        lines += aligned(block, "<" * len(block[0]))
    left = len(header) - last
    lines += [f"  ... and {left} more blocks; --json has them"] if left > 0 else []
    left = (len(rows) - len(kept)) // 2
    return lines + ([f"  ... and {left} more phases; --json has them"] if left > 0 else [])


def _folded(text: str, room: int) -> list[str]:
    return [text] if len(text) <= room else textwrap.wrap(text, room, break_long_words=False)
