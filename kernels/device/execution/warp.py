"""Instructions with which the threads of a warp exchange values: shuffles, votes, matches, reductions."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.device.state.geometry import WARP
from kernels.device.state.machine import Machine
from kernels.device.state.mask import Mask
from kernels.device.state.values import INTEGER, Array

Grid = NDArray[np.bool_]
Combine = Callable[[Machine, Mask | None, list[Array]], tuple[Array, ...]]
_SHUFFLE = re.compile(r"shfl\.sync\.(up|down|bfly|idx)\.b32")
_VOTE = re.compile(r"vote\.sync\.(?:(all|any|uni)\.(pred)|ballot\.(b32))")
_MATCH = re.compile(r"match\.(any|all)\.sync\.b(32|64)")
_REDUCE = re.compile(r"redux\.sync\.(?:(add|min|max)\.([us])32|(and|or|xor)\.b32)")


@dataclass(frozen=True, slots=True)
class WarpForm:
    """The meaning of a warp-wide instruction's opcode.

    results, sources: the widths of its operands in bits; the last source names the threads that must meet
    combine: computes the results; None for a barrier and for `activemask`
    """

    results: tuple[int, ...]
    sources: tuple[int, ...]
    combine: Combine | None = None


def warp_form(opcode: str) -> WarpForm | None:
    """Parse the opcode of a warp-wide instruction; return None if it is unknown."""
    if opcode == "bar.warp.sync":
        return WarpForm((), (32,))
    if opcode == "activemask.b32":
        return WarpForm((32,), ())
    if match := _SHUFFLE.fullmatch(opcode):
        return WarpForm((32, 1), (32, 32, 32, 32), _shuffle(match[1]))
    if match := _VOTE.fullmatch(opcode):
        return WarpForm((1 if match[2] else 32,), (1, 32), _vote(match[1] or "ballot"))
    if match := _MATCH.fullmatch(opcode):
        results = (32,) if match[1] == "any" else (32, 1)
        return WarpForm(results, (int(match[2]), 32), _match(match[1], match[2]))
    if match := _REDUCE.fullmatch(opcode):
        return WarpForm((32,), (32, 32), _reduce(match[1] or match[3], match[2] or "b"))
    return None


def _warps(machine: Machine, array: Array) -> Array:
    """Return the array with axes warp, lane, block. The last warp is filled up."""
    shape = machine.shape
    whole = np.broadcast_to(array, (shape.threads, shape.blocks))
    missing = -shape.threads % WARP
    if missing:
        whole = np.concatenate((whole, np.zeros((missing, shape.blocks), whole.dtype)))
    return np.ascontiguousarray(whole).reshape(-1, WARP, shape.blocks)


def _flat(machine: Machine, array: Array) -> Array:
    return np.ascontiguousarray(array.reshape(-1, machine.shape.blocks)[: machine.shape.threads])


def _present(machine: Machine, mask: Mask | None) -> Grid:
    ones = np.ones((machine.shape.threads, machine.shape.blocks), np.bool_) if mask is None else mask.array
    return _warps(machine, ones)


def _shuffle(mode: str) -> Combine:
    def shuffle(machine: Machine, mask: Mask | None, sources: list[Array]) -> tuple[Array, ...]:
        value, delta, control = (_warps(machine, source.view(INTEGER[32])) for source in sources[:3])
        lane = np.arange(WARP).reshape(1, -1, 1)
        clamp, segment = control & 31, control >> 8 & 31
        first = lane & segment
        last = first | (clamp & ~segment)
        step = delta & 31
        if mode == "up":
            wanted = lane - step
            inside = wanted >= last
        elif mode == "down":
            wanted = lane + step
            inside = wanted <= last
        elif mode == "bfly":
            wanted = lane ^ step
            inside = wanted <= last
        else:
            wanted = first | (step & ~segment)
            inside = wanted <= last
        # PTX gives a lane without a partner its own value.
        partner = np.where(inside, wanted, lane).astype(np.intp)
        given = np.take_along_axis(value, np.broadcast_to(partner, value.shape), axis=1)
        there = np.take_along_axis(_present(machine, mask), np.broadcast_to(partner, value.shape), axis=1)
        inside = np.broadcast_to(inside, value.shape)
        return _flat(machine, given), _flat(machine, inside), _flat(machine, there)

    return shuffle


def _vote(mode: str) -> Combine:
    def vote(machine: Machine, mask: Mask | None, sources: list[Array]) -> tuple[Array, ...]:
        present = _present(machine, mask)
        holds = _warps(machine, sources[0].astype(np.bool_))
        if mode == "ballot":
            return (_flat(machine, np.broadcast_to(_bits(holds & present).view(np.int32), holds.shape)),)
        every = (holds | ~present).all(axis=1, keepdims=True)
        some = (holds & present).any(axis=1, keepdims=True)
        answer = {"all": every, "any": some, "uni": every | ~some}[mode]
        return (_flat(machine, np.broadcast_to(answer, holds.shape)),)

    return vote


def _match(mode: str, bits: str) -> Combine:
    def match(machine: Machine, mask: Mask | None, sources: list[Array]) -> tuple[Array, ...]:
        present = _present(machine, mask)
        value = _warps(machine, sources[0].view(INTEGER[int(bits)]))
        equal = (value[:, :, np.newaxis] == value[:, np.newaxis]) & present[:, np.newaxis]
        bit = (np.uint32(1) << np.arange(WARP, dtype=np.uint32)).reshape(1, 1, -1, 1)
        peers = np.where(equal, bit, np.uint32(0)).sum(axis=2, dtype=np.uint32)
        if mode == "any":
            return (_flat(machine, peers.view(np.int32)),)
        all_equal = (equal | ~present[:, np.newaxis]).all(axis=2)
        return _flat(machine, np.where(all_equal, peers, np.uint32(0)).view(np.int32)), _flat(machine, all_equal)

    return match


def _reduce(name: str, kind: str) -> Combine:
    ufunc = {
        "add": np.add, "min": np.minimum, "max": np.maximum,
        "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    }[name]  # fmt: skip
    dtype = np.dtype(np.int32) if kind == "s" else np.dtype(np.uint32)
    limits = np.iinfo(dtype)
    neutral = {"add": 0, "or": 0, "xor": 0, "and": limits.max if kind != "s" else -1, "min": limits.max,
               "max": limits.min}[name]  # fmt: skip

    def reduce(machine: Machine, mask: Mask | None, sources: list[Array]) -> tuple[Array, ...]:
        value = _warps(machine, sources[0].view(dtype))
        kept = np.where(_present(machine, mask), value, dtype.type(neutral))
        total = ufunc.reduce(kept, axis=1, keepdims=True).astype(dtype)
        return (_flat(machine, np.broadcast_to(total, value.shape).view(np.int32)),)

    return reduce


def active_mask(machine: Machine, mask: Mask | None) -> Array:
    """Return, for each thread, the bits of its warp's threads that are at the same place now."""
    bits = _bits(_present(machine, mask))
    return _flat(machine, np.repeat(bits.view(np.int32), WARP, axis=1))


def _bits(lanes: Grid) -> NDArray[np.uint32]:
    """Return one word for each warp and block, with a bit for each true thread."""
    bit = (np.uint32(1) << np.arange(WARP, dtype=np.uint32)).reshape(1, -1, 1)
    words: NDArray[np.uint32] = np.where(lanes, bit, np.uint32(0)).sum(axis=1, keepdims=True, dtype=np.uint32)
    return words


def all_arrived(machine: Machine, mask: Mask | None, members: Array, gone: Grid) -> Grid:
    """Return the threads of the mask whose members are all here, except members that have exited."""
    present = _present(machine, mask)
    # A full mask names all 32 lanes, also if the block's last warp has fewer threads.
    threads = machine.shape.threads
    lanes = np.arange(-(-threads // WARP) * WARP) < threads
    absent = ~_bits(present | _warps(machine, gone) | ~lanes.reshape(-1, WARP, 1))
    complete = (_warps(machine, members.view(np.uint32)) & absent) == 0
    return _flat(machine, complete & present)


def groups(machine: Machine, mask: Mask | None, members: Array) -> NDArray[np.int64]:
    """Return, for each thread, the number of its group, or -1. A group are the lanes of a warp that name the same
    lanes.

    A lane that doesn't name itself is in no group.
    """
    threads = np.arange(machine.shape.threads, dtype=np.int64).reshape(-1, 1)
    named = members.view(np.uint32)
    meets = (named >> (threads % WARP).astype(np.uint32) & 1).astype(np.bool_)
    if mask is not None:
        meets = meets & mask.array
    numbers: NDArray[np.int64] = np.where(meets, (threads // WARP << WARP) | named, np.int64(-1))
    return numbers
