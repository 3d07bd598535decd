from __future__ import annotations

from collections.abc import Callable

from kernels.judging.compare import Doubles, Mask, Transposed
from kernels.judging.diagnosis.outputs import Diagnosis, all_zero, equal, never_written, not_a_number, where


def _copied(output: Transposed, wrong: Mask) -> Diagnosis | None:
    """The elements of the input in their original order."""
    if equal(output, output.given.reshape(output.actual.shape)):
        given, result = output.names
        return Diagnosis("copied", f"Nothing is transposed: {result} is a plain copy of {given}.")
    return None


def _tiles(output: Transposed, wrong: Mask) -> Diagnosis | None:
    """Half of a tiled transpose: either the tiles change places, or the elements within each tile."""
    tile = output.tile
    rows, columns = output.given.shape
    if rows % tile or columns % tile:
        return None
    tiles = output.given.reshape(rows // tile, tile, columns // tile, tile)
    within: Doubles = tiles.transpose(0, 3, 2, 1).reshape(rows, columns)
    between: Doubles = tiles.transpose(2, 1, 0, 3).reshape(columns, rows)
    if equal(output, within):
        more = "The tiles have to change places too."
        return Diagnosis("tiles_stay", "Each tile is transposed in place.", more)
    if equal(output, between):
        text = "The tiles change places, but no tile is transposed."
        return Diagnosis("tiles_not_transposed", text)
    return None


RULES: tuple[Callable[[Transposed, Mask], Diagnosis | None], ...] = (
    never_written,
    not_a_number,
    _copied,
    _tiles,
    all_zero,
    where,
)
