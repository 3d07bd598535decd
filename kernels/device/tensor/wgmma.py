"""`wgmma`: products of 64 rows that four warps start together, and that the async proxy computes.

Each warp has 16 rows. Factors in shared memory are described by 64 bits: an address, two distances and a swizzle.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kernels.device.memory.access import Step
from kernels.device.memory.locate import Site, split
from kernels.device.memory.parts import note, read_part
from kernels.device.ptx.module import Immediate, Instruction, Malformed, Register, Unsupported, Vector
from kernels.device.state.accesses import Access, Kind, Transfer
from kernels.device.state.geometry import WARP
from kernels.device.state.machine import Machine, stop
from kernels.device.state.mask import Mask
from kernels.device.state.operands import Operands
from kernels.device.state.values import from_array
from kernels.device.tensor.forms import BITS
from kernels.device.tensor.fragments import Fragment, Matrices, unpacked
from kernels.device.tensor.multiplication import Kinds, multiply_add
from kernels.device.tensor.warps import Warps
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
_WIDTHS = {0: 0, 1: 128, 2: 64, 3: 32}
"""The bytes that the swizzle of a descriptor permutes, by its number."""
_LINE = "wgmma"


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
    negative: bool


@dataclass(frozen=True, slots=True)
class _Product:
    """One instruction. a: the registers of the left factor, or where it is; adds: the register of the predicate."""

    pc: int
    line: int | None
    form: WarpgroupForm
    targets: tuple[int, ...]
    a: tuple[int, ...] | _Factor
    b: _Factor
    adds: int


def product_step(operands: Operands, pc: int, item: Instruction) -> Step:
    """The step of one product. Raises Unsupported or Malformed."""
    form = warpgroup_form(item.opcode)
    if form is None:
        raise Unsupported(item.opcode, item.line)
    d, left, right, *rest = item.operands
    flags = [operand.value for operand in rest[1:] if isinstance(operand, Immediate)]
    if not isinstance(d, Vector) or len(d.items) != form.d.registers or not isinstance(rest[0], Register | Immediate):
        raise Malformed("a product of four warps of unexpected form")
    signs, turns = (flags[:2] or [1, 1]), flags[2:]
    targets = tuple(operands.source(part, form.d.register_bits) for part in d.items)
    if isinstance(left, Vector):
        a: tuple[int, ...] | _Factor = tuple(operands.source(part, 32) for part in left.items)
        turns = [0, *turns]
        if signs[0] < 0:
            raise Unsupported(item.opcode, item.line)
    else:
        a = _Factor(operands.source(left, 64), BITS[form.kinds.a], bool(turns[:1] == [1]), signs[0] < 0)
    b = _Factor(operands.source(right, 64), BITS[form.kinds.b], bool(turns[1:2] == [1]), signs[1] < 0)
    product = _Product(pc, item.line, form, targets, a, b, operands.source(rest[0], 1))
    return lambda machine, mask: _multiply(machine, mask, product)


def _multiply(machine: Machine, mask: Mask | None, product: _Product) -> None:
    form = product.form
    if machine.shape.threads % (_WARPS * WARP):
        why = f"`wgmma` needs blocks of a multiple of {_WARPS * WARP} threads"
        stop(machine, product.line, 0, machine.shape.lanes, why, Mistake.MATRIX)
    warps = Warps(machine, mask, product.line, "`wgmma`")
    if isinstance(product.a, _Factor):
        first = warps.numbers % _WARPS * _ROWS
        a = _read(machine, mask, warps, product, product.a, first, _ROWS)
    else:
        a = form.a.matrices(warps.gather(product.a, 32))
    b = _read(machine, mask, warps, product, product.b, np.zeros(len(a), np.int64), form.n)
    before = form.d.matrices(warps.gather(product.targets, form.d.register_bits))
    adds = warps.contents([machine.registers[product.adds].dense(np.dtype(np.bool_))])[:, 0, 0]
    after = multiply_add(form.kinds, a, b, np.where(adds[:, np.newaxis, np.newaxis], before, before.dtype.type(0)))
    origins = warps.origins(product.targets)
    warps.write(product.targets, form.d.words(after), mask)
    if origins is not None and not adds.all():
        warps.note_origins(product.targets, np.where(adds[:, np.newaxis, np.newaxis], origins, 0), mask)
    grid = machine.shape.threads, machine.shape.blocks
    machine.unset.fly(product.targets, product.pc, _groups(machine).reshape(grid), mask)


def _read(
    machine: Machine, mask: Mask | None, warps: Warps, product: _Product, factor: _Factor, first: Numbers, rows: int
) -> Matrices:
    """The rows of a factor from `first` on, for each warp: read in pieces of 16 bytes by the async proxy."""
    described = warps.gather([factor.register], 64).view(np.int64)[:, 0]
    if (described != described[:, :1]).any():
        lane = warps.first_lane(int(np.flatnonzero((described != described[:, :1]).any(axis=1))[0]))
        why = "the threads of a warp give `wgmma` different descriptors"
        stop(machine, product.line, lane, WARP, why, Mistake.MATRIX)
    addresses = _addresses(machine, product, described[:, 0], factor, first, rows)
    groups = _groups(machine)
    pieces = [
        _read_pieces(machine, mask, warps, product, addresses[:, at : at + WARP], groups)
        for at in range(0, addresses.shape[1], WARP)
    ]
    words = np.concatenate(pieces, axis=1)[:, : addresses.shape[1]]
    each = _PIECE * 8 // factor.bits
    elements = unpacked(words, factor.bits).reshape(len(words), -1, each)
    if factor.across:  # pieces by depth, then along the rows
        elements = elements.reshape(len(words), _DEPTH // factor.bits, rows // each, each).reshape(len(words), -1, rows)
        elements = np.ascontiguousarray(elements.swapaxes(1, 2))
    found: Matrices = elements.reshape(len(words), rows, -1)
    return found ^ found.dtype.type(1 << factor.bits - 1) if factor.negative else found


def _addresses(
    machine: Machine, product: _Product, described: Numbers, factor: _Factor, first: Numbers, rows: int
) -> Numbers:
    """The address of each piece, for each warp."""
    start = (described & 0x3FFF) << 4
    leading, stride = (described >> 16 & 0x3FFF) << 4, (described >> 32 & 0x3FFF) << 4
    mode = described >> 62 & 3
    if (described >> 49 & 7).any() or (mode != mode[:1]).any():
        reason = "A `wgmma` descriptor with a base offset is not emulated."
        raise Unsupported("wgmma.mma_async", product.line, reason)
    width, column = _WIDTHS[int(mode[0])], np.newaxis
    leading, stride = leading[:, column], stride[:, column]
    if factor.across:
        depth = np.arange(_DEPTH // factor.bits)[:, column, column]
        piece = (np.arange(0, rows * factor.bits // 8, _PIECE) // _PIECE)[column, :]
        along = (piece + first[:, column] * factor.bits // 8 // _PIECE)[column]
        if width:
            apart = width // _PIECE
            offset = (
                along // apart * leading[column]
                + along % apart * _PIECE
                + depth % 8 * width
                + depth // 8 * stride[column]
            )
        else:
            offset = along * stride[column] + depth % 8 * _PIECE + depth // 8 * leading[column]
        offset = offset.transpose(1, 0, 2).reshape(len(described), -1)
    else:
        row, half = np.divmod(np.arange(2 * rows), 2)
        row = row + first[:, column]
        if width:
            offset = row // 8 * stride + row % 8 * width + half * _PIECE
        else:
            offset = row // 8 * stride + row % 8 * _PIECE + half * leading
    place = start[:, column] + offset
    if width:
        place = place ^ ((place >> 7 & width // 16 - 1) << 4)
    shift = np.array([machine.memory.shared_from(int(each)) for each in start.tolist()], np.int64)
    found: Numbers = place + shift[:, column]
    return found


def _read_pieces(
    machine: Machine, mask: Mask | None, warps: Warps, product: _Product, addresses: Numbers, groups: Numbers
) -> Matrices:
    """The words of one piece for each thread of the warps; some threads may have none."""
    count = addresses.shape[1]
    padded = np.zeros((len(addresses), 1, WARP), np.int64)
    padded[:, 0, :count] = addresses
    value = from_array(warps.spread(padded)[0])
    part = mask
    if count < WARP:
        part = machine.narrow(mask, (np.arange(machine.shape.threads) % WARP < count).reshape(-1, 1))
    words = np.zeros((machine.shape.lanes, _PIECE // 4), np.uint32)
    site = Site(product.pc, product.line, "shared", _PIECE, Kind.READ)
    for piece in split(machine, site, value, 0, part):
        data, valid = read_part(machine, piece, _PIECE)
        words[piece.lanes] = np.ascontiguousarray(data).view(np.uint32)
        if valid is not None and not valid.all():
            bad = np.flatnonzero(~valid)
            element = piece.allocation, int(piece.offsets[bad[0]]), int(piece.lanes[bad[0]])
            machine.unset.report_memory(product.pc, element, len(bad), verb="reads")
        transfer = Transfer(_LINE, groups[piece.lanes])
        note(machine, Access(site.where, piece.allocation, offsets=piece.offsets, lanes=piece.lanes, transfer=transfer))
    grid = machine.shape.threads, machine.shape.blocks
    return warps.contents([words[:, each].reshape(grid) for each in range(words.shape[1])]).transpose(0, 2, 1)


# -- groups -----------------------------------------------------------------------------------------------------------


def _groups(machine: Machine) -> Numbers:
    if machine.warpgroup_groups is None:
        machine.warpgroup_groups = np.ones(machine.shape.lanes, np.int64)
    return machine.warpgroup_groups


def commit_products(machine: Machine, mask: Mask | None) -> None:
    """End the present group of products, and begin the next."""
    _groups(machine)[machine.active(mask)] += 1


def wait_for_products(allowed: int) -> Step:
    """Return the step that waits for all groups of products except the last `allowed` ones."""

    def wait(machine: Machine, mask: Mask | None) -> None:
        lanes, groups = machine.active(mask), _groups(machine)
        machine.races.ended(Transfer(_LINE, groups[lanes] - 1 - allowed), lanes, WARP)
        machine.unset.land(groups.reshape(machine.shape.threads, -1), allowed, mask)

    return wait
