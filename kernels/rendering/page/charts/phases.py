"""Pictures of phases: a block's loads in one phase, its tiles, and the elements that it sums up.

The pictures use the colour of the text, so they fit light and dark pages.
A page may style `.phase-picture .cell` and its kinds `.read`, `.used`, `.kept` and `.summed`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

from kernels.evidence import BlockPhase, PhaseTable
from kernels.phases.views import block_phase, cell_place, course_place, operands, shared_arrays

Coordinates = tuple[int, int, int]
Place = tuple[int, int]

MOST_CELLS = 256
_SIDE = 22
_WIDE = 62
_SWATCH = 16
_GAP = 34
_LEFT, _TOP = 16, 30
_LEGEND_WIDTH = 300
_HIDDEN = 'aria-hidden="true"'
_DASHED = 'fill="none" stroke="currentColor" stroke-opacity="0.7" stroke-dasharray="4 3"'
_ELEMENT = re.compile(r"\b\w++(?:\[\d+\])+")
_KINDS = {
    "read": "loaded into shared memory in this phase",
    "used": "used in this phase",
    "summed": "element that the sum goes into",
}


@dataclass(frozen=True, slots=True)
class Look:
    """How a cell is drawn.

    name: for the style sheet
    mark: a shape as well, for readers who can't tell shades apart
    """

    name: str = ""
    opacity: float = 0.0
    mark: Literal["", "dot", "dashes"] = ""


_LOOKS = {each.name: each for each in (
    Look(), Look("read", 0.34), Look("used", 0.12), Look("kept"), Look("summed", 0.2, "dot")
)}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Grid:
    """A matrix or tile to draw, with kinds and texts of its cells by row and column.

    flat: whether it has one index; a row's label is then its first element
    """

    name: str
    rows: int
    columns: int
    width: int
    kinds: Mapping[Place, str]
    texts: Mapping[Place, str]
    flat: bool = False

    @property
    def extent(self) -> tuple[int, int]:
        """Width and height, including the indices."""
        return _LEFT + self.columns * self.width, _TOP + self.rows * _SIDE


def picture(table: PhaseTable, phase: int, block: Coordinates, prefix: str = "") -> str:
    """One phase of one block (x, y, z) as HTML; "" if it would be empty or too large.

    It has an SVG of the operands, one of the tiles, and the legend. On a narrow page they are one below the other.
    prefix: of its IDs
    """
    work = block_phase(table, phase, block)
    names = operands(table)
    if work is None or not names or any(_cells(table, name) > MOST_CELLS for name in names):
        return ""
    kinds = {name: "used" for accumulation in work.accumulations for name in _ELEMENT.findall(accumulation.elements)}
    kinds |= {fetch.element: "read" for fetch in work.fetches}
    kinds |= {accumulation.target: "summed" for accumulation in work.accumulations}
    placed = _placed([_operand_grid(table, name, kinds) for name in names])
    tiles, y = [], 0
    for tile in _tiles(table, phase, block):
        tiles.append((tile, 0, y))
        y += tile.extent[1] + _GAP // 2
    used = [kind for kind in _KINDS if any(kind in grid.kinds.values() for grid, _, _ in (*placed, *tiles))]
    title = f"Phase {phase} of block {course_place(block, table.launch.grid)}"
    identity = prefix + re.sub(r"\W+", "-", title.lower())
    words = (
        f'<title id="{identity}">{escape(title)}</title><desc id="{identity}-text">{escape(_description(work))}</desc>'
    )
    label = f'role="img" aria-labelledby="{identity} {identity}-text"'
    drawn = _grids(placed, label, words) + (_grids(tiles, _HIDDEN) if tiles else "")
    legend = explained([(_LOOKS[kind], _KINDS[kind]) for kind in used])
    return f'<div class="phase-picture"><div>{drawn}</div>{legend}</div>'


def _placed(grids: list[_Grid]) -> list[tuple[_Grid, int, int]]:
    """The operands with their positions. The output goes to the right of the left operand, below the other."""
    if len(grids) == 3:
        left, right, output = grids
        across, down = left.extent[0] + _GAP, right.extent[1] + _GAP // 2
        return [(left, 0, down), (right, across, 0), (output, across, down)]
    starts = [sum(grid.extent[0] + _GAP for grid in grids[:number]) for number in range(len(grids))]
    return [(grid, start, 0) for grid, start in zip(grids, starts, strict=True)]


def _grids(placed: Sequence[tuple[_Grid, int, int]], label: str, words: str = "") -> str:
    width = max(at + grid.extent[0] for grid, at, _ in placed) + 2
    height = max(at + grid.extent[1] for grid, _, at in placed) + 2
    return drawing(words + "".join(_drawn(grid, x, y) for grid, x, y in placed), width, height, label)


def drawing(body: str, width: int, height: int, label: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        f' {label} font-family="inherit" font-size="11" fill="currentColor" stroke="none">{body}</svg>'
    )


def _description(work: BlockPhase) -> str:
    arrays: dict[str, list[str]] = {}
    for fetch in work.fetches:
        arrays.setdefault(cell_place(fetch.cell)[0], []).append(fetch.element)
    parts = [f"Into {name}: {', '.join(dict.fromkeys(elements))}." for name, elements in arrays.items()]
    targets = dict.fromkeys(accumulation.target for accumulation in work.accumulations)
    if targets:
        parts.append(f"Added to: {', '.join(targets)}.")
    return " ".join(parts)


# -- contents of the cells ---------------------------------------------------------------------------------------------


def _cells(table: PhaseTable, name: str) -> int:
    rows, columns = table.matrices[name]
    return rows * columns


def _operand_grid(table: PhaseTable, name: str, kinds: Mapping[str, str]) -> _Grid:
    rows, columns = table.matrices[name]
    places = {cell_place(element): kind for element, kind in kinds.items()}
    own = {(row, column): kind for (array, row, column), kind in places.items() if array == name}
    return _Grid(name, rows, columns, _SIDE, own, {})


def _tiles(table: PhaseTable, phase: int, block: Coordinates) -> Iterable[_Grid]:
    """The shared arrays while the phase computes. An array with one index is broken at the tile's width."""
    held: dict[str, tuple[str, str]] = {}
    for entry in table.phases:
        work = block_phase(table, entry.number, block)
        if entry.number <= phase and work is not None:
            kind = "read" if entry.number == phase else "kept"
            held |= {fetch.cell: (fetch.element, kind) for fetch in work.fetches}
    for name in shared_arrays(table):
        rows, columns = table.matrices[name]
        across = columns if rows > 1 else min(columns, max(2, table.tile))
        kinds, texts = {}, {}
        for cell, (element, kind) in held.items():
            array, row, column = cell_place(cell)
            if array == name:
                place = divmod(row * columns + column, across)
                kinds[place], texts[place] = kind, element
        if rows * columns <= MOST_CELLS:
            yield _Grid(name, -(-rows * columns // across), across, _WIDE, kinds, texts, flat=rows == 1)


# -- drawing ----------------------------------------------------------------------------------------------------------


def _drawn(grid: _Grid, x: int, y: int) -> str:
    parts = [
        f'<g transform="translate({x} {y})"><text x="{_LEFT}" y="12" font-weight="bold">{escape(grid.name)}</text>'
    ]
    parts += [
        caption(
            _LEFT + column * grid.width + grid.width // 2,
            _TOP - 5,
            f"+{column}" if grid.flat else str(column),
            faint=True,
        )
        for column in range(grid.columns)
    ]
    for row in range(grid.rows):
        parts.append(
            caption(_LEFT // 2 - 1, _TOP + row * _SIDE + 15, str(row * grid.columns if grid.flat else row), faint=True)
        )
        parts += [_cell(grid, row, column) for column in range(grid.columns) if (row, column) in grid.kinds]
    return "".join(parts) + _ruled(grid) + "</g>"


def _ruled(grid: _Grid) -> str:
    """The lines between all cells in one path, because most cells of a large matrix are empty."""
    across, down = grid.columns * grid.width, grid.rows * _SIDE
    rows = "".join(f"M{_LEFT} {_TOP + row * _SIDE}h{across}" for row in range(grid.rows + 1))
    columns = "".join(f"M{_LEFT + column * grid.width} {_TOP}v{down}" for column in range(grid.columns + 1))
    return f'<path class="rule" d="{rows}{columns}" fill="none" stroke="currentColor" stroke-opacity="0.55"/>'


def _cell(grid: _Grid, row: int, column: int) -> str:
    kind = grid.kinds.get((row, column), "")
    x, y = _LEFT + column * grid.width, _TOP + row * _SIDE
    text = grid.texts.get((row, column), "")
    return shaded_box(_LOOKS[kind], x, y, grid.width) + (caption(x + grid.width // 2, y + 15, text) if text else "")


def shaded_box(look: Look, x: int, y: int, width: int, height: int = _SIDE) -> str:
    inner = ""
    if look.mark == "dot":
        inner = f'<circle cx="{x + width // 2}" cy="{y + height // 2}" r="4"/>'
    elif look.mark == "dashes":
        inner = f'<rect x="{x + 3}" y="{y + 3}" width="{width - 6}" height="{height - 6}" {_DASHED}/>'
    return (
        f'<rect class="{f"cell {look.name}".strip()}" x="{x}" y="{y}" width="{width}" height="{height}"'
        f' fill-opacity="{look.opacity}" stroke="currentColor" stroke-opacity="0.55"/>{inner}'
    )


def caption(x: int, y: int, text: str, *, faint: bool = False) -> str:
    look = ' opacity="0.7"' if faint else ""
    return f'<text x="{x}" y="{y}" text-anchor="middle"{look}>{escape(text)}</text>'


def explained(rows: Sequence[tuple[Look, str]]) -> str:
    """A legend: a box of each look with its meaning."""
    drawn = "".join(_explained(look, meaning, 20 * number) for number, (look, meaning) in enumerate(rows))
    return drawing(drawn, _LEGEND_WIDTH, 20 * len(rows), _HIDDEN)


def _explained(look: Look, meaning: str, y: int) -> str:
    box = shaded_box(look, _LEFT, y, _SIDE, _SWATCH)
    return f'{box}<text x="{_LEFT + _SIDE + 8}" y="{y + 12}">{meaning}</text>'
