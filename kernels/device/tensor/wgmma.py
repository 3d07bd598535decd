"""`wgmma`: products of 64 rows that four warps start together, and that the async proxy computes.

Each warp has 16 rows. Factors in shared memory are described by 64 bits: an address, two distances and a swizzle.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kernels.device.memory.access import Step
from kernels.device.memory.boxes import swizzled
from kernels.device.memory.locate import Site, split
from kernels.device.memory.parts import access_to, note, read_part
from kernels.device.ptx.module import Immediate, Instruction, Malformed, Operand, Register, Unsupported, Vector
from kernels.device.state.accesses import Kind, Part, Transfer
from kernels.device.state.geometry import WARP, WARPGROUP
from kernels.device.state.groups import Grouped
from kernels.device.state.machine import Machine, TrapError, stop
from kernels.device.state.mask import Mask
from kernels.device.state.operands import Operands
from kernels.device.state.product_registers import Rows
from kernels.device.state.space import WRITTEN
from kernels.device.state.unset_values import ADDRESS, BRANCH, landed, spoiled
from kernels.device.state.values import INTEGER, from_array
from kernels.device.tensor.forms import BITS
from kernels.device.tensor.fragments import Fragment, Matrices, Words, unpacked
from kernels.device.tensor.multiplication import Kinds, multiply_add
from kernels.device.tensor.registers import registers_of, report_unfenced
from kernels.device.tensor.warps import Origins, Warps, element_origins, product_origins, register_origins
from kernels.facts import Mistake

Numbers = NDArray[np.int64]

_OPCODE = re.compile(
    r"wgmma\.mma_async\.sync\.aligned\.m64n(?P<n>\d+)k(?P<k>\d+)\.(?P<d>f16|f32|s32)\.(?P<a>\w+)\.(?P<b>\w+)"
    r"(?P<saturates>\.satfinite)?(?P<bits>\.and\.popc)?"
)
COMMIT, FENCE = "wgmma.commit_group.sync.aligned", "wgmma.fence.sync.aligned"
WAIT = "wgmma.wait_group.sync.aligned"
_DEPTH = 256
"""The bits of a row of a factor."""
_ROWS, _WARPS, _PIECE = 16, 4, 16
_WIDTHS = np.array([0, 128, 64, 32])
"""The bytes that the swizzle of a descriptor permutes, by its number."""
_LINE = "wgmma"
_SHARE = 8
"""The columns of a product of one warp. A product takes as long as so many of them."""


@dataclass(frozen=True, slots=True)
class WarpgroupForm:
    """The meaning of an opcode: types, columns of the product, and the depth of one instruction."""

    kinds: Kinds
    n: int
    k: int

    @property
    def d(self) -> Fragment:
        return Fragment(_ROWS, self.n, BITS[self.kinds.d], 2)

    @property
    def a(self) -> Fragment:
        bits = BITS[self.kinds.a]
        return Fragment(_ROWS, self.k, bits, 32 // bits)

    @property
    def operations(self) -> int:
        return 2 * _ROWS * self.n * self.k // WARP

    def shared_bytes(self, *, left: bool) -> int:
        """The bytes that one of the four warps reads from shared memory: its rows of the left factor, if that is there,
        and a quarter of the right one, which all four use.
        """
        return (_ROWS * left + self.n // _WARPS) * _DEPTH // 8


@lru_cache(maxsize=256)
def warpgroup_form(opcode: str) -> WarpgroupForm | None:
    """Parse a product of four warps; None if it isn't one that the device knows."""
    match = _OPCODE.fullmatch(opcode)
    if match is None or not {match["a"], match["b"]} <= BITS.keys():
        return None
    a, n, k = match["a"], int(match["n"]), int(match["k"])
    if k * BITS[a] != _DEPTH or n % 8 or not 8 <= n <= 256:
        return None
    combine = "and" if match["bits"] else ""
    kinds = Kinds(match["d"], a, match["b"], match["d"], bool(match["saturates"]), combine, eights=BITS[a] == 8)
    return WarpgroupForm(kinds, n, k)


@dataclass(frozen=True, slots=True)
class _Factor:
    """A factor in shared memory. across: whether its columns, not its rows, are side by side in memory."""

    register: int
    bits: int
    across: bool


@dataclass(frozen=True, slots=True)
class _Product:
    """One instruction.

    a: the registers of the left factor, or where it is
    adds: the register of the predicate
    signs: of the factors; below 0, each element has the opposite sign
    rows: the rows of `ProductRegisters` with the sums and with the left factor, and the number of all rows
    """

    pc: int
    line: int | None
    form: WarpgroupForm
    targets: tuple[int, ...]
    a: tuple[int, ...] | _Factor
    b: _Factor
    adds: int
    signs: tuple[int, int]
    rows: tuple[Rows, Rows, int]

    @property
    def shape(self) -> int:
        """A number for the shape of the sums."""
        return self.form.n * 64 + BITS[self.form.kinds.d]


def product_step(operands: Operands, pc: int, item: Instruction, rows: Mapping[str, int]) -> Step:
    """The step of one product. Raises Unsupported or Malformed. rows: of `ProductRegisters`, by register."""
    form = warpgroup_form(item.opcode)
    if form is None:
        raise Unsupported(item.opcode, item.line)
    d, left, right, *rest = item.operands
    flags = [operand.value for operand in rest[1:] if isinstance(operand, Immediate)]
    if not isinstance(d, Vector) or len(d.items) != form.d.registers or not isinstance(rest[0], Register | Immediate):
        raise Malformed("a product of four warps of unexpected form")
    signs = (flags[0], flags[1]) if len(flags) > 1 else (1, 1)
    turns = flags[2:]
    targets = tuple(operands.source(part, form.d.register_bits) for part in d.items)
    if isinstance(left, Vector):
        a: tuple[int, ...] | _Factor = tuple(operands.source(part, 32) for part in left.items)
        turns = [0, *turns]
    else:
        a = _Factor(operands.source(left, 64), BITS[form.kinds.a], turns[:1] == [1])
    b = _Factor(operands.source(right, 64), BITS[form.kinds.b], turns[1:2] == [1])
    used = (_rows(d, rows), _rows(left, rows), len(rows))
    product = _Product(pc, item.line, form, targets, a, b, operands.source(rest[0], 1), signs, used)
    return lambda machine, mask: _multiply(machine, mask, product)


def _rows(operand: Operand, rows: Mapping[str, int]) -> Rows:
    parts = operand.items if isinstance(operand, Vector) else ()
    return np.array([rows[part.name] for part in parts if isinstance(part, Register)], np.intp)


def _multiply(machine: Machine, mask: Mask | None, product: _Product) -> None:
    form = product.form
    machine.steps += form.n // _SHARE
    warps = Warps(machine, mask, product.line, "`wgmma`")
    _check(machine, mask, product)
    groups = machine.groups.present(Grouped.PRODUCTS)
    lanes = machine.active(mask)
    machine.groups.begin(Grouped.PRODUCTS, lanes, product.pc)
    sums, factor, rows = product.rows
    unfenced = registers_of(machine, rows).use(sums, factor, product.shape, lanes, groups[lanes])
    if unfenced.size:
        report_unfenced(machine, product.line, unfenced)
    if not machine.multiplies:
        return
    reader = _Reader(machine, mask, warps, product, groups)
    if isinstance(product.a, _Factor):
        a, missing_a = reader.read(product.a, warps.numbers % _WARPS * _ROWS, _ROWS)
    else:
        a, missing_a = form.a.matrices(warps.gather(product.a, 32)), None
        if (found := warps.origins(product.a)) is not None:
            missing_a = element_origins(form.a, spoiled(found))
    b, missing_b = reader.read(product.b, np.zeros(len(a), np.int64), form.n, together=True)
    a, b = (_signed(each, sign, product.b.bits) for each, sign in zip((a, b), product.signs, strict=True))
    before = form.d.matrices(warps.gather(product.targets, form.d.register_bits))
    chosen = machine.registers[product.adds].dense(np.dtype(np.bool_))
    adds = warps.contents([chosen])[:, 0, :1, np.newaxis]
    after = multiply_add(form.kinds, a, b, np.where(adds, before, before.dtype.type(0)))
    missing_c = None
    if machine.unset.any_unset(product.targets, machine.narrow(mask, chosen)):
        missing_c = warps.origins(product.targets)
        assert missing_c is not None
        missing_c = np.where(adds, element_origins(form.d, landed(missing_c)), 0)
    warps.write(product.targets, form.d.words(after), mask)
    if missing_a is not None or missing_b is not None or missing_c is not None:
        origins = product_origins((missing_a, missing_b, missing_c), after.shape)
        warps.note_origins(product.targets, register_origins(form.d, origins), mask)
    else:
        machine.unset.set_alike(product.targets, mask)
    machine.unset.fly(product.targets, product.pc, groups.reshape(machine.shape.threads, -1), mask)


def _check(machine: Machine, mask: Mask | None, product: _Product) -> None:
    """Check that the four warps of each warpgroup start the same product."""
    whole_groups = machine.shape.threads // WARPGROUP
    lanes = machine.active(mask)
    outside = lanes[lanes >= whole_groups * WARPGROUP * machine.shape.blocks]
    if outside.size:
        why = f"`wgmma` needs four whole warps, but the block has no {WARPGROUP} threads from here on"
        stop(machine, product.line, int(outside[0]), len(outside), why, Mistake.MATRIX)
    factors = [factor for factor in (product.a, product.b) if isinstance(factor, _Factor)]
    for register, bits, harm, name in (
        *((factor.register, 64, ADDRESS, "descriptors") for factor in factors),
        (product.adds, 1, BRANCH, "predicates"),
    ):
        if machine.unset.harmful(register, mask) is not None:
            machine.unset.use(register, product.pc, mask, harm)
            raise TrapError
        value = machine.registers[register]
        if value.lanes is None:
            continue
        whole = np.broadcast_to(value.dense(INTEGER[bits]), (machine.shape.threads, machine.shape.blocks))
        by_group = whole[: whole_groups * WARPGROUP].reshape(-1, WARPGROUP, machine.shape.blocks)
        differ = (by_group != by_group[:, :1]).reshape(-1)
        other = lanes[differ[lanes]]
        if other.size:
            why = f"the four warps of a warpgroup give `wgmma` different {name}"
            stop(machine, product.line, int(other[0]), len(other), why, Mistake.MATRIX)


class _Reader:
    """Reads factors of one product from shared memory, in pieces of 16 bytes, as the async proxy does."""

    def __init__(self, machine: Machine, mask: Mask | None, warps: Warps, product: _Product, groups: Numbers) -> None:
        self._machine, self._mask, self._warps = machine, mask, warps
        self._product, self._groups = product, groups
        self._site = Site(product.pc, product.line, "shared", _PIECE, Kind.READ)

    def read(
        self, factor: _Factor, first: Numbers, rows: int, *, together: bool = False
    ) -> tuple[Matrices, Origins | None]:
        """The rows of a factor from `first` on, for each warp, and the origins of unset elements.

        together: whether all four warps read the same. Then each of them reads a quarter.
        """
        described = self._warps.gather([factor.register], 64).view(np.int64)[:, 0, 0]
        addresses = _addresses(self._machine, described, factor, first, rows)
        lanes = np.arange(WARP) + (self._warps.numbers % _WARPS * WARP if together else first * 0)[:, np.newaxis]
        step = WARP * _WARPS if together else WARP
        away = WARP if together else 1
        parts = [self._pieces(addresses, lanes + at, away) for at in range(0, addresses.shape[1], step)]
        readers, whose = self._warps.fours if together else (np.arange(len(first))[:, np.newaxis], slice(None))

        def joined(parts: list[Words]) -> Matrices:
            words = np.concatenate([part[readers].reshape(len(readers), step, -1) for part in parts], axis=1)
            return _elements(words[:, : addresses.shape[1]], factor, rows)[whose]

        found = joined([part for part, _ in parts])
        unset = None
        if any(part is not None for _, part in parts):
            missing = joined([np.zeros_like(part) if missing is None else missing for part, missing in parts])
            unset = np.where(missing != 0, np.int32(self._product.pc + 1), np.int32(0))
        return found, unset

    def _pieces(self, addresses: Numbers, pieces: Numbers, away: int) -> tuple[Words, Words | None]:
        """The words of one piece for each thread of the warps, and a mask of unset bytes. Some threads have none.

        away: the distance to a second thread that reads the same piece
        """
        machine = self._machine
        there = pieces < addresses.shape[1]
        chosen = np.take_along_axis(addresses, np.where(there, pieces, 0), axis=1)
        value = from_array(self._warps.spread(chosen[:, np.newaxis])[0])
        part = self._mask
        if not there.all():
            part = machine.narrow(part, self._warps.spread(there[:, np.newaxis])[0])
        words = np.zeros((machine.shape.lanes, _PIECE // 4), np.uint32)
        missing: Words | None = None
        if part is not None and not part.count:
            return self._by_warp(words), None
        for piece in split(machine, self._site, value, 0, part):
            data, valid = read_part(machine, piece, _PIECE)
            words[piece.lanes] = np.ascontiguousarray(data).view(np.uint32)
            if valid is not None and not valid.all():
                missing = np.zeros_like(words) if missing is None else missing
                missing[piece.lanes] = _missing_bytes(machine, piece)
                bad = np.flatnonzero(~valid)
                element = piece.allocation, int(piece.offsets[bad[0]]), int(piece.lanes[bad[0]])
                machine.unset.note_element(self._product.pc, element)
            told = self._of_two_threads(piece, away)
            note(machine, access_to(told, self._site, Transfer(_LINE, self._groups[told.lanes])))
        return self._by_warp(words), None if missing is None else self._by_warp(missing)

    def _of_two_threads(self, piece: Part, away: int) -> Part:
        """Two threads for each piece, so none has it alone: of the warp with these rows, or of two of the warps."""
        blocks = self._machine.shape.blocks
        odd = piece.lanes // blocks // away % 2
        others = piece.lanes + (away - 2 * away * odd) * blocks
        return Part(piece.allocation, np.tile(piece.offsets, 2), np.concatenate((piece.lanes, others)))

    def _by_warp(self, words: Words) -> Words:
        grid = self._machine.shape.threads, self._machine.shape.blocks
        columns = [words[:, each].reshape(grid) for each in range(words.shape[1])]
        return self._warps.contents(columns).transpose(0, 2, 1)


def _signed(elements: Matrices, sign: int, bits: int) -> Matrices:
    return elements if sign > 0 else elements ^ elements.dtype.type(1 << bits - 1)


def _missing_bytes(machine: Machine, piece: Part) -> Words:
    """For each piece, its words with all bits set in the bytes that no thread has written."""
    assert piece.allocation.flat_valid is not None
    thread, block = np.divmod(piece.lanes[:, np.newaxis], machine.shape.blocks)
    numbers = (piece.offsets >> 2).astype(np.intp)[:, np.newaxis] + np.arange(_PIECE // 4)
    unset = WRITTEN & ~piece.allocation.flat_valid[piece.allocation.position(numbers, thread, block, machine.shape)]
    bits = unset[..., np.newaxis] >> np.arange(4, dtype=np.uint8) & 1
    words: Words = (bits * np.uint8(0xFF)).view(np.uint32)[..., 0]
    return words


def _elements(words: Words, factor: _Factor, rows: int) -> Matrices:
    """The matrices whose pieces these are: warp by piece by word."""
    each = _PIECE * 8 // factor.bits
    elements = unpacked(np.ascontiguousarray(words), factor.bits).reshape(len(words), -1, each)
    if factor.across:  # pieces by depth, then along the rows
        elements = elements.reshape(len(words), _DEPTH // factor.bits, rows // each, each).reshape(len(words), -1, rows)
        elements = np.ascontiguousarray(elements.swapaxes(1, 2))
    found: Matrices = elements.reshape(len(words), rows, -1)
    return found


def _addresses(machine: Machine, described: Numbers, factor: _Factor, first: Numbers, rows: int) -> Numbers:
    """The address of each piece, for each warp."""
    start = (described & 0x3FFF) << 4
    leading, stride = ((described >> shift & 0x3FFF)[:, np.newaxis] << 4 for shift in (16, 32))
    width = _WIDTHS[described >> 62 & 3][:, np.newaxis]
    begins = (described >> 49 & 7)[:, np.newaxis]
    shape = first[:, np.newaxis], rows, width, leading, stride
    offset = _across(factor.bits, *shape) if factor.across else _along(*shape)
    place = swizzled(start[:, np.newaxis] + offset, width, begins)
    shift = np.array([machine.memory.shared_from(int(each)) for each in start.tolist()], np.int64)
    found: Numbers = place + shift[:, np.newaxis]
    return found


def _along(first: Numbers, rows: int, width: Numbers, leading: Numbers, stride: Numbers) -> Numbers:
    """The offset of each piece of rows that are side by side in memory: two for each row."""
    row, half = np.divmod(np.arange(2 * rows), 2)
    row = row + first
    apart = np.where(width > 0, _PIECE, leading)
    offset: Numbers = row // 8 * stride + row % 8 * np.maximum(width, _PIECE) + half * apart
    return offset


def _across(bits: int, first: Numbers, rows: int, width: Numbers, leading: Numbers, stride: Numbers) -> Numbers:
    """The offset of each piece of columns that are side by side in memory: by depth, then along the rows."""
    depth = np.arange(_DEPTH // bits)[:, np.newaxis]
    along = np.arange(rows * bits // 8 // _PIECE) + first * bits // 8 // _PIECE
    # without a swizzle, one piece is a unit, and the two distances change places
    pieces = np.maximum(width // _PIECE, 1)
    outer, inner = np.where(width > 0, (leading, stride), (stride, leading))
    unit = along // pieces * outer + along % pieces * _PIECE
    line = depth % 8 * np.maximum(width, _PIECE)[:, np.newaxis] + depth // 8 * inner[:, np.newaxis]
    found: Numbers = (unit[:, np.newaxis] + line).reshape(len(first), -1)
    return found


# -- groups -----------------------------------------------------------------------------------------------------------


def fence_registers(rows: int) -> Step:
    """Return the step of `wgmma.fence`. rows: of `ProductRegisters`."""
    return lambda machine, mask: registers_of(machine, rows).fence(machine.active(mask))


def commit_products(machine: Machine, mask: Mask | None) -> None:
    """End the present group of products, and begin the next."""
    machine.groups.close(Grouped.PRODUCTS, machine.active(mask))


def wait_for_products(allowed: int, rows: int) -> Step:
    """Return the step that waits for all groups of products except the last `allowed` ones."""

    def wait(machine: Machine, mask: Mask | None) -> None:
        lanes, over = machine.groups.end(Grouped.PRODUCTS, machine.active(mask), allowed)
        machine.races.ended(Transfer(_LINE, over), lanes, WARPGROUP)
        registers_of(machine, rows).wait(lanes, over)
        groups = machine.groups.present(Grouped.PRODUCTS)
        machine.unset.land(groups.reshape(machine.shape.threads, -1), allowed, mask)

    return wait
