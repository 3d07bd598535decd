"""Times a kernel at one size: repeats with new inputs and verified outputs, until the median is certain."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Self

from kernels.exercise import InputKind, Operation, Role
from kernels.judging.inputs import factors, output_of, product_types
from kernels.judging.plan import CasePlan
from kernels.measurement.median import FEWEST as FEWEST_OF_INTERVAL
from kernels.measurement.median import TOLERANCE, middle
from kernels.verdict import Finding
from worker.contract.measure_work import Numbers
from worker.gpu.backend import Backend, DeviceFault, FaultKind, Product, Timed, in_library
from worker.gpu.judge.filled_inputs import fill
from worker.gpu.judge.recipes import recipes
from worker.gpu.judge.verification import Judge
from worker.gpu.operands import POISON_WORD, Operands
from worker.gpu.timing.quiet import NOBODY_ELSE, Quiet

FEWEST = 7
"""The fewest repeats, even if the first ones agree."""

FEWEST_IN_BUDGET = 3
"""The fewest repeats if their time budget is over. If one takes longer than the budget, it is the only one."""

_CUBLAS_EVERY, _CUBLAS_FEWEST = 2, 5
_PERMUTATION_EVERY = 4
_WARM_SECONDS, _LOOK_SECONDS, _BLIND_SECONDS = 0.15, 0.004, 0.02
_SAME_CLOCK = 0.01
LONG_MS = 2.0
"""Longer launches are timed while no other process starts or ends on the GPU. This rarely affects shorter ones."""


class Fresh:
    """Random numbers from the parent, which draws them while a kernel runs.

    The reply stays in the pipe until it is read. So nothing in this process holds the number for checking a launch
    before the launch has ended.

    ask: asks for numbers, and returns a function that reads the reply
    """

    def __init__(self, ask: Callable[[], Callable[[], Numbers]]) -> None:
        self._ask = ask
        self._reply: Callable[[], Numbers] | None = ask()
        self._inputs: int | None = None

    def inputs(self) -> int:
        """The number for the next inputs, which stays the same until the next `vector`."""
        if self._inputs is None:
            self.vector()
        assert self._inputs is not None
        return self._inputs

    def order(self) -> None:
        """Ask for the next numbers. Do so just before a launch."""
        if self._reply is None:
            self._reply = self._ask()

    def vector(self) -> int:
        """The number for checking the launch that has just ended. Also renews the number for inputs."""
        self.order()
        assert self._reply is not None
        numbers, self._reply = self._reply(), None
        self._inputs = numbers.inputs
        return numbers.vector

    def close(self) -> None:
        """Read the reply that a failed launch has left."""
        if self._reply is not None:
            self.vector()


@dataclass(frozen=True, slots=True)
class Bench:
    """The tools for measuring all sizes.

    launch_seconds: a longer launch counts as endless
    quiet: keeps starts of other processes apart from long launches
    clock_mhz: of the device after the work before; 0 if there was none
    now: a clock in seconds
    """

    backend: Backend
    judge: Judge
    fresh: Fresh
    launch_seconds: float
    quiet: Quiet = NOBODY_ELSE
    clock_mhz: int = 0
    now: Callable[[], float] = field(default=time.perf_counter)


@dataclass(frozen=True, slots=True)
class Effort:
    """Limits for the repeats of one size.

    seconds: for all together, except for a few that always run
    most: limit for the number, even if the median isn't certain
    fewest: if there is time for them
    together_ms: the least time of all launches, because short ones vary most
    interval: the distance of the interval's ends from the median, as a share, that is certain enough
    """

    seconds: float
    most: int
    fewest: int = FEWEST
    together_ms: float = 0.0
    interval: float = TOLERANCE


@dataclass(frozen=True, slots=True)
class Timings:
    """The repeats at one size, all correct, and cuBLAS's repeats in between."""

    case: CasePlan
    runs: tuple[Timed, ...]
    cublas_ms: tuple[float, ...]

    @property
    def counting_ms(self) -> list[float]:
        """The times of which the median is the result."""
        return _counting(self.case, [run.ms for run in self.runs])

    @property
    def cublas_median_ms(self) -> float | None:
        """Over the same kinds of inputs; None if cuBLAS didn't run."""
        kinds = map(_factors_kind, range(len(self.cublas_ms)))
        return statistics.median(evened(kinds, self.cublas_ms)) if self.cublas_ms else None


def timings(bench: Bench, operands: Operands, effort: Effort, *, first: bool) -> Timings | Finding:
    """Time the repeats of one case. Returns a finding if a repeat is incorrect.

    first: the device may have been idle, so its clock must rise first
    raise (DeviceFault): a launch failed
    """
    warm_ms, unused = _warm_up(bench, operands, by_clock=first)
    library = Library.of(bench.backend, bench.judge, operands.case, unused)
    # end the batch here, so that the device's busy time doesn't include the wait below
    bench.backend.wait()
    with bench.quiet.alone() if warm_ms > LONG_MS else contextlib.nullcontext():
        runs = _runs(bench, operands, effort, library)
    if isinstance(runs, Finding):
        return runs
    return Timings(operands.case, tuple(runs), tuple(library.ms) if library is not None else ())


def _runs(bench: Bench, operands: Operands, effort: Effort, library: Library | None) -> list[Timed] | Finding:
    runs: list[Timed] = []
    began = bench.now()
    more = _go_on(operands.case, [], 0.0, effort)
    while more:
        run, check = _launched(bench, operands, kind_of(operands.case, len(runs)), len(runs) + 1)
        runs.append(run)
        # the device checks the launch meanwhile
        more = _go_on(operands.case, [run.ms for run in runs], bench.now() - began, effort)
        if (finding := check()) is not None:
            return finding
        # cuBLAS runs in between, so both see the same clocks and temperatures.
        if library is not None and len(runs) % _CUBLAS_EVERY == 1:
            library.run()
    while library is not None and len(library.ms) < _CUBLAS_FEWEST:
        library.run()
    return runs


def _go_on(case: CasePlan, ms: Sequence[float], spent: float, effort: Effort) -> bool:
    """Whether another repeat is needed and there is time for it."""
    if len(ms) < FEWEST_IN_BUDGET:
        return not ms or ms[0] / 1000 <= effort.seconds
    if len(ms) >= effort.most or spent >= effort.seconds:
        return False
    enough = len(ms) >= effort.fewest and sum(ms) >= effort.together_ms
    return not (enough and middle(_counting(case, ms)).within(effort.interval))


def _counting(case: CasePlan, ms: Sequence[float]) -> list[float]:
    if case.operation is not Operation.MATMUL:
        return list(ms)
    return evened((kind_of(case, number) for number in range(len(ms))), ms)


def evened(kinds: Iterable[InputKind], ms: Sequence[float]) -> list[float]:
    """The times of a product that count, without the part that depends on the kind of inputs.

    At the same clock, tensor cores take up to 2 % longer for other bits. With a permutation, the time even depends on
    which it is, so those launches are only verified. The medians of the other kinds weigh the same, however many
    launches there were. Launches that are too few for an interval keep their times.
    """
    counting = [(kind, time) for kind, time in zip(kinds, ms, strict=True) if kind is not InputKind.PERMUTATION]
    if len(counting) < FEWEST_OF_INTERVAL:
        return [time for _, time in counting]
    medians = {each: statistics.median(time for kind, time in counting if kind is each) for each, _ in counting}
    level = statistics.mean(medians.values())
    return [time - medians[kind] + level for kind, time in counting]


def kind_of(case: CasePlan, repeat: int) -> InputKind:
    """The kind of inputs for a repeat, counted from 0.

    For products, the factors' roles alternate, with full mantissas in between.
    """
    if case.operation is Operation.SOLUTION:
        return case.inputs
    kinds = InputKind.of(case.operation)
    if case.operation is not Operation.MATMUL:
        return kinds[repeat % len(kinds)]
    others, last = divmod(repeat, _PERMUTATION_EVERY)
    if last == _PERMUTATION_EVERY - 1:
        return InputKind.PERMUTATION
    return _factors_kind(repeat - others)


def _factors_kind(turn: int) -> InputKind:
    return (InputKind.INTEGERS_LEFT, InputKind.INTEGERS_RIGHT)[turn % 2]


def repeat(bench: Bench, operands: Operands, kind: InputKind) -> Timed | Finding:
    """Launch once on new inputs and verify the result. Returns its time, or a finding if it is incorrect.

    raise (DeviceFault): the launch failed
    """
    run, check = _launched(bench, operands, kind, 0)
    return check() or run


def _launched(
    bench: Bench, operands: Operands, kind: InputKind, number: int
) -> tuple[Timed, Callable[[], Finding | None]]:
    """Launch once on new inputs, and start to verify the result. Returns its time, and what waits for the finding.

    number: of the repeat, from 1; 0 for a launch that is only judged
    raise (DeviceFault): the launch failed
    """
    inputs = fill(bench.backend, bench.judge, operands, kind, bench.fresh.inputs())
    bench.fresh.order()
    run = operands.timed(bench.backend, bench.launch_seconds)
    # Read after the launch, so the kernel can't prepare for the check.
    vector = bench.fresh.vector()
    return run, inputs.check(vector, number, bench.launch_seconds)


def _warm_up(bench: Bench, operands: Operands, *, by_clock: bool) -> tuple[float, int]:
    """Launch at least once without measuring. With `by_clock`, repeat until the device's clock is stable.

    Returns the time of the last launch in ms, and a random number that nothing else has used.
    """
    inputs = fill(bench.backend, bench.judge, operands, kind_of(operands.case, 0), bench.fresh.inputs())
    changes = any(matrix.role is Role.INOUT for matrix in operands.case.matrices)
    began = bench.now()
    bench.fresh.order()
    run = operands.timed(bench.backend, bench.launch_seconds)
    unused = bench.fresh.vector()
    before = bench.clock_mhz
    # after other work, the first launch is already a look at the clock
    looked = began if before else bench.now()
    while by_clock and bench.now() - began < (_WARM_SECONDS if before else _BLIND_SECONDS):
        while bench.now() - looked < _LOOK_SECONDS:
            if changes:
                # A counter that goes on from the last launch may be an index out of bounds.
                inputs.fill()
            run = operands.timed(bench.backend, bench.launch_seconds)
        clock = bench.backend.clocks().sm_mhz
        if clock and abs(clock - before) <= _SAME_CLOCK * clock:
            break
        before, looked = clock, bench.now()
    return run.ms, unused


@dataclass(frozen=True, slots=True)
class Library:
    """cuBLAS on one product. Its result is erased at once, so that no kernel can find it.

    seed: of its inputs, which the kernel never gets
    ms: times of the runs so far
    """

    backend: Backend
    judge: Judge
    case: CasePlan
    product: Product
    seed: int
    ms: list[float] = field(default_factory=list)

    @classmethod
    def of(cls, backend: Backend, judge: Judge, case: CasePlan, seed: int) -> Self | None:
        """The library after its first runs of this shape. None without memory, or a product that it can compute."""
        if case.operation is not Operation.MATMUL:
            return None
        (left, right), out = factors(case), output_of(case)
        shape = (left.rows, left.columns, right.columns)
        if not in_library(product_types(case), shape):
            return None
        try:
            memories = [backend.take(matrix.words) for matrix in (left, right, out)]
        except DeviceFault as fault:
            if fault.kind is FaultKind.RESOURCES:
                return None
            raise
        library = cls(backend, judge, case, Product(product_types(case), shape, *memories), seed)
        backend.load_library(library.product)
        return library

    def run(self) -> None:
        self._fill()
        self.ms.append(self.backend.multiply(self.product).ms)
        self.backend.fill(self.product.out, POISON_WORD)

    def _fill(self) -> None:
        made = recipes(self.case, _factors_kind(len(self.ms)), self.seed)
        for matrix, memory in zip(factors(self.case), (self.product.left, self.product.right), strict=True):
            self.judge.make(made[matrix.name], memory)
