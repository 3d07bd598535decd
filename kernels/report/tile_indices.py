"""The repair of a product of tiles with incorrect indices, in the words of the source.

The diagnosis proves which cells the kernel multiplies. The source shows whether their use or their store is the cause.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kernels.facts import Facts
from kernels.report.source_facts import code_of_all, line_at, names_in, one_name, reached_names
from kernels.wording import lines_named, listed

_NEEDED = (("ty", "k"), ("k", "tx"))
_PAIR = re.compile(r"\[([^\[\]\n]+)\]\s*\[([^\[\]\n]+)\]")
_FLAT = re.compile(r"\[\s*+(\w++|\([^()\[\]\n]*+\))\s*+\*\s*+(\w++)\s*+\+\s*+([^\[\]\n]++)\]")
_STORE = re.compile(r"\s*=(?!=)([^;]*);")
_MOST_PLACES = 32
_MOST_ARRAYS = 16


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a shared array in the source, by its row and column.

    value: the expression that it stores there, or ""
    width: the factor of the row if the array has one index; "" if it has two
    """

    name: str
    line: int
    row: str
    column: str
    width: str
    value: str

    def repaired(self, row: str, column: str) -> Repair:
        """The repair that makes the source name another cell."""
        return Repair(self.line, self.name, self._text(self.row, self.column), self._text(row, column))

    def _text(self, row: str, column: str) -> str:
        return f"{self.name}[{row} * {self.width} + {column}]" if self.width else f"{self.name}[{row}][{column}]"


@dataclass(frozen=True, slots=True)
class Repair:
    """A cell that the source names incorrectly, and the cell that it needs."""

    line: int
    name: str
    found: str
    needed: str


def repairs(facts: Facts, lines: Sequence[str]) -> tuple[Repair, ...]:
    """What to write instead, so that the product is correct; empty if the source doesn't show it."""
    cells = facts.diagnosis("tile_cells")
    if cells is None:
        return ()
    code = code_of_all(lines)
    used = cells.names[:3], cells.names[3:]
    wrong = [each for each in zip(used, _NEEDED, strict=True) if each[0][1:] != each[1]]
    found = [_of_tile(matrix, (row, column), needed, code) for (matrix, row, column), needed in wrong]
    return tuple(each for of_tile in found for each in of_tile) if all(found) else ()


@dataclass(frozen=True, slots=True)
class ExchangedAxes:
    """The names of an element's row and column, each computed with the other's index, and the lines that do so."""

    row: str
    column: str
    lines: tuple[int, ...]


def exchanged_axes(facts: Facts, lines: Sequence[str]) -> ExchangedAxes | None:
    """What makes each thread load the elements of another one; None if the output or the source doesn't show it."""
    diagonals = facts.diagnosis("tile_diagonals", in_all=True)
    if diagonals is None:
        return None
    code, output = code_of_all(lines), diagonals.names[-1]
    kinds = _Kinds(code)
    for place in re.finditer(rf"\b{re.escape(output)}\s*+{_FLAT.pattern}", code):
        row, _, column = (part.strip() for part in place.groups())
        set_at = [re.search(rf"\b{re.escape(name)}\s*+=(?!=)", code) for name in (row, column)]
        if kinds.of_pair(row, column) == ("tx", "ty") and all(set_at):
            found = {line_at(code, each.start()) for each in set_at if each is not None}
            return ExchangedAxes(row, column, (*sorted(found),))
    return None


def turns_tiles_of_result(facts: Facts) -> bool:
    """Whether each thread multiplies the cells of the thread with exchanged indices."""
    cells = facts.diagnosis("tile_cells")
    return cells is not None and (*cells.names[1:3], *cells.names[4:]) == ("tx", "k", "k", "ty")


def repair_text(found: Sequence[Repair]) -> str:
    """The repairs in words. Of many cells of one array, only the first is quoted."""
    texts = dict.fromkeys(f"`{each.needed}` instead of `{each.found}`" for each in found)
    first = {each.name: each for each in reversed(found)}
    if len(texts) > len(first):
        arrays = listed([f"`{name}`" for name in sorted(first)])
        return f"{repair_text([*reversed(first.values())])} Change the other indices of {arrays} in the same way."
    return f"Write {listed([*texts])} at {lines_named(sorted({each.line for each in found}))}."


def _of_tile(matrix: str, used: tuple[str, str], needed: tuple[str, str], code: str) -> list[Repair]:
    # All cells of the only shared array that the matrix is loaded into; empty if one can't be read
    declared = (line for line in code.split("\n") if "__shared__" in line)
    names = {name for line in declared for name in re.findall(r"\b(\w+)\s*\[", line)}
    loaded = re.compile(rf"\b{re.escape(matrix)}\s*\[")
    arrays = [_cells(name, code) for name in sorted(names)[:_MOST_ARRAYS]]
    tiles = [cells for cells in arrays if any(loaded.search(cell.value) for cell in cells)]
    cells = tiles[0] if len(tiles) == 1 else []
    stores, uses = ([cell for cell in cells if bool(cell.value) is stored] for stored in (True, False))
    kinds = _Kinds(code)
    if not stores or not uses:
        return []
    if all(kinds.of(use) == used for use in uses):
        return _at_uses(uses, stores[0], needed, kinds)
    # A tile that is used correctly, but comes out transposed, is stored transposed.
    if used == needed[::-1] and all(kinds.of(use) == needed for use in uses):
        return [store.repaired(store.column, store.row) for store in stores]
    return []


def _at_uses(uses: Sequence[Cell], store: Cell, needed: tuple[str, str], kinds: _Kinds) -> list[Repair]:
    """Each use with the needed indices. An index that a use lacks is taken from the store."""
    found = []
    for use in uses:
        known = dict(zip(kinds.of(store), (store.row, store.column), strict=True))
        known |= dict(zip(kinds.of(use), (use.row, use.column), strict=True))
        if not set(needed) <= known.keys():
            return []
        found.append(use.repaired(*(known[kind] for kind in needed)))
    return found


class _Kinds:
    """What the indices of a source depend on."""

    def __init__(self, code: str) -> None:
        plain = one_name(code)
        self._of_x = reached_names({"threadIdx_x"}, plain)
        self._of_y = reached_names({"threadIdx_y"}, plain)

    def of(self, cell: Cell) -> tuple[str, str]:
        """For row and column: `tx`, `ty`, `k` for neither, or "" for both."""
        return self.of_pair(cell.row, cell.column)

    def of_pair(self, row: str, column: str) -> tuple[str, str]:
        return self._kind(row), self._kind(column)

    def _kind(self, index: str) -> str:
        names = names_in(one_name(index))
        of_x, of_y = bool(names & self._of_x), bool(names & self._of_y)
        return ("" if of_y else "tx") if of_x else "ty" if of_y else "k"


def _cells(name: str, code: str) -> list[Cell]:
    """All cells of an array, without its declaration; empty if one can't be read."""
    found: list[Cell] = []
    for place in re.finditer(rf"\b{re.escape(name)}\b", code):
        start = code.rfind("\n", 0, place.start()) + 1
        if "__shared__" in code[start : place.start()]:
            continue
        pair, flat = _PAIR.match(code, place.end()), _FLAT.match(code, place.end())
        match = pair or flat
        if match is None or len(found) == _MOST_PLACES:
            return []
        row, width, column = (match[1], "", match[2]) if pair else match.group(1, 2, 3)
        store = _STORE.match(code, match.end())
        line = line_at(code, place.start())
        found.append(Cell(name, line, row.strip(), column.strip(), width, store[1] if store else ""))
    return found
