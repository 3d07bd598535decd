"""Run a kernel over its whole grid, some blocks at a time."""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.device.counting.counting import Counting
from kernels.device.counting.counts import Counts
from kernels.device.execution.blocks import CodeBlock, code_blocks
from kernels.device.execution.counted_run import CountedLowering, CountedMachine, CountedRun
from kernels.device.execution.idle_loops import looks
from kernels.device.execution.lower import LoweredStep, Lowering
from kernels.device.execution.schedule import Budget, BudgetSpentError, ChunkRun, EndlessWaitError, Schedule
from kernels.device.execution.stretches import Stretch
from kernels.device.memory.placement import Argument, Buffer, Layout
from kernels.device.observers.races import RaceObserver
from kernels.device.observers.suspects import SuspectFinder
from kernels.device.ptx.dataflow import maybe_unset
from kernels.device.ptx.module import Reached, Register, Unsupported
from kernels.device.ptx.program import Program
from kernels.device.ptx.thread_dependence import polling_loads
from kernels.device.state.findings import Described, Findings
from kernels.device.state.geometry import Geometry, by_cluster
from kernels.device.state.machine import Machine, TrapError, Unwatched, cluster_registers, special_registers
from kernels.device.state.printer import Printer
from kernels.device.state.space import Shape
from kernels.device.state.unset_values import UnsetObserver
from kernels.device.state.values import uniform
from kernels.facts import Facts, Mistake
from kernels.launch import Launch, cluster_problem, triple
from kernels.verdict import Example, Finding, Severity, Verdict, errors_of
from kernels.wording import lines_named, plural

_TOTAL_FACTOR = 20
_CHUNK_COST = 200
_PLACES = frozenset({"%warpid", "%smid"})
_BRIEF = 20_000
"""Instructions of all threads of a launch that is short enough to run thread by thread."""

_MOST_ALONE = 64
"""Threads of a block that may run one by one to let waits fail."""

_MOST_LATE = 500_000
"""Instructions of all threads of a launch that may run again to let waits fail."""

_MOST_IN_TURN = 64
"""Blocks of a launch that is small enough to run block by block."""

_DOOMED_CHUNKS = 32
"""How many chunks to run of a launch that exceeds its budget, to find other mistakes."""

Wrap = Callable[[LoweredStep], LoweredStep]
"""Wraps a step, to observe it while it runs."""

_RunOnce = Callable[[Unwatched, frozenset[str], Schedule], "_Launch"]
"""Runs the launch with an observer and the variables to follow, in an order."""


@dataclass(frozen=True, slots=True)
class Execution:
    """The results of a run: findings, the operands afterwards, printed output.

    instructions: executed by all threads together
    stored: buffer -> the lines that wrote to it
    state: module variable -> its final content, for variables that the kernel wrote to
    counts: the counts, if requested
    others: runs in other orders of atomics, if the operands differ afterwards
    unordered: two atomics whose order is open, if known and if another order changes operands or finds unset values
    reached: the instruction that isn't emulated and ended the run
    unwritten: for outputs with elements of 8 or 16 bits, the elements that lack a written byte
    valid: the bytes that were written, in the form of `Buffer.valid`
    steps: of the longest chunk, whatever the number of its threads
    """

    findings: tuple[Finding, ...]
    values: Mapping[str, NDArray[Any]]
    printed: str
    instructions: int
    stored: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    state: Mapping[str, bytes] = field(default_factory=dict)
    counts: Counts | None = None
    others: tuple[Execution, ...] = ()
    unordered: Finding | None = None
    reached: Unsupported | None = None
    unwritten: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    valid: Mapping[str, NDArray[np.uint8]] = field(default_factory=dict)
    steps: int = 0

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(errors_of(self.findings))


class _Prepared:
    """The parts of a program that don't depend on the launch, made once."""

    def __init__(self, program: Program, *, count: bool) -> None:
        self.lowering = CountedLowering(program) if count else Lowering(program)
        self.blocks: dict[int, CodeBlock] = code_blocks(self.lowering)
        self.unset = [program.registers[name] for name in maybe_unset(program)]
        self.lines = tuple(item.line for item in program.instructions)
        self.polls = polling_loads(program)
        self.looks = looks(program)
        self.places = tuple(_machine_places(program))
        self.callers = _callers(program)
        self.clean: dict[int, set[object]] = {}
        self.punctual: set[object] = set()

    def wrapped(self, wrap: Wrap) -> _Prepared:
        """The same with every step wrapped, for one run."""
        made = copy(self)
        made.blocks = {at: _wrapped(block, wrap) for at, block in self.blocks.items()}
        made.clean, made.punctual = {}, set()
        return made

    def counting(self, blocks: Sequence[int], threads: int) -> Counting | None:
        """Return the counting of a launch, if requested."""
        if not isinstance(self.lowering, CountedLowering):
            return None
        return Counting(
            blocks,
            threads,
            self.lowering.program.instructions,
            self.lowering.flops,
            self.lowering.tensors,
            lambda first: range(first, self.blocks[first].end_pc + 1),
        )


def _wrapped(block: CodeBlock, wrap: Wrap) -> CodeBlock:
    steps = tuple(map(wrap, block.steps))
    return replace(block, steps=steps, stretches=(Stretch(steps, None),))


def _machine_places(program: Program) -> Iterator[tuple[str, int | None]]:
    """Yield the registers that say where the GPU runs a thread, with the lines that read them."""
    for item in program.instructions:
        for operand in item.operands:
            if isinstance(operand, Register) and operand.name in _PLACES:
                yield operand.name, item.line


def _callers(program: Program) -> Mapping[int | None, tuple[int, ...]]:
    """Return the lines of the kernel that call a helper function, by the helper's line that findings name."""
    found: dict[int | None, set[int]] = {}
    for item in program.instructions:
        if item.call is not None:
            found.setdefault(item.line, set()).add(item.call)
    return {line: tuple(calls) for line, calls in found.items()}


@lru_cache(maxsize=16)
def _prepared(program: Program, count: bool) -> _Prepared:
    return _Prepared(program, count=count)


def check(program: Program, *, count: bool = False) -> None:
    """Check the form of every instruction before anything runs. Afterwards the program is ready to run."""
    _prepared(program, count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to run a launch, and on which memory besides its buffers.

    symbols: module variable -> name of its buffer
    shapes: the extents of arrays in the source, by their plain names, for naming elements
    state: the contents that an earlier launch left in module variables
    observe: whether to look for races and unset values; bounds are always checked
    races: whether to look for races, if `observe`
    count: whether to count accesses, branches and instructions
    blocks: the numbers of the blocks to run; None runs the whole grid
    wrap: wraps every step, to observe it
    watch: gets all events, if nothing looks for races
    sizes: of the case, for messages
    carries: whether a later launch gets all memory, not only values
    multiplies: whether tensor cores change the sums. If not, a large launch can be counted in seconds
    """

    budget: Budget
    symbols: Mapping[str, str] = field(default_factory=dict)
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    state: Mapping[str, bytes] = field(default_factory=dict)
    schedule: Schedule = Schedule.LOCKSTEP
    warp_races: Severity = Severity.ERROR
    observe: bool = True
    races: bool = True
    count: bool = False
    blocks: Sequence[int] | None = None
    wrap: Wrap | None = None
    watch: Unwatched | None = None
    sizes: str = ""
    carries: bool = False
    multiplies: bool = True


def run(
    program: Program, launch: Launch, arguments: Sequence[Argument], buffers: Sequence[Buffer], options: Options
) -> Execution:
    """Run a kernel to its end, whatever it does, and return the results.

    arguments: one per parameter; a string is the address of the buffer with that name
    raise (Unsupported): threads reach a feature that isn't emulated
    """
    _keep_memory()
    count, wrap = options.count, options.wrap
    prepared = _prepared(program, count)
    if wrap is not None:
        prepared = prepared.wrapped(wrap)

    def run_once(races: Unwatched, followed: frozenset[str], order: Schedule) -> _Launch:
        once = _Launch(prepared, launch, options, order)
        once.execute(arguments, buffers, races, followed)
        return once

    with np.errstate(all="ignore"):
        if not (options.observe and options.races):
            names = frozenset(buffer.name for buffer in buffers) if options.watch else frozenset()
            return _whole(run_once(options.watch or Unwatched(), names, options.schedule).result)
        written = frozenset(buffer.name for buffer in buffers if not buffer.initialised)
        return _whole(_Search(prepared, run_once, launch, written, options).result())


def _whole(result: Execution) -> Execution:
    """The result of a run in which threads reached nothing that isn't emulated."""
    last = next((finding for finding in result.findings if finding.kind is Verdict.UNSUPPORTED), None)
    if last is None:
        return result
    reason = result.reached or Unsupported(last.message, last.line, last.message)
    reason.findings = tuple(finding for finding in result.findings if finding.kind is not Verdict.UNSUPPORTED)
    raise reason


def _place_text(name: str) -> tuple[Example, str]:
    return Example(), (
        f"`{name}` says where the GPU happens to run the thread. It may differ in each run. Compute the number that "
        "you need from `threadIdx` and `blockIdx`."
    )


def unset_only(errors: Sequence[Finding]) -> bool:
    """Whether all errors are reads of unset values, which the order of two atomics may explain."""
    return all(finding.kind is Verdict.UNINITIALIZED_READ for finding in errors)


def differ(some: Mapping[str, NDArray[Any]], others: Mapping[str, NDArray[Any]]) -> bool:
    """Whether two runs left different bytes in a buffer."""
    return any(not np.array_equal(values.view(np.uint8), others[name].view(np.uint8)) for name, values in some.items())


def _leaves_other(one: Execution, other: Execution) -> bool:
    """Whether two runs left other memory for a later launch than the operands' values."""
    return one.state != other.state or differ(one.valid, other.valid)


@dataclass(frozen=True, slots=True)
class _Ran:
    """The result of a run in one order.

    old, mixed: see SuspectFinder
    synchronises: whether fences and atomics ordered threads
    asked_who_is_active, failed: see `_Launch`
    """

    result: Execution
    old: bool
    mixed: bool
    synchronises: bool
    asked_who_is_active: bool
    failed: Finding | None

    def other_orders(self) -> Iterator[Schedule]:
        """Yield the orders that may show more. Every two unordered accesses of two warps happen in both orders.

        Within a warp, the lanes take turns only if that is quick.
        """
        if not (self.old or self.mixed or self.synchronises):
            return
        yield Schedule.REVERSED
        if self.old or self.mixed:
            yield Schedule.WARP_SERIAL_REVERSED
        if self.mixed:
            yield Schedule.WARP_SERIAL
        if self.mixed and self.result.instructions <= _BRIEF:
            yield Schedule.THREAD_SERIAL
            yield Schedule.THREAD_SERIAL_REVERSED

    def late_orders(self, threads: int) -> Iterator[Schedule]:
        """Yield orders in which waits fail. `threads` are in a block."""
        yield from (Schedule.WARP_LATE, Schedule.WARP_LATE_REVERSED)
        brief = self.result.instructions <= _BRIEF and threads <= _MOST_ALONE
        if brief and not self.asked_who_is_active:
            yield from (Schedule.THREAD_LATE, Schedule.THREAD_LATE_REVERSED)


@dataclass(frozen=True, slots=True)
class _Search:
    """The search for data races in a launch, and for results that depend on the order of its threads.

    written: the variables that the launch certainly writes to
    """

    prepared: _Prepared
    run_once: _RunOnce
    launch: Launch
    written: frozenset[str]
    options: Options

    def result(self) -> Execution:
        """Run the launch.

        The order of two atomics differs from run to run. If it may decide anything, the launch is repeated in other
        orders. So it is if threads may do more than wait when the phase of a barrier isn't over.
        """
        first = self._in_one_order(self.options.schedule)
        result = first.result
        if errors := result.errors:
            pair = self._unordered() if first.mixed and unset_only(errors) else None
            # The value may only come later, from the atomic that the pair names.
            same = pair is not None and pair.array == errors[0].array
            return replace(result, unordered=pair) if same else result
        result = self._in_other_orders(first)
        if not self.prepared.looks or result.instructions > _MOST_LATE or result.errors or result.others:
            return result
        # Inputs with other values hardly change for what threads wait. So one input of each size is enough.
        case = self.launch, self.options.sizes
        if case not in self.prepared.punctual:
            result = self._with_failed_looks(result, first)
            if not result.errors and not result.others:
                self.prepared.punctual.add(case)
        return result

    def _in_other_orders(self, first: _Ran) -> Execution:
        result = first.result
        others: list[Execution] = []
        for order in first.other_orders():
            if others and order.group == 1:
                break
            if order is Schedule.REVERSED:
                ran = self._in_one_order(order).result
            else:
                once = self.run_once(Unwatched(), frozenset(), order)
                # `__activemask()` may have a single lane, but no kernel expects it.
                if order.group == 1 and once.asked_who_is_active:
                    break
                ran = once.result
            # Blocks may correctly wait for blocks that start first. So an endless wait proves nothing in this order.
            if more := tuple(finding for finding in ran.errors if finding.kind is not Verdict.TIME_LIMIT):
                pair = self._unordered() if unset_only(more) else None
                return replace(result, findings=(*result.findings, *more), unordered=pair)
            if not ran.errors and self._differ(ran, result):
                others.append(ran)
        return replace(result, others=tuple(others), unordered=self._unordered()) if others else result

    def _with_failed_looks(self, result: Execution, first: _Ran) -> Execution:
        """Run the launch again so that threads look at barriers whose phase isn't over."""
        for order in first.late_orders(self.launch.threads):
            again = self._in_one_order(order)
            ran, failed = again.result, again.failed
            # A loop that runs too long may end in another order, but not a wait for a barrier that can't complete.
            more = [each for each in ran.errors if each.kind is not Verdict.TIME_LIMIT or each.facts.incomplete]
            if more:
                found = (_after_failure(each, failed.facts.failed_waits) if failed else each for each in more)
                return replace(result, findings=(*result.findings, *found))
            failed = failed or first.failed
            if failed is not None and not ran.errors and self._differ(ran, result):
                return replace(result, others=(ran,), unordered=failed)
        return result

    def _differ(self, ran: Execution, other: Execution) -> bool:
        return differ(ran.values, other.values) or (self.options.carries and _leaves_other(ran, other))

    def _in_one_order(self, order: Schedule) -> _Ran:
        """Run the launch with its threads in one order."""
        # Signatures of intervals don't name the number of threads in a block.
        clean, written = self.prepared.clean.setdefault(self.launch.threads, set()), self.written
        finder = SuspectFinder(self.prepared.polls, clean)
        first = self.run_once(finder, written, order)
        # Global memory is followed only from the first write on, because inputs are usually never written.
        # Earlier reads need a second run that follows them from the start.
        if first.missed:
            written |= first.missed
            finder = SuspectFinder(self.prepared.polls, clean)
            first = self.run_once(finder, written, order)
        suspects = finder.result()
        ran = partial(
            _Ran, old=finder.old, mixed=finder.mixed, asked_who_is_active=first.asked_who_is_active, failed=first.failed
        )
        if not suspects:
            return ran(first.result, synchronises=False)
        written |= suspects.block.keys() | suspects.grid.keys()
        exact = RaceObserver(self.prepared.lowering.program, self.options.warp_races, suspects)
        try:
            result = self.run_once(exact, written, order).result
        except Unsupported:
            # Threads that wait without end use too many atomics to follow, and that is already known.
            if not any(finding.kind is Verdict.TIME_LIMIT for finding in first.result.findings):
                raise
            result = first.result
        return ran(result, synchronises=exact.relies_on_atomics)

    def _unordered(self) -> Finding | None:
        """Return two atomics whose order is open and that don't commute; None if there are too many to compare."""
        finder = SuspectFinder(self.prepared.polls, set(), by_order=True)
        written = self.written | self.run_once(finder, self.written, self.options.schedule).missed
        suspects = finder.result()
        written |= suspects.block.keys() | suspects.grid.keys()
        exact = RaceObserver(self.prepared.lowering.program, self.options.warp_races, suspects, by_order=True)
        try:
            findings = self.run_once(exact, written, self.options.schedule).result.findings
        except Unsupported:
            return None
        return next((finding for finding in findings if finding.kind is Verdict.ORDER_DEPENDENT), None)


def _after_failure(finding: Finding, lines: tuple[int, ...]) -> Finding:
    """A finding that shows only when a wait at one of these lines fails."""
    message = f"{finding.message} This happens if the wait at {lines_named(lines)} fails."
    return replace(finding, message=message, facts=replace(finding.facts, failed_waits=lines))


def _by(numbers: Sequence[int]) -> str:
    return " x ".join(f"{number:,}" for number in numbers)


@lru_cache(maxsize=1)
def _keep_memory() -> None:
    """Let the allocator keep memory that numpy frees. Otherwise arrays that come and go cost many page faults."""
    if sys.platform == "linux":
        library = ctypes.CDLL(None)
        if hasattr(library, "mallopt"):
            for option in (-1, -3):  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD
                library.mallopt(option, 1 << 30)


class _Launch:
    """One launch of a prepared program. `result` and `missed` exist once it has been executed.

    missed: variables in global memory that were read before the device knew that the kernel writes to them
    asked_who_is_active: whether a thread executed `__activemask()`
    failed: the first wait for a barrier in shared memory after whose failure a thread may do more than repeat it
    """

    result: Execution
    missed: frozenset[str]

    def __init__(self, prepared: _Prepared, launch: Launch, options: Options, schedule: Schedule) -> None:
        self._options, self._schedule = options, schedule
        self._prepared = prepared
        self._program = prepared.lowering.program
        self._asked = launch
        declared = self._program.bounds.cluster
        launch = replace(launch, cluster=triple(declared)) if declared else launch
        blocks = range(launch.blocks) if options.blocks is None else options.blocks
        # Clusters that don't fit never run.
        blocks = blocks if self._bounds_problem() is not None else by_cluster(launch, blocks)
        self._launch = launch
        self._blocks = blocks
        self._counting = prepared.counting(blocks, launch.threads)
        # An endless wait in another order proves nothing, so it needn't be long.
        usual = schedule is options.schedule
        self._budget = options.budget if usual else replace(options.budget, alone=0)
        self._layout = Layout(self._program, launch, options.shapes, observe=options.observe)
        self._findings = Findings(options.sizes, prepared.callers)
        self._printer = Printer()
        self._instructions = self._steps = 0
        self.asked_who_is_active = False
        self.failed: Finding | None = None
        self._reached: Unsupported | None = None

    def execute(
        self, arguments: Sequence[Argument], buffers: Sequence[Buffer], races: Unwatched, followed: frozenset[str]
    ) -> None:
        self._layout.place(arguments, buffers, self._options.symbols, self._options.state, followed)
        for name, line in self._prepared.places:
            self._findings.add(Verdict.ORDER_DEPENDENT, line, 1, partial(_place_text, name), severity=Severity.WARNING)
        problem = self._bounds_problem()
        if problem is not None:
            self._findings.add(Verdict.RESOURCE_LIMIT, None, 1, lambda: problem)
        else:
            self._run(races)
        self.result = self._execution(buffers)
        self.missed = self._layout.missed()

    def _run(self, races: Unwatched) -> None:
        # The budget of one thread can't stop a launch with millions of short blocks.
        left = self._budget.instructions * _TOTAL_FACTOR + self._budget.alone
        if (self._chunk_count() - 1) * _CHUNK_COST >= left:
            left = min(left, _DOOMED_CHUNKS * _CHUNK_COST)
        try:
            for machine in self._chunks(races):
                if left <= 0:
                    self._report_total()
                    break
                # A chunk has a fixed cost in Python, even if its threads return at once.
                left -= max(_CHUNK_COST, self._run_chunk(machine))
        except TrapError:
            races.finish()
        except Reached as reason:
            races.finish()
            self._reached = reason
            text = str(reason)
            self._findings.add(Verdict.UNSUPPORTED, reason.line, 1, lambda: (Example(), text))
        except EndlessWaitError as endless:
            races.finish()
            wait = endless.described
            self._findings.add(Verdict.TIME_LIMIT, endless.line, 1, lambda: wait)
        except BudgetSpentError as spent:
            races.finish()
            self._report_budget(machine, spent)
        races.end(self._findings)

    def _execution(self, buffers: Sequence[Buffer]) -> Execution:
        return Execution(
            self._findings.result(),
            {buffer.name: self._layout.contents(buffer) for buffer in buffers},
            self._printer.text(),
            self._instructions,
            {buffer.name: self._lines(self._layout.writers(buffer)) for buffer in buffers},
            self._layout.variables(),
            None if self._counting is None else self._counting.result(),
            reached=self._reached,
            unwritten=self._layout.unwritten(buffers),
            valid=self._layout.valid(buffers),
            steps=self._steps,
        )

    def _lines(self, pcs: Iterable[int]) -> tuple[int, ...]:
        return tuple(sorted({line for pc in pcs if (line := self._prepared.lines[pc]) is not None}))

    def _bounds_problem(self) -> Described | None:
        """Why the kernel's attributes rule out this launch; None if they don't."""
        bounds, launch = self._program.bounds, self._asked
        if bounds.counts_clusters and math.prod(bounds.cluster) > 1:
            reason = "A launch whose grid counts clusters instead of blocks is not emulated."
            raise Unsupported(".blocksareclusters", None, reason)
        if 0 < bounds.most_threads < launch.threads:
            most = bounds.most_threads
            message = f"`__launch_bounds__` allows blocks of {most:,} threads. This launch has {launch.threads:,}."
            return Example(), message, Facts(Mistake.LAUNCH_BOUNDS)
        if bounds.block and bounds.block != launch.block:
            asked, given = _by(bounds.block), _by(launch.block)
            return Example(), f"`__block_size__` demands blocks of {asked} threads. This launch has {given}."
        if 0 < bounds.most_in_cluster < launch.cluster_blocks:
            message = f"`__launch_bounds__` allows clusters of {plural(bounds.most_in_cluster, 'block')}."
            message += f" This launch has clusters of {launch.cluster_blocks:,}."
            return Example(), message, Facts(Mistake.LAUNCH_BOUNDS)
        problem = cluster_problem(launch, bounds.cluster)
        if bounds.needs_cluster and not bounds.cluster and launch.cluster_blocks == 1:
            problem = "`__cluster_dims__()` leaves the size of a cluster to the launch. Add `cluster=` to its comment."
        return (Example(), problem, Facts(Mistake.CLUSTER_SIZE)) if problem else None

    def _run_chunk(self, machine: Machine) -> int:
        kind = ChunkRun if self._counting is None else CountedRun
        chunk = kind(self._prepared.lowering, self._prepared.blocks, machine, self._schedule, self._budget)
        try:
            chunk.run()
        finally:
            self._instructions += chunk.instructions
            self._steps = max(self._steps, machine.steps)
            self.asked_who_is_active |= machine.asked_who_is_active
            self.failed = self.failed or self._failed(machine)
            if self._counting is not None:
                self._counting.finish()
        return machine.steps

    def _failed(self, machine: Machine) -> Finding | None:
        if not machine.failed:
            return None
        lines, lane = self._lines(machine.failed), next(iter(machine.failed.values()))
        block, thread = machine.geometry.who(lane)
        message = f"{machine.geometry.lane_name(lane)} goes on while the phase of a barrier isn't over."
        example, facts = Example(block, (thread,)), Facts(failed_waits=lines)
        return Finding(Verdict.ORDER_DEPENDENT, message, min(lines, default=None), example=example, facts=facts)

    def _report_total(self) -> None:
        message = f"The launch has {self._launch.blocks:,} blocks and runs too long."
        self._findings.add(Verdict.TIME_LIMIT, None, 1, lambda: (Example(), message))

    def _report_budget(self, machine: Machine, spent: BudgetSpentError) -> None:
        def describe() -> Described:
            block, thread = machine.geometry.who(spent.lane)
            message = (
                f"{machine.geometry.lane_name(spent.lane)} is still running after"
                f" {self._budget.text(spent.instructions)}. Either a loop never ends, or the thread does too much of"
                " the work. Check the loop's condition, and share the work among threads."
            )
            return Example(block, (thread,)), message

        self._findings.add(Verdict.TIME_LIMIT, spent.line, 1, describe)

    # -- chunks -------------------------------------------------------------------------------------------------------

    def _chunk_count(self) -> int:
        return -(-len(self._blocks) // self._layout.columns())

    def _chunks(self, races: Unwatched) -> Iterator[Machine]:
        columns, schedule = self._layout.columns(), self._schedule
        # Blocks of a chunk run side by side. In a serial schedule they take turns, too.
        if schedule.group and not schedule.late and len(self._blocks) <= _MOST_IN_TURN:
            columns = self._launch.cluster_blocks
        backwards = schedule.backwards
        every = range(0, len(self._blocks), columns)
        for first in reversed(every) if backwards else every:
            numbers = np.array(self._blocks[first : first + columns], np.int64)
            machine = self._machine(Geometry(self._launch, Shape(self._launch.threads, len(numbers)), numbers))
            machine.backwards, machine.multiplies = backwards, self._options.multiplies
            machine.alternates = schedule is Schedule.REVERSED
            races.start(machine)
            machine.races = races
            machine.unset = UnsetObserver(machine.geometry, self._findings, self._prepared.lines)
            for register in self._prepared.unset:
                # On a GPU the register holds anything. Zero makes every run the same.
                machine.registers[register] = uniform(0, self._program.widths[register])
                if self._options.observe:
                    machine.unset.start(register)
            if self._counting is not None:
                self._counting.start(machine, first)
            machine.output = self._printer
            yield machine

    def _machine(self, geometry: Geometry) -> Machine:
        memory = self._layout.chunk(geometry.shape)
        lowering = self._prepared.lowering
        machine: Machine
        if self._counting is None:
            machine = Machine(geometry, memory, self._findings, lowering.count)
        else:
            machine = CountedMachine(geometry, memory, self._findings, lowering.count, self._counting)
        for number, value in lowering.constants.items():
            machine.registers[number] = value
        specials = special_registers(geometry)
        if any("cluster" in name for name in lowering.specials.values()):
            specials = {**specials, **cluster_registers(geometry)}
        for number, name in lowering.specials.items():
            if name in specials:
                machine.registers[number] = specials[name]
            elif not name.startswith(("%clock", "%globaltimer")):
                raise Unsupported(f"mov {name}", None, f"The CPU device has no register `{name}`.")
        for number, (name, offset) in lowering.symbols.items():
            address = self._layout.address(memory, name)
            machine.registers[number] = uniform(address.offset + offset, address.bits)
        return machine
