"""How the machine code of sm_80 to sm_90 loads and stores whole matrices.

A factor in shared memory comes like `ldmatrix` brings it: each thread has the address of 16 bytes of a line. Otherwise
each thread accesses the elements that it holds. If these are in different lines, matrices of 16 bits are transposed
between registers and memory, and others are accessed element by element.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from kernels.device.state.geometry import WARP
from kernels.device.state.values import Array
from kernels.device.tensor.forms import EIGHT, MatrixAccess

ROW_BYTES = 16
_LINES = 8


@dataclass(frozen=True, eq=False, slots=True)
class Part:
    """Where threads of a warp access a matrix at once: the line of each thread, and the byte in it.

    count: the threads that take part, from the first one on
    """

    line: Array
    inside: Array
    count: int = WARP


@dataclass(frozen=True, slots=True)
class Requests:
    """The requests of a warp for a whole matrix. width: bytes of each thread."""

    width: int
    parts: tuple[Part, ...]


@lru_cache(maxsize=256)
def requests(form: MatrixAccess) -> Requests:
    """The requests of a load or store. An address that may be in any space is taken to be in global memory."""
    by_rows = form.factor and form.fragment.bits <= EIGHT.bits and (not form.turned or form.fragment.bits == EIGHT.bits)
    return _of_rows(form) if by_rows and form.space == "shared" else _of_elements(form)


def _of_rows(form: MatrixAccess) -> Requests:
    """Requests like those of `ldmatrix`, for four matrices of 16 bits or two others at once."""
    lines = form.lines
    count = min((4 if form.fragment.bits == EIGHT.bits else 2) * _LINES, lines * form.line_bytes // ROW_BYTES)
    place = np.minimum(np.arange(WARP), count - 1)
    pieces = (first + place for first in range(0, lines * form.line_bytes // ROW_BYTES, count))
    return Requests(ROW_BYTES, tuple(part_of(each % lines, each // lines * ROW_BYTES, count) for each in pieces))


def _of_elements(form: MatrixAccess) -> Requests:
    fragment = form.fragment
    if form.turned and fragment.bits == EIGHT.bits:
        fragment = replace(fragment, rows=fragment.columns, columns=fragment.rows, copies=1)
    apart = form.turned and fragment is form.fragment
    together = 1 if apart else fragment.together
    # Registers may hold the matrix several times.
    own = fragment.places[: fragment.registers // fragment.copies].transpose(0, 2, 1).reshape(-1, WARP)[::together]
    row, column = np.divmod(own, fragment.columns)
    line, element = (column, row) if apart else (row, column)
    parts = (part_of(*each) for each in zip(line, element * fragment.bits // 8, strict=True))
    return Requests(together * fragment.bits // 8, tuple(parts))


def part_of(line: Array, inside: Array, count: int = WARP) -> Part:
    return Part(line.reshape(-1, 1), inside.reshape(-1, 1), count)
