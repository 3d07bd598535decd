"""Runs a kernel over its whole grid, some blocks at a time."""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kernels.device.access import memory_form
from kernels.device.atomic import atomic_form
from kernels.device.blocks import CodeBlock, code_blocks
from kernels.device.copies import Copies
from kernels.device.counted import CountedLowering, CountedRun
from kernels.device.counts import Counts
from kernels.device.dataflow import maybe_unset
from kernels.device.findings import Findings
from kernels.device.lower import LoweredStep, Lowering
from kernels.device.machine import Geometry, Machine, special_registers
from kernels.device.memory import Shape
from kernels.device.observers.counting import Counting, Numbers
from kernels.device.observers.nothing import NoRaces, NoStores
from kernels.device.observers.races import RaceObserver
from kernels.device.observers.stores import StoreObserver
from kernels.device.observers.unset import UnsetObserver
from kernels.device.placement import Buffer, Layout
from kernels.device.printing import Printer, TrapError
from kernels.device.program import Program
from kernels.device.ptx import Unsupported
from kernels.device.schedule import BudgetSpentError, ChunkRun, Schedule
from kernels.device.values import uniform
from kernels.launch import Launch
from kernels.verdict import Example, Finding, Severity, Verdict

_TOTAL_FACTOR = 20
_FENCE = re.compile(r"membar\.(gl|sys)|fence\.|ld\.acquire|st\.release|atom\.(acquire|release|acq_rel)")
_WARP_BARRIER = re.compile(r"bar\.warp\.sync")
_CHUNK_COST = 200

Wrap = Callable[[LoweredStep], LoweredStep]
"""Puts something round a step, to look on as it runs."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How many instructions any one thread may execute."""

    instructions: int


@dataclass(frozen=True, slots=True)
class Execution:
    """What a run did: what it showed to be wrong, the operands afterwards, what was printed.

    instructions: executed by all threads together
    stored: buffer -> the lines that wrote to it
    state: module variable -> what the kernel left in it, for those that it wrote to
    counts: what was counted, where that was asked for
    """

    findings: tuple[Finding, ...]
    values: Mapping[str, NDArray[np.float32]]
    printed: str
    instructions: int
    stored: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    state: Mapping[str, bytes] = field(default_factory=dict)
    counts: Counts | None = None


class _Prepared:
    """What of a program does not depend on the launch; made once."""

    def __init__(self, program: Program, wrap: Wrap | None = None, *, count: bool = False) -> None:
        self.lowering = CountedLowering(program) if count else Lowering(program)
        self.blocks: dict[int, CodeBlock] = code_blocks(self.lowering)
        if wrap is not None:
            self.blocks = {
                at: replace(block, steps=tuple(map(wrap, block.steps))) for at, block in self.blocks.items()
            }
        self.unset = [program.registers[name] for name in maybe_unset(program)]
        self.lines = tuple(item.line for item in program.instructions)
        self.atomics = frozenset(
            pc for pc, item in enumerate(program.instructions) if atomic_form(item.opcode)
        )
        self.unit = _cell_size(program)
        self.clean: dict[tuple[int, Severity], set[object]] = {}

    def has(self, opcode: re.Pattern[str]) -> bool:
        """Whether the program has an instruction of that kind."""
        return any(opcode.match(item.opcode) for item in self.lowering.program.instructions)

    def counting(self, numbers: Numbers, threads: int) -> Counting | None:
        """What counts a launch, where it is to be counted."""
        if not isinstance(self.lowering, CountedLowering):
            return None
        return Counting(
            numbers.tolist(),
            threads,
            self.lowering.program.instructions,
            self.lowering.flops,
            lambda first: range(first, self.blocks[first].end_pc + 1),
        )


@lru_cache(maxsize=8)
def _prepared(program: Program, count: bool) -> _Prepared:
    return _Prepared(program, count=count)


def _cell_size(program: Program) -> int:
    """Bytes per cell in which races are looked for: words, or bytes where shared memory is touched in bytes."""
    for item in program.instructions:
        form = memory_form(item.opcode)
        if form is not None and form.space in {"shared", "generic"} and form.size < 4:
            return 1
    return 4


def check(program: Program, *, count: bool = False) -> None:
    """Looks at every instruction before anything runs, which is then ready to run, counted or not.

    raise (Unsupported): one is not known
    """
    _prepared(program, count)


def run(
    program: Program,
    launch: Launch,
    arguments: Sequence[str | int | float],
    buffers: Sequence[Buffer],
    *,
    budget: Budget,
    symbols: Mapping[str, str] | None = None,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    state: Mapping[str, bytes] | None = None,
    schedule: Schedule = Schedule.LOCKSTEP,
    warp_races: Severity = Severity.ERROR,
    observe: bool = True,
    count: bool = False,
    blocks: Sequence[int] | None = None,
    wrap: Wrap | None = None,
) -> Execution:
    """Runs a kernel to its end, whatever it does, and says what it showed.

    arguments: one per parameter; a string is the address of the buffer of that name
    symbols: module variable -> name of the buffer that it is
    shapes: the extents of arrays as the source declares them, by their plain names, for naming elements
    state: what an earlier launch left in module variables: they live as long as the module is loaded
    observe: whether to look for races and unset values; bounds are always kept
    count: whether to count accesses, branches and instructions
    blocks: the numbers of the blocks to run; None runs the whole grid
    wrap: what to put round every step, for a run that is looked at closely
    raise (Unsupported): the kernel needs something that the CPU device does not know
    """
    _keep_memory()
    numbers = np.arange(launch.blocks) if blocks is None else np.array(blocks, np.int64)
    prepared = _prepared(program, count) if wrap is None else _Prepared(program, wrap, count=count)
    with np.errstate(all="ignore"):
        return _Launch(prepared, launch, numbers, shapes or {}, budget, observe=observe).execute(
            arguments, buffers, symbols or {}, state or {}, schedule, warp_races
        )


@lru_cache(maxsize=1)
def _keep_memory() -> None:
    """Lets the allocator keep what numpy frees: arrays that come and go would else cost a page fault each page."""
    if sys.platform == "linux":
        library = ctypes.CDLL(None)
        if hasattr(library, "mallopt"):
            for option in (-1, -3):  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD
                library.mallopt(option, 1 << 30)


class _Launch:
    """One launch of a prepared program."""

    def __init__(
        self,
        prepared: _Prepared,
        launch: Launch,
        numbers: Numbers,
        shapes: Mapping[str, tuple[int, ...]],
        budget: Budget,
        *,
        observe: bool,
    ) -> None:
        self._observe = observe
        self._prepared = prepared
        self._program = prepared.lowering.program
        self._launch = launch
        self._numbers = numbers
        self._counting = prepared.counting(numbers, launch.threads)
        self._budget = budget
        self._layout = Layout(self._program, launch, shapes, observe=observe)
        self._findings = Findings()
        self._printer = Printer()
        self._instructions = 0

    def execute(
        self,
        arguments: Sequence[str | int | float],
        buffers: Sequence[Buffer],
        symbols: Mapping[str, str],
        state: Mapping[str, bytes],
        schedule: Schedule,
        warp_races: Severity,
    ) -> Execution:
        self._layout.place(arguments, buffers, symbols, state)
        stores = (StoreObserver if self._observe else NoStores)(
            self._prepared.lines,
            self._prepared.atomics,
            fenced=self._prepared.has(_FENCE),
            warp_synced=self._prepared.has(_WARP_BARRIER),
        )
        if 0 < self._program.most_threads < self._launch.threads:
            self._report_bounds()
            return self._execution(buffers, stores)
        clean = self._prepared.clean.setdefault((self._launch.threads, warp_races), set())
        left = self._budget.instructions * _TOTAL_FACTOR
        try:
            for machine in self._chunks(stores, warp_races, clean):
                if left <= 0:
                    self._report_total()
                    break
                budget = self._budget.instructions
                left -= max(_CHUNK_COST, self._run_chunk(machine, schedule, budget))
        except TrapError:
            pass
        except BudgetSpentError as spent:
            self._report_budget(machine, spent)
        return self._execution(buffers, stores)

    def _execution(self, buffers: Sequence[Buffer], stores: StoreObserver) -> Execution:
        return Execution(
            self._findings.result(),
            {buffer.name: self._layout.contents(buffer) for buffer in buffers},
            self._printer.text(),
            self._instructions,
            {buffer.name: stores.lines_into(buffer.name) for buffer in buffers},
            self._layout.variables(stores.written()),
            None if self._counting is None else self._counting.result(),
        )

    def _report_bounds(self) -> None:
        most, threads = self._program.most_threads, self._launch.threads
        message = (
            f"the kernel is declared with `__launch_bounds__` for blocks of at most {most:,} threads, but is launched"
            f" with {threads:,}"
        )
        self._findings.add(Verdict.RESOURCE_LIMIT, None, 1, lambda: (Example(), message))

    def _run_chunk(self, machine: Machine, schedule: Schedule, budget: int) -> int:
        kind = ChunkRun if self._counting is None else CountedRun
        chunk = kind(self._prepared.lowering, self._prepared.blocks, machine, schedule, budget)
        try:
            chunk.run()
        finally:
            self._instructions += chunk.instructions
            if self._counting is not None:
                self._counting.finish()
        return machine.steps

    def _report_total(self) -> None:
        message = (
            f"{self._launch.blocks:,} blocks of {self._launch.threads:,} threads are far more than this size needs, and"
            " have not come to an end"
        )
        self._findings.add(Verdict.TIME_LIMIT, None, 1, lambda: (Example(), message))

    def _report_budget(self, machine: Machine, spent: BudgetSpentError) -> None:
        def describe() -> tuple[Example, str]:
            block, thread = machine.who(spent.lane)
            message = (
                f"{machine.lane_name(spent.lane)} is still running after {self._budget.instructions:,} instructions,"
                " far more than this size needs: probably a loop that never ends"
            )
            return Example(block, (thread,)), message

        self._findings.add(Verdict.TIME_LIMIT, spent.line, 1, describe)

    # -- chunks -------------------------------------------------------------------------------------------------------

    def _chunks(self, stores: StoreObserver, warp_races: Severity, clean: set[object]) -> Iterator[Machine]:
        columns = self._layout.columns()
        for first in range(0, len(self._numbers), columns):
            numbers = self._numbers[first : first + columns]
            machine = self._machine(
                Geometry(self._launch, Shape(self._launch.threads, len(numbers)), numbers)
            )
            lines = self._prepared.lines
            races = RaceObserver if self._observe else NoRaces
            machine.races = races(machine, lines, warp_races, self._prepared.unit, clean)
            machine.stores = stores
            machine.unset = UnsetObserver(machine, lines)
            for register in self._prepared.unset:
                machine.registers[register] = uniform(0, self._program.widths[register])
                if self._observe:
                    machine.unset.start(register)
            machine.copies = Copies()
            if self._counting is not None:
                self._counting.start(machine, first)
                machine.counting = self._counting
            machine.output = self._printer
            yield machine

    def _machine(self, geometry: Geometry) -> Machine:
        memory = self._layout.chunk(geometry.shape)
        lowering = self._prepared.lowering
        machine = Machine(geometry, memory, self._findings, lowering.count)
        for number, value in lowering.constants.items():
            machine.registers[number] = value
        specials = special_registers(geometry)
        for number, name in lowering.specials.items():
            if name in specials:
                machine.registers[number] = specials[name]
            elif not name.startswith(("%clock", "%globaltimer")):
                raise Unsupported(f"mov {name}", None, f"the CPU device has no register `{name}`")
        for number, (name, offset) in lowering.symbols.items():
            address = self._layout.address(memory, name)
            machine.registers[number] = uniform(address.offset + offset, address.bits)
        return machine
