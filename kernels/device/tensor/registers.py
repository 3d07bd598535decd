"""Watch other instructions that write to the registers of `wgmma`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from kernels.device.memory.access import Step
from kernels.device.ptx.module import Instruction, Register, Vector
from kernels.device.ptx.program import Program, is_product
from kernels.device.state.findings import Described
from kernels.device.state.machine import Machine
from kernels.device.state.mask import Mask
from kernels.device.state.product_registers import Lanes, ProductRegisters, Rows
from kernels.facts import Facts, Mistake
from kernels.verdict import Example, Verdict


def product_registers(program: Program) -> Mapping[str, int]:
    """Number the registers of products, and all registers that are copied to them."""
    products = [item for item in program.instructions if is_product(item)]
    found = {
        part.name: None
        for item in products
        for operand in item.operands[:2]
        if isinstance(operand, Vector)
        for part in operand.items
        if isinstance(part, Register)
    }
    copies = [pair for item in program.instructions if found and (pair := _copied(item)) is not None]
    while missing := [each for target, source in copies if target in found for each in source if each not in found]:
        found.update(dict.fromkeys(missing))
    return {name: row for row, name in enumerate(found)}


def _copied(item: Instruction) -> tuple[str, tuple[str, ...]] | None:
    """The target and the sources of a move between registers. Two halves that it packs are both sources."""
    if item.head != "mov" or len(item.operands) != 2:
        return None
    target, source = item.operands
    parts = source.items if isinstance(source, Vector) else (source,)
    names = tuple(part.name for part in parts if isinstance(part, Register))
    return (target.name, names) if isinstance(target, Register) and len(names) == len(parts) else None


def registers_of(machine: Machine, rows: int) -> ProductRegisters:
    if machine.products is None:
        machine.products = ProductRegisters(rows, machine.shape.lanes)
    return machine.products


def watched_step(run: Step, pc: int, item: Instruction, rows: Mapping[str, int]) -> Step:
    """Return a step that also notes which registers of products it writes. rows: see `product_registers`."""
    written = np.array([rows[name] for name in item.results if name in rows], np.intp)
    if not written.size or item.head == "wgmma":
        return run
    pair = _copied(item)
    note: Callable[[ProductRegisters, Lanes], Lanes]
    if pair is not None and all(name in rows for name in pair[1]):
        note = partial(_copy, row=rows[pair[0]], sources=np.array([rows[name] for name in pair[1]], np.intp))
    else:
        note = partial(_write, rows=written, moves=item.head == "mov")

    def watched(machine: Machine, mask: Mask | None) -> None:
        busy = note(registers_of(machine, len(rows)), machine.active(mask))
        if busy.size:
            _report_busy(machine, item.line, busy)
        run(machine, mask)

    return watched


def _copy(known: ProductRegisters, lanes: Lanes, *, row: int, sources: Rows) -> Lanes:
    return known.copy(row, sources, lanes)


def _write(known: ProductRegisters, lanes: Lanes, *, rows: Rows, moves: bool) -> Lanes:
    return known.write(rows, lanes, moves=moves)


def _report_busy(machine: Machine, line: int | None, lanes: Lanes) -> None:
    what = "writes to a register that `wgmma` still uses, before `wgmma.wait_group`"
    _report(machine, line, lanes, what, Mistake.TRANSFER)


def report_unfenced(machine: Machine, line: int | None, lanes: Lanes) -> None:
    what = "starts `wgmma` without `wgmma.fence` after the last write to its registers"
    _report(machine, line, lanes, what, Mistake.REGISTER_FENCE)


def _report(machine: Machine, line: int | None, lanes: Lanes, what: str, mistake: Mistake) -> None:
    def describe() -> Described:
        block, thread = machine.geometry.who(int(lanes[0]))
        return Example(block, (thread,)), f"{machine.geometry.lane_name(int(lanes[0]))} {what}.", Facts(mistake)

    machine.findings.add(Verdict.DATA_RACE, line, len(lanes), describe)
