"""The steps of a machine that compute in registers: arithmetic, moves, warp-wide operations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernels.device.execution import warp
from kernels.device.execution.affine import Affine
from kernels.device.memory.access import Step
from kernels.device.ptx.module import Reached, Refusal
from kernels.device.state.accesses import Strength
from kernels.device.state.geometry import WARP
from kernels.device.state.machine import Machine, stop
from kernels.device.state.mask import Mask
from kernels.device.state.unset_values import BRANCH
from kernels.device.state.values import from_array, narrowed, uniform, widened
from kernels.facts import Mistake


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum or product of floats in registers. See `Operation.exactly`."""

    function: Callable[..., Any]
    target: int
    sources: tuple[int, ...]


def nothing(machine: Machine, mask: Mask | None) -> None:
    """Do nothing: the scheduler does the work, or the instruction has no effect here."""


def guarded(run: Step, number: int, negated: bool) -> Step:
    """Return a step that runs only in threads whose predicate holds."""

    def guarded(machine: Machine, mask: Mask | None) -> None:
        condition = machine.registers[number]
        if condition.lanes is None:
            if bool(condition.offset) != negated:
                run(machine, mask)
            return
        holds = condition.lanes.array
        chosen = machine.narrow(mask, ~holds if negated else holds)
        if chosen is None or chosen.count:
            run(machine, chosen)

    return guarded


def trap_step(line: int | None, why: str, mistake: Mistake) -> Step:
    """Return the step of a trap instruction: the kernel stops itself."""

    def trap(machine: Machine, mask: Mask | None) -> None:
        lanes = machine.active(mask)
        stop(machine, line, int(lanes[0]), len(lanes), why, mistake)

    return trap


def refusal_step(refusal: Refusal, line: int | None) -> Step:
    """Return the step of a feature that isn't emulated. It only fails if threads reach it."""

    def refuse(machine: Machine, mask: Mask | None) -> None:
        raise Reached(refusal.construct, line, refusal.reason)

    return refuse


def callee_step(
    pc: int, line: int | None, target: int, source: int, callees: tuple[int, ...], known: frozenset[int]
) -> Step:
    """Return the step that looks up which function a pointer holds: its number among the callees.

    callees: the addresses of the functions that fit the call
    known: the addresses of all functions
    """

    def find(machine: Machine, mask: Mask | None) -> None:
        machine.unset.use(source, pc, mask, BRANCH)
        address = machine.registers[source].dense(np.dtype(np.int64))
        index = np.full(address.shape, -1, np.int32)
        for number, callee in enumerate(callees):
            index[address == callee] = number
        lost = machine.narrow(mask, index < 0)
        lanes = machine.active(lost)
        if lanes.size:
            at = int(np.broadcast_to(address, (machine.shape.threads, machine.shape.blocks)).flat[lanes[0]])
            what = "a null pointer" if not at else "a pointer that holds no function"
            if at in known:
                what = "a pointer of another type than the function that it holds"
            stop(machine, line, int(lanes[0]), len(lanes), f"it calls through {what}")
        machine.write(target, from_array(index), mask, keep=True)

    return find


def compute_step(
    function: Callable[..., Any],
    short: Affine | None,
    target: int,
    sources: tuple[int, ...],
    dtypes: tuple[np.dtype[Any], ...],
    keep: bool,
) -> Step:
    """Return the usual computing step: one result, and operands of the instruction's width."""
    pairs = tuple(zip(sources, dtypes, strict=True))

    def compute(machine: Machine, mask: Mask | None) -> None:
        registers = machine.registers
        result = function(*[registers[source].dense(dtype) for source, dtype in pairs])
        machine.write(target, from_array(result), mask, keep=keep)

    if short is None:
        return compute

    def compute_shortly(machine: Machine, mask: Mask | None) -> None:
        registers = machine.registers
        value = short(*[registers[source] for source in sources])
        if value is None:
            compute(machine, mask)
        else:
            machine.write(target, value, mask, keep=keep)

    return compute_shortly


def compute_any_step(
    function: Callable[..., Any],
    targets: tuple[int | None, ...],
    widths: tuple[int, ...],
    kinds: tuple[str, ...],
    sources: tuple[int, ...],
    dtypes: tuple[np.dtype[Any], ...],
    negated: tuple[bool, ...],
    keep: bool,
) -> Step:
    """Return a computing step with several results, operands narrower than their registers, or negated predicates."""

    def compute(machine: Machine, mask: Mask | None) -> None:
        arrays = []
        for source, dtype, flipped in zip(sources, dtypes, negated, strict=True):
            value = machine.registers[source]
            bits = 1 if dtype == np.bool_ else dtype.itemsize * 8
            array = narrowed(value, bits).dense(dtype) if value.bits > bits else value.dense(dtype)
            arrays.append(~array if flipped else array)
        result = function(*arrays)
        several = result if isinstance(result, tuple) else (result,)
        for target, width, kind, array in zip(targets, widths, kinds, several, strict=False):
            if target is not None:
                value = from_array(array)
                if value.bits != width:
                    fit = narrowed if value.bits > width else None
                    value = fit(value, width) if fit else widened(value, width, signed=kind[0] == "s")
                machine.write(target, value, mask, keep=keep)

    return compute


def copy_step(target: int, source: int, width: int, keep: bool) -> Step:
    def copy(machine: Machine, mask: Mask | None) -> None:
        value = machine.registers[source]
        if value.bits != width:
            value = narrowed(value, width) if value.bits > width else widened(value, width, signed=False)
        machine.write(target, value, mask, keep=keep)

    return copy


def clock_step(target: int, bits: int, keep: bool) -> Step:
    """Return the step that reads the clock, which is the number of instructions so far."""

    def clock(machine: Machine, mask: Mask | None) -> None:
        machine.write(target, uniform(machine.steps, bits), mask, keep=keep)

    return clock


def pack_step(target: int, pieces: tuple[int, ...], bits: int, keep: bool) -> Step:
    """Return the step that joins small registers into a wide one."""
    part = bits // len(pieces)
    small, whole = np.dtype(f"i{part // 8}"), np.dtype(f"i{bits // 8}")

    def pack(machine: Machine, mask: Mask | None) -> None:
        arrays = np.broadcast_arrays(*(machine.registers[piece].dense(small) for piece in pieces))
        machine.write(target, from_array(np.stack(arrays, axis=-1).view(whole)[..., 0]), mask, keep=keep)

    return pack


def unpack_step(targets: tuple[int | None, ...], source: int, bits: int, keep: bool) -> Step:
    small, whole = np.dtype(f"i{bits // 8 // len(targets)}"), np.dtype(f"i{bits // 8}")

    def unpack(machine: Machine, mask: Mask | None) -> None:
        parts = np.ascontiguousarray(machine.registers[source].dense(whole))[..., np.newaxis].view(small)
        for number, target in enumerate(targets):
            if target is not None:
                machine.write(target, from_array(np.ascontiguousarray(parts[..., number])), mask, keep=keep)

    return unpack


def fence_step(scope: Strength, acquires: bool, releases: bool) -> Step:
    """Return the step of a fence. Memory has one order here, so it only matters for the search for data races."""
    return lambda machine, mask: machine.races.fence(mask, scope, acquires=acquires, releases=releases)


def active_mask_step(target: int | None) -> Step:
    """Return the step of `__activemask`."""

    def active(machine: Machine, mask: Mask | None) -> None:
        machine.asked_who_is_active = True
        if target is not None:
            machine.write(target, from_array(warp.active_mask(machine, mask)), mask, keep=True)

    return active


def elect_step(targets: tuple[int | None, int | None], members: int) -> Step:
    """Return the step that chooses the first of the named lanes that are there: its number, and who is the one."""

    def elect(machine: Machine, mask: Mask | None) -> None:
        present = warp.active_mask(machine, mask).view(np.uint32)
        named = machine.registers[members].dense(np.dtype(np.int32)).view(np.uint32) & present
        lowest = named & (~named + np.uint32(1))
        leader = np.log2(np.maximum(lowest, np.uint32(1))).astype(np.int32)
        lane = np.arange(machine.shape.threads, dtype=np.int32).reshape(-1, 1) % WARP
        for target, array in zip(targets, (leader, lane == leader), strict=True):
            if target is not None:
                machine.write(target, from_array(np.ascontiguousarray(array)), mask, keep=True)

    return elect


def warp_step(
    combine: warp.Combine,
    pc: int,
    line: int | None,
    targets: tuple[int | None, ...],
    sources: tuple[int, ...],
    bits: int,
    *,
    shuffles: bool,
) -> Step:
    """Return a warp-wide step. A shuffle from a thread that doesn't take part gives an unset value."""
    first = np.dtype(np.bool_) if bits == 1 else np.dtype(f"i{bits // 8}")
    pairs = tuple((source, first if at == 0 else np.dtype(np.int32)) for at, source in enumerate(sources))

    def run(machine: Machine, mask: Mask | None) -> None:
        arrays = [machine.registers[source].dense(dtype) for source, dtype in pairs]
        results = combine(machine, mask, arrays)
        for target, array in zip(targets, results, strict=False):
            if target is not None:
                machine.write(target, from_array(array), mask, keep=True)
        origins = machine.unset.origins.get(sources[0])
        if not shuffles:
            machine.unset.use(sources[0], pc, mask, BRANCH)
        elif targets[0] is not None:
            came = None if origins is None else combine(machine, mask, [origins, *arrays[1:]])[0]
            if not results[2].all():
                lanes = np.broadcast_to(np.arange(len(arrays[0]), dtype=np.int32)[:, None] % WARP, arrays[0].shape)
                partners = combine(machine, mask, [np.ascontiguousarray(lanes), *arrays[1:]])[0]
                machine.unset.note_absent(pc, partners, results[2], mask)
            machine.unset.from_shuffle(targets[0], pc, came, results[2], mask)

    return run
