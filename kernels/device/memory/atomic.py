"""Atomic updates of memory, one thread after the other in the order of their numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.device.arithmetic.edges import flushed
from kernels.device.arithmetic.half import elementwise
from kernels.device.arithmetic.rounding.error_terms import odd_sum
from kernels.device.memory.access import Step, scope_of
from kernels.device.memory.locate import Site, split
from kernels.device.memory.parts import note_part, read_part, write_part
from kernels.device.state.accesses import BLIND, OLD, STORE, Kind, Part, Strength
from kernels.device.state.machine import Machine
from kernels.device.state.mask import Mask
from kernels.device.state.operands import Place
from kernels.device.state.space import kind_of
from kernels.device.state.unset_values import ADDRESS, MEMORY
from kernels.device.state.values import Array, from_array

_NAMES = {"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"}
_ORDERS = {"relaxed", "acquire", "release", "acq_rel"}
_SCOPES = {"cta", "cluster", "gpu", "sys"}
_SPACES = {"global", "shared", "shared::cta", "shared::cluster"}
_TYPES: dict[str, np.dtype[Any]] = {
    "u32": np.dtype(np.uint32), "s32": np.dtype(np.int32), "b32": np.dtype(np.uint32), "f32": np.dtype(np.float32),
    "u64": np.dtype(np.uint64), "s64": np.dtype(np.int64), "b64": np.dtype(np.uint64), "f64": np.dtype(np.float64),
    "f16": np.dtype(np.uint16), "f16x2": np.dtype(np.uint32),
    "bf16": np.dtype(np.uint16), "bf16x2": np.dtype(np.uint32),
}  # fmt: skip
_HALVES = {"f16", "bf16", "f16x2", "bf16x2"}
_VECTORS = {"v2": 2, "v4": 4}


@dataclass(frozen=True, slots=True)
class AtomicForm:
    """The meaning of an atomic's opcode.

    name: the update; for 16-bit floats with their type, such as "add.f16x2"
    count: elements of a vector, each updated by itself
    returns: whether the old value is used
    """

    space: str
    name: str
    dtype: np.dtype[Any]
    returns: bool
    strength: Strength
    acquires: bool
    releases: bool
    count: int = 1

    @property
    def flops(self) -> int:
        """The floating-point operations of one thread."""
        if self.name.startswith("add."):
            return 2 if self.name.endswith("x2") else 1
        return self.count if self.name == "add" and self.dtype.kind == "f" else 0


def atomic_form(opcode: str) -> AtomicForm | None:
    """Parse the opcode of an atomic update; return None if it is unknown.

    The compiler and its headers write the parts in different orders.
    """
    verb, *parts = opcode.split(".")
    dtype = _TYPES.get(parts[-1]) if parts else None
    modifiers = set(parts[:-1])
    kind = parts[-1] if parts else ""
    vectors = modifiers & _VECTORS.keys() if kind == "f32" and "add" in modifiers else set()
    rounding = modifiers & {"noftz"} if kind in _HALVES else set()
    names, orders, scopes, spaces = (modifiers & each for each in (_NAMES, _ORDERS, _SCOPES, _SPACES))
    known = len(names) == 1 and max(map(len, (orders, scopes, spaces, vectors))) <= 1
    if verb not in {"atom", "red"} or dtype is None or not known or len(modifiers) != len(parts) - 1:
        return None
    if modifiers - names - orders - scopes - spaces - vectors - rounding:
        return None
    name = names.pop()
    if kind in _HALVES:
        if name != "add" or not rounding:
            return None
        name = f"add.{kind}"
    floating, bitwise = kind[0] == "f" and kind not in _HALVES, kind[0] == "b" and kind not in _HALVES
    if (floating and name != "add") or bitwise != (name in {"and", "or", "xor", "exch", "cas"}):
        return None
    if name in {"inc", "dec"} and kind != "u32":
        return None
    order = "".join(orders)
    return AtomicForm(
        kind_of(spaces.pop()) if spaces else "generic",
        name,
        dtype,
        verb == "atom",
        scope_of("".join(scopes)),
        acquires=order.startswith("acq"),
        releases=order in {"release", "acq_rel"},
        count=_VECTORS[vectors.pop()] if vectors else 1,
    )


@dataclass(frozen=True, slots=True)
class Change:
    """What an atomic does to an element in memory. name: as for an AtomicForm."""

    name: str
    dtype: np.dtype[Any]

    @property
    def text(self) -> str:
        """The change as `Where` names it, if the old value isn't used."""
        return BLIND if self.name in _UNLIKE_OTHERS else f"{self.name}.{self.dtype.str[1:]}"

    def update(self, space: str) -> Callable[..., Any]:
        flushes = self.name == "add" and self.dtype == np.float32 and space == "global"
        return _add_flushed if flushes else _UPDATES[self.name]


_UNLIKE_OTHERS = {"cas", "inc", "dec"}
_BULK_TYPES = {
    "add": ("u32", "s32", "u64", "s64", "f32", "f64", "f16", "bf16"),
    **dict.fromkeys(("min", "max"), ("u32", "s32", "u64", "s64", "f16", "bf16")),
    **dict.fromkeys(("inc", "dec"), ("u32",)),
    **dict.fromkeys(("and", "or", "xor"), ("b32", "b64")),
}


def bulk_change(operation: str, kind: str) -> Change | None:
    """The change of a reduction by the async proxy; None for types that it can't change in this way."""
    if kind not in _BULK_TYPES.get(operation, ()):
        return None
    return Change(f"{operation}.{kind}" if kind in _HALVES else operation, _TYPES[kind])


Running = Callable[..., NDArray[Any]]
"""From a start value and operands: the value that each thread finds in order, and the final value."""


def _increase(old: Array, limit: Array) -> Any:
    return np.where(old >= limit, old.dtype.type(0), old + old.dtype.type(1))


def _decrease(old: Array, limit: Array) -> Any:
    return np.where((old == 0) | (old > limit), limit, old - old.dtype.type(1))


def _add_flushed(old: Array, new: Array) -> Any:
    """Add float32 in global memory. Unlike all other adders, the memory's adder flushes subnormals."""
    return flushed(flushed(old) + flushed(new))


def _half(kind: str, operation: Callable[..., Any]) -> Callable[..., Any]:
    """Change 16-bit floats, alone or in pairs, by their bits."""
    change = elementwise(kind, operation)
    return lambda old, new: np.ascontiguousarray(change(old, new)).view(old.dtype)


_UPDATES: dict[str, Callable[..., Any]] = {
    "add": np.add, "min": np.minimum, "max": np.maximum,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "exch": lambda old, new: new, "inc": _increase, "dec": _decrease,
    "cas": lambda old, expected, new: np.where(old == expected, new, old),
    **{f"add.{kind}": _half(kind, odd_sum) for kind in _HALVES},
    **{f"min.{kind}": _half(kind, np.fmin) for kind in ("f16", "bf16")},
    **{f"max.{kind}": _half(kind, np.fmax) for kind in ("f16", "bf16")},
}  # fmt: skip


def atomic_step(
    form: AtomicForm, pc: int, line: int | None, place: Place, targets: tuple[int | None, ...], sources: tuple[int, ...]
) -> Step:
    """Return the step of an atomic update. `targets` get the old values, one for each element; None if unused."""
    size = form.dtype.itemsize
    effect = Change(form.name, form.dtype)
    change = _change(form, effect, used=any(target is not None for target in targets))
    site = Site(pc, line, form.space, size, Kind.UPDATE, form.strength, change)
    whole = replace(site, size=size * form.count)

    def run(machine: Machine, mask: Mask | None) -> None:
        grid = (machine.shape.threads, machine.shape.blocks)
        for register, harm in ((place.register, ADDRESS), *((source, MEMORY) for source in sources)):
            machine.unset.use(register, pc, mask, harm)
        operands = [
            np.broadcast_to(machine.registers[source].dense(form.dtype), grid).reshape(-1) for source in sources
        ]
        for target in targets:
            if target is not None:
                machine.unset.clear(target, mask)
        turned = machine.turns_atomics()
        olds = [np.zeros(machine.shape.lanes, form.dtype) for _ in targets]
        for each in split(machine, whole, machine.registers[place.register], place.displacement, mask):
            # The reversed schedule shows a result that depends on the order of atomics.
            vector = each.some(slice(None, None, -1)) if turned else each
            for number, old in enumerate(olds):
                part = replace(vector, offsets=vector.offsets + number * size) if number else vector
                given = operands if form.count == 1 else operands[number : number + 1]
                if form.name == "exch":
                    _note_unset(machine, part, site, targets[number], mask)
                else:
                    _check_set(machine, part, site)
                _in_turn(machine, part, _Effect(form.dtype, effect.update(part.allocation.space), given, old))
                # A failed swap writes nothing, so it makes nothing visible to other threads.
                failed = old[part.lanes] != operands[0][part.lanes] if form.name == "cas" else None
                stored = given[0].view(f"u{size}").astype(np.int64) if change == STORE else None
                order = {"acquires": form.acquires, "releases": form.releases}
                note_part(machine, part, site, failed=failed, stored=stored, **order)
        for target, old in zip(targets, olds, strict=True):
            if target is not None:
                machine.write(target, from_array(old.reshape(grid)), mask, keep=True)

    return run


def update_elements(machine: Machine, part: Part, site: Site, change: Change, values: NDArray[Any]) -> None:
    """Update elements, one after the other. values: the operand for each listed access."""
    _check_set(machine, part, site)
    order = slice(None, None, -1) if machine.turns_atomics() else slice(None)
    # Only the block of each copy matters, so any numbers tell the accesses apart.
    place = Part(part.allocation, part.offsets[order], np.arange(len(values)), part.copies(machine.shape)[1][order])
    given = [np.ascontiguousarray(values[order])]
    _in_turn(machine, place, _Effect(change.dtype, change.update(part.allocation.space), given, np.zeros_like(values)))


def _change(form: AtomicForm, effect: Change, *, used: bool) -> str:
    """Return the change as `Where` names it. An exchange whose old value isn't used is a store."""
    if form.name == "exch" and not used:
        return STORE
    return OLD if used else effect.text


def _note_unset(machine: Machine, part: Part, site: Site, target: int | None, mask: Mask | None) -> None:
    """Mark the old values that exchanges find in unset memory. Only the first exchange of a cell can find one."""
    if target is None or part.allocation.flat_valid is None:
        return
    _, valid = read_part(machine, part, site.size)
    if valid is None or valid.all():
        return
    first = np.zeros(len(valid), np.bool_)
    first[np.unique(_cells(machine, part), return_index=True)[1]] = True
    found = np.flatnonzero(first & ~valid)
    missing = np.zeros(machine.shape.lanes, np.bool_)
    missing[part.lanes[found]] = True
    element = part.allocation, int(part.offsets[found[0]]), int(part.lanes[found[0]])
    grid = machine.shape.threads, machine.shape.blocks
    within = machine.narrow(mask, missing.reshape(grid))
    machine.unset.from_memory(target, site.pc, missing.reshape(grid), within, element)


def _check_set(machine: Machine, part: Part, site: Site) -> None:
    if part.allocation.flat_valid is None:
        return
    _, valid = read_part(machine, part, site.size)
    if valid is not None and not valid.all():
        bad = np.flatnonzero(~valid)
        element = part.allocation, int(part.offsets[bad[0]]), int(part.lanes[bad[0]])
        machine.unset.report_memory(site.pc, element, len(bad))


@dataclass(frozen=True, slots=True)
class _Effect:
    """The effect of an atomic update on a value, and the target for each lane's old value."""

    dtype: np.dtype[Any]
    update: Callable[..., Any]
    operands: list[NDArray[Any]]
    old: NDArray[Any]

    def given(self, lanes: NDArray[np.intp]) -> list[NDArray[Any]]:
        return [operand[lanes] for operand in self.operands]


def _cells(machine: Machine, part: Part) -> NDArray[np.int64]:
    """Return a number for each listed thread; two are equal if the threads access the same cell."""
    block = part.copies(machine.shape)[1]
    return part.offsets * machine.shape.blocks + (block if part.allocation.copies else 0)


def _in_turn(machine: Machine, part: Part, effect: _Effect) -> None:
    """Update one thread at a time, in the order of their numbers, for threads with the same address."""
    place = _cells(machine, part)
    order = np.argsort(place, kind="stable")
    ordered = place[order]
    new = np.ones(len(order), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    if new.all():
        _at_once(machine, part, effect)
        return
    starts = np.flatnonzero(new)
    counts = np.diff(starts, append=len(order))
    # One running total for each address takes fewer numpy calls than one round for each thread.
    if effect.update in _RUNNING and len(starts) < counts.max():
        for begin, count in zip(starts, counts, strict=True):
            chosen = order[begin : begin + count]
            _in_one_go(machine, part.some(chosen), effect)
        return
    turn = np.arange(len(order)) - np.repeat(starts, counts)
    by_turn = np.argsort(turn, kind="stable")
    bounds = np.flatnonzero(np.r_[True, np.diff(turn[by_turn]) > 0, True])
    for begin, end in pairwise(bounds):
        chosen = order[by_turn[begin:end]]
        _at_once(machine, part.some(chosen), effect)


def _at_once(machine: Machine, part: Part, effect: _Effect) -> None:
    """Update all at once: all addresses are different."""
    data, _ = read_part(machine, part, effect.dtype.itemsize)
    before = np.ascontiguousarray(data).view(effect.dtype)[:, 0]
    after = effect.update(before, *effect.given(part.lanes)).astype(effect.dtype, copy=False)
    write_part(machine, part, np.ascontiguousarray(after).reshape(-1, 1).view(np.uint8))
    effect.old[part.lanes] = before


def _in_one_go(machine: Machine, part: Part, effect: _Effect) -> None:
    """Update a single address for all threads: each thread finds the result of the threads before it."""
    first = part.some(slice(0, 1))
    data, _ = read_part(machine, first, effect.dtype.itemsize)
    start = np.ascontiguousarray(data).view(effect.dtype)[:, 0]
    found = _RUNNING[effect.update](start, *effect.given(part.lanes))
    write_part(machine, first, found[-1:].reshape(-1, 1).view(np.uint8))
    effect.old[part.lanes] = found[:-1]


def _running(ufunc: np.ufunc) -> Running:
    """Compute running totals in the operands' own type; numpy alone would use a wider type."""

    def totals(start: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
        return ufunc.accumulate(np.concatenate((start, new)), dtype=start.dtype)

    return totals


def _running_flushed(start: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
    """Compute running totals without subnormals. If one occurs, add step by step."""
    given = np.concatenate((start, new))
    totals: NDArray[Any] = np.add.accumulate(given)
    both = np.abs(np.concatenate((given, totals)))
    if not ((both > 0) & (both < np.finfo(np.float32).tiny)).any():
        return totals
    totals[0] = start[0]
    for number in range(1, len(given)):
        totals[number] = _add_flushed(totals[number - 1 : number], given[number : number + 1])[0]
    return totals


def _running_swap(start: NDArray[Any], expected: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
    """Compare and swap: the first thread that finds its expected value sets it for the threads after it."""
    found = np.empty(len(new) + 1, start.dtype)
    value, begin = start[0], 0
    while True:
        matches = np.flatnonzero(expected[begin:] == value)
        end = begin + int(matches[0]) if len(matches) else len(new)
        found[begin : end + 1] = value
        if end == len(new):
            return found
        value, begin = new[end], end + 1
        found[begin] = value


_RUNNING: dict[Callable[..., Any], Running] = {
    **{
        ufunc: _running(ufunc)
        for ufunc in (np.add, np.minimum, np.maximum, np.bitwise_and, np.bitwise_or, np.bitwise_xor)
    },
    _add_flushed: _running_flushed,
    _UPDATES["exch"]: lambda start, new: np.concatenate((start, new)),
    _UPDATES["cas"]: _running_swap,
}
