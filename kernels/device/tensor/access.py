"""The steps that move matrices between memory and the registers of a warp.

A matrix is read and written in pieces of at most 16 bytes, each at the address of one thread, like ordinary vectors. So
all checks of loads and stores hold for it. But the data belong to other threads of the warp. So the search for races
counts each piece as an access of two threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from kernels.device.memory.access import Step
from kernels.device.ptx.pointers import GENERIC_SHIFT
from kernels.device.state.geometry import WARP
from kernels.device.state.machine import Machine, stop
from kernels.device.state.mask import Mask
from kernels.device.state.operands import Place
from kernels.device.state.space import SHARED_BASE
from kernels.device.state.values import INTEGER, Array, Lanes, Value, from_array
from kernels.device.tensor.forms import EIGHT, EightRows, MatrixAccess
from kernels.device.tensor.fragments import Matrices, Words, packed, unpacked
from kernels.device.tensor.requests import Part, part_of
from kernels.device.tensor.warps import Origins, Warps, element_origins, register_origins
from kernels.facts import Mistake

_LARGEST_PIECE = 16
_SHARED = SHARED_BASE >> GENERIC_SHIFT


class Pieces:
    """A matrix in memory as pieces of at most 16 bytes, at most one for each thread at a time.

    lines: of elements side by side
    address, words: registers for the pieces, which no instruction of the kernel uses
    """

    def __init__(self, bits: int, lines: int, line_bytes: int, registers: Sequence[int]) -> None:
        self._bits, self._lines = bits, lines
        size = min(_LARGEST_PIECE, line_bytes)
        self.address, self.words = registers[0], tuple(registers[1 : 1 + size // 4])
        count = lines * line_bytes // size
        self.rounds: list[Part] = []
        for first in range(0, count, WARP):
            line, inside = np.divmod(np.minimum(np.arange(first, first + WARP), count - 1) * size, line_bytes)
            self.rounds.append(part_of(line, inside, min(WARP, count - first)))

    def lines(self, rounds: Sequence[Words]) -> Matrices:
        """The lines from the words of the pieces: warp by word by thread."""
        elements = unpacked(self._in_a_row(rounds), self._bits)
        return elements.reshape(len(elements), self._lines, -1)

    def line_origins(self, rounds: Sequence[Origins]) -> Origins:
        row = self._in_a_row(rounds)
        each = np.repeat(row, 32 // self._bits, axis=1) if self._bits <= 32 else row.reshape(len(row), -1, 2).max(-1)
        return each.reshape(len(row), self._lines, -1)

    def _in_a_row(self, rounds: Sequence[Array]) -> Array:
        pieces = [words[:, :, : part.count].transpose(0, 2, 1) for words, part in zip(rounds, self.rounds, strict=True)]
        return np.concatenate(pieces, axis=1).reshape(len(rounds[0]), -1)

    def by_round(self, lines: Matrices) -> list[Words]:
        """The words of the pieces from the lines."""
        return self._rounds_of(packed(lines.reshape(len(lines), -1), self._bits))

    def origins_by_round(self, lines: Origins) -> list[Origins]:
        row = lines.reshape(len(lines), -1)
        each = row.reshape(len(row), -1, 32 // self._bits).max(-1) if self._bits <= 32 else np.repeat(row, 2, axis=1)
        return self._rounds_of(each)

    def _rounds_of(self, row: Array) -> list[Array]:
        pieces = row.reshape(len(row), -1, len(self.words)).transpose(0, 2, 1)
        padded = np.zeros((len(row), len(self.words), len(self.rounds) * WARP), row.dtype)
        padded[:, :, : pieces.shape[2]] = pieces
        return [np.ascontiguousarray(padded[:, :, first : first + WARP]) for first in range(0, padded.shape[2], WARP)]


class Addresses:
    """The addresses of parts of a matrix from the address of its first element and the distance of its lines.

    bits: of an element, because the distance counts elements
    """

    def __init__(self, base: int, stride: int, bits: int, name: str, line: int | None) -> None:
        self._base, self._stride, self._bits = base, stride, bits
        self._name, self._line = name, line
        self._machine: Machine | None = None
        self._patterns: dict[tuple[Part, int], Lanes] = {}

    def of(self, machine: Machine, part: Part) -> Value:
        base, stride = machine.registers[self._base].integral(), machine.registers[self._stride]
        if stride.lanes is not None:
            distances = stride.dense(np.dtype(np.int32)).astype(np.int64) * self._bits // 8
            line, inside = self._for_all(machine, part)
            return from_array(base.dense(INTEGER[base.bits]).astype(np.int64) + line * distances + inside)
        distance = stride.signed() * self._bits // 8
        if machine is not self._machine:
            # What was found at these addresses holds for one machine.
            self._machine, self._patterns = machine, {}
        key = part, distance
        if key not in self._patterns:
            line, inside = self._for_all(machine, part)
            self._patterns[key] = Lanes(line * distance + inside)
        pattern = self._patterns[key]
        if base.lanes is None:
            return Value(pattern, base.offset, 64)
        lanes = base.lanes
        moved: Lanes = lanes.derive((part, distance), lambda: Lanes(lanes.array.astype(np.int64) + pattern.array))
        return Value(moved, base.offset, 64)

    def _for_all(self, machine: Machine, part: Part) -> tuple[Array, Array]:
        lane = np.arange(machine.shape.threads) % WARP
        return part.line[lane], part.inside[lane]

    def check(self, machine: Machine, warps: Warps) -> None:
        """Refuse an address or a distance that isn't the same in all threads of a warp."""
        for number in (self._base, self._stride):
            lanes = machine.registers[number].integral().lanes
            if lanes is None or lanes.array.shape[0] == 1:
                continue
            if not lanes.derive("alike in warps", partial(_alike, lanes.array)):
                self._refuse_unlike(machine, warps, lanes.array)

    def _refuse_unlike(self, machine: Machine, warps: Warps, array: Array) -> None:
        words = warps.contents([array])[:, 0]
        differ = (words != words[:, :1]).any(axis=1)
        if differ.any():
            lane = warps.first_lane(int(np.flatnonzero(differ)[0]))
            why = f"the threads of a warp give {self._name} different addresses or different distances of its lines"
            stop(machine, self._line, lane, int(differ.sum()) * WARP, why, Mistake.MATRIX)


def _alike(array: Array) -> bool:
    whole = array[: len(array) // WARP * WARP].reshape(-1, WARP, array.shape[1])
    return bool((whole == whole[:, :1]).all())


def matrix_step(
    form: MatrixAccess,
    addresses: Addresses,
    pieces: Pieces,
    where: tuple[int | None, str],
    registers: Sequence[int | None],
    access: Step,
) -> Step:
    """The step of a wmma load or store. access: does it for the pieces of a round, at `pieces.address`."""
    line, name = where
    fragment = form.fragment

    def load(machine: Machine, mask: Mask | None) -> None:
        warps = Warps(machine, mask, line, name)
        addresses.check(machine, warps)
        words, origins = [], []
        for part in pieces.rounds:
            machine.registers[pieces.address] = addresses.of(machine, part)
            access(machine, threads_below(machine, mask, part.count))
            words.append(warps.gather(pieces.words, 32))
            origins.append(warps.origins(pieces.words))
        matrices = pieces.lines(words)
        warps.write(registers, fragment.words(_turned(matrices, form.turned)), mask)
        if machine.unset.origins:
            lines = _line_origins(pieces, origins, words)
            found = None if lines is None else register_origins(fragment, _turned(lines, form.turned))
            warps.note_origins(registers, found, mask)

    def store(machine: Machine, mask: Mask | None) -> None:
        warps = Warps(machine, mask, line, name)
        addresses.check(machine, warps)
        numbers = [number for number in registers if number is not None]
        matrices = fragment.matrices(warps.gather(numbers, fragment.register_bits))
        origins = warps.origins(numbers)
        lines = None if origins is None else _turned(element_origins(fragment, origins), form.turned)
        unset = None if lines is None else pieces.origins_by_round(lines)
        by_round = pieces.by_round(_turned(matrices, form.turned))
        for at, (part, words) in enumerate(zip(pieces.rounds, by_round, strict=True)):
            machine.registers[pieces.address] = addresses.of(machine, part)
            warps.write(pieces.words, words, None)
            if machine.unset.origins:
                warps.note_origins(pieces.words, None if unset is None else unset[at], None)
            access(machine, threads_below(machine, mask, part.count))

    return store if form.store else load


def _turned(matrices: Array, turned: bool) -> Array:
    return np.ascontiguousarray(matrices.swapaxes(1, 2)) if turned else matrices


def threads_below(machine: Machine, mask: Mask | None, count: int) -> Mask | None:
    """The threads of the mask with the first places in their warps."""
    if count == WARP:
        return mask
    return machine.narrow(mask, (np.arange(machine.shape.threads) % WARP < count).reshape(-1, 1))


def _line_origins(pieces: Pieces, origins: Sequence[Origins | None], words: Sequence[Words]) -> Origins | None:
    if all(each is None for each in origins):
        return None
    pairs = zip(origins, words, strict=True)
    return pieces.line_origins([np.zeros(word.shape, np.int32) if each is None else each for each, word in pairs])


def rows_step(
    form: EightRows,
    where: tuple[int | None, str],
    registers: Sequence[int | None],
    words: Sequence[int],
    place: Place,
    access: Step,
) -> Step:
    """The step of `ldmatrix` or `stmatrix`: each thread has the address of one row of a matrix.

    words: the registers of a row; access: loads or stores the rows
    """
    line, name = where
    rows = form.rows

    def access_rows(machine: Machine, mask: Mask | None) -> None:
        some = threads_below(machine, mask, rows)
        if form.space == "generic":
            _check_shared(machine, some, place, line, name)
        access(machine, some)

    def matrices_of(row_words: Words) -> Matrices:
        """Matrices from the words of their rows: warp by word by thread."""
        by_row = np.ascontiguousarray(row_words[:, :, :rows].transpose(0, 2, 1)).reshape(-1, 8, 4)
        return _turned(unpacked(by_row, 16), form.turned)

    def load(machine: Machine, mask: Mask | None) -> None:
        warps = Warps(machine, mask, line, name)
        access_rows(machine, mask)
        loaded, origins = warps.gather(words, 32), warps.origins(words)
        found = EIGHT.words(matrices_of(loaded)).reshape(-1, form.count, WARP)
        warps.write(registers, found, mask)
        if machine.unset.origins:
            warps.note_origins(registers, None if origins is None else _row_origins(form, origins), mask)

    def store(machine: Machine, mask: Mask | None) -> None:
        warps = Warps(machine, mask, line, name)
        numbers = [number for number in registers if number is not None]
        given, origins = warps.gather(numbers, 32), warps.origins(numbers)
        whole = _turned(EIGHT.matrices(given.reshape(-1, 1, WARP)), form.turned)
        by_row = packed(whole, 16).reshape(-1, rows, 4).transpose(0, 2, 1)
        padded = np.zeros((len(by_row), 4, WARP), np.uint32)
        padded[:, :, :rows] = by_row
        warps.write(words, padded, None)
        if machine.unset.origins:
            warps.note_origins(words, None if origins is None else _word_origins(form, origins), None)
        access_rows(machine, mask)

    return store if form.store else load


def _check_shared(machine: Machine, mask: Mask | None, place: Place, line: int | None, name: str) -> None:
    """Refuse generic addresses outside shared memory."""
    value = machine.registers[place.register]
    addresses = np.broadcast_to(value.dense(INTEGER[value.bits]), (machine.shape.threads, machine.shape.blocks))
    lanes = machine.active(mask)
    outside = lanes[addresses.reshape(-1)[lanes].astype(np.int64) + place.displacement >> GENERIC_SHIFT != _SHARED]
    if outside.size:
        why = f"it gives {name} an address outside shared memory"
        stop(machine, line, int(outside[0]), len(outside), why)


def _row_origins(form: EightRows, origins: Origins) -> Origins:
    """The origins of registers from those of the rows' words."""
    by_row = origins[:, :, : form.rows].transpose(0, 2, 1).reshape(-1, 8, 4)
    elements = _turned(np.repeat(by_row, 2, axis=-1), form.turned)
    return register_origins(EIGHT, elements).reshape(-1, form.count, WARP)


def _word_origins(form: EightRows, origins: Origins) -> Origins:
    elements = _turned(element_origins(EIGHT, origins.reshape(-1, 1, WARP)), form.turned)
    by_row = elements.reshape(len(origins), form.rows, 4, 2).max(axis=-1).transpose(0, 2, 1)
    return np.pad(by_row, ((0, 0), (0, 0), (0, WARP - form.rows)))
