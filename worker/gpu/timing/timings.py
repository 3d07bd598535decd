"""Times a kernel at one size: repeats until the median is sure, each with inputs of its own and its output verified."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from kernels.exercise import InputKind, Operation
from kernels.judging.inputs import factors, output_of
from kernels.judging.plan import CasePlan
from kernels.measurement.median import middle
from kernels.verdict import Finding
from worker.contract.measure_work import Numbers
from worker.gpu.backend import Backend, DeviceFault, FaultKind, Memory, Timed
from worker.gpu.judge.findings import guard_finding, input_finding, wrong_finding
from worker.gpu.judge.recipes import Recipe, recipes
from worker.gpu.judge.verification import Judge
from worker.gpu.operands import POISON_WORD, Operands
from worker.gpu.timing.quiet import NOBODY_ELSE, Quiet

FEWEST = 7
"""Repeats: no fewer even if the first ones agree."""

FEWEST_IN_BUDGET = 3
"""Repeats that are made even if the time for them is over before; one alone where it takes longer than all of that."""

_CUBLAS_EVERY, _CUBLAS_FEWEST = 2, 5
_PERMUTATION_EVERY = 4
_WARM_SECONDS, _LOOK_SECONDS, _BLIND_SECONDS = 0.15, 0.004, 0.02
_SAME_CLOCK = 0.01
_LONG_FIRST_MS, LONG_MS = 4.0, 2.0
"""A longer launch is timed while no other process starts on the GPU; a shorter one is mostly missed by that.

The first size has repeats until it is sure, and bears more of them being hit than the few of another size.
"""


class Fresh:
    """The parent's random numbers, as they are needed."""

    def __init__(self, ask: Callable[[], Numbers]) -> None:
        self._ask = ask
        self._inputs = ask().inputs

    def inputs(self) -> int:
        """For the next inputs; the same until the next vector was asked for."""
        return self._inputs

    def vector(self) -> int:
        """For checking what has just been run; and the numbers for the next inputs are new."""
        numbers = self._ask()
        self._inputs = numbers.inputs
        return numbers.vector


@dataclass(frozen=True, slots=True)
class Bench:
    """What all sizes are measured with.

    launch_seconds: after which a launch counts as endless
    quiet: keeps the starts of other processes away from long launches
    now: a clock, in seconds
    """

    backend: Backend
    judge: Judge
    fresh: Fresh
    launch_seconds: float
    quiet: Quiet = NOBODY_ELSE
    now: Callable[[], float] = field(default=time.perf_counter)


@dataclass(frozen=True, slots=True)
class Effort:
    """What repeats of one size may take.

    seconds: for all of them together; a few are made at any rate
    most: no more, even if the median is never sure
    """

    seconds: float
    most: int


@dataclass(frozen=True, slots=True)
class Timings:
    """The repeats at one size, all of them right, and cuBLAS's in between."""

    case: CasePlan
    runs: tuple[Timed, ...]
    cublas_ms: tuple[float, ...]


def timings(bench: Bench, operands: Operands, effort: Effort, *, first: bool) -> Timings | Finding:
    """Repeats of one case; what is wrong, where a repeat is.

    first: whether the device may have been idle before, so that its clock has to rise
    raise (DeviceFault): a launch ended badly
    """
    warm = _warm_up(bench, operands, by_clock=first)
    library = Library.of(bench.backend, bench.judge, operands.case, warm.unused)
    # What the device is at work for is counted until then: it has nothing to do while this waits.
    bench.backend.wait()
    long = warm.ms > (_LONG_FIRST_MS if first else LONG_MS)
    with bench.quiet.alone() if long else contextlib.nullcontext():
        runs = _runs(bench, operands, effort, library)
    if isinstance(runs, Finding):
        return runs
    return Timings(operands.case, tuple(runs), tuple(library.ms) if library is not None else ())


def _runs(bench: Bench, operands: Operands, effort: Effort, library: Library | None) -> list[Timed] | Finding:
    runs: list[Timed] = []
    began = bench.now()
    while _go_on([run.ms for run in runs], bench.now() - began, effort):
        run = repeat(bench, operands, kind_of(operands.case, len(runs)), len(runs) + 1)
        if isinstance(run, Finding):
            return run
        runs.append(run)
        if library is not None and len(runs) % _CUBLAS_EVERY == 1:
            library.run()
    while library is not None and len(library.ms) < _CUBLAS_FEWEST:
        library.run()
    return runs


def _go_on(ms: list[float], spent: float, effort: Effort) -> bool:
    """Whether another repeat is needed, and there is time for it."""
    if len(ms) < FEWEST_IN_BUDGET:
        return not ms or ms[0] / 1000 <= effort.seconds
    if len(ms) >= effort.most or (len(ms) >= FEWEST and middle(ms).settled):
        return False
    return spent < effort.seconds


def kind_of(case: CasePlan, repeat: int) -> InputKind:
    """The inputs of a repeat, counted from 0: both roles of a product's factors in turn, full mantissas in between."""
    kinds = InputKind.of(case.operation)
    if case.operation is not Operation.MATMUL:
        return kinds[repeat % len(kinds)]
    others, last = divmod(repeat, _PERMUTATION_EVERY)
    if last == _PERMUTATION_EVERY - 1:
        return InputKind.PERMUTATION
    return (InputKind.INTEGERS_LEFT, InputKind.INTEGERS_RIGHT)[(repeat - others) % 2]


def repeat(bench: Bench, operands: Operands, kind: InputKind, number: int = 0) -> Timed | Finding:
    """One launch on fresh inputs, and what it did; timed if all of it is right.

    number: of the repeat, counted from 1; 0 for a launch that is only judged
    raise (DeviceFault): the launch ended badly
    """
    made = _set_up(bench, operands, kind)
    bench.backend.flush()
    run = _run(bench, operands)
    vector = bench.fresh.vector()
    return _verify(bench, operands, made, vector, number) or run


def _set_up(bench: Bench, operands: Operands, kind: InputKind) -> dict[str, Recipe]:
    made = recipes(operands.case, kind, bench.fresh.inputs())
    for name, recipe in made.items():
        bench.judge.make(recipe, operands.memories[name])
    for matrix in operands.outputs:
        bench.backend.fill(operands.of(matrix), POISON_WORD)
    for matrix in operands.guarded:
        bench.judge.fill_guards(operands.of(matrix))
    for memory, word in operands.constants:
        bench.backend.fill(memory, word)
    return made


def _run(bench: Bench, operands: Operands) -> Timed:
    launch = operands.case.launch
    assert launch is not None, "only a case that can be launched is timed"
    return bench.backend.timed(operands.kernel, launch, operands.arguments, bench.launch_seconds)


def _verify(
    bench: Bench, operands: Operands, made: dict[str, Recipe], vector: int, number: int
) -> Finding | None:
    """The first thing that is wrong after a run."""
    case = operands.case
    guarded = [matrix.name for matrix in operands.guarded]
    verified = bench.judge.verify(case, made, operands.memories, vector, guarded=guarded)
    for matrix in case.matrices:
        if hurt := verified.hurt.get(matrix.name):
            return guard_finding(matrix, hurt, case)
    for matrix in case.inputs_of_kernel:
        if changed := verified.changed.get(matrix.name):
            return input_finding(matrix, changed, case)
    if verified.wrong is None:
        return None
    return wrong_finding(output_of(case), verified.wrong, case, number)


@dataclass(frozen=True, slots=True)
class _Warm:
    """What launches for warming up leave behind.

    ms: of the last of them
    unused: a random number that was needed for nothing else
    """

    ms: float
    unused: int


def _warm_up(bench: Bench, operands: Operands, *, by_clock: bool) -> _Warm:
    """Launches that nothing is taken from, at least one; until the device's clock stays, where that is asked for."""
    _set_up(bench, operands, kind_of(operands.case, 0))
    began = bench.now()
    run = _run(bench, operands)
    unused = bench.fresh.vector()
    before = 0
    while by_clock and bench.now() - began < (_WARM_SECONDS if before else _BLIND_SECONDS):
        looked = bench.now()
        while bench.now() - looked < _LOOK_SECONDS:
            run = _run(bench, operands)
        clock = bench.backend.clocks().sm_mhz
        if clock and abs(clock - before) <= _SAME_CLOCK * clock:
            break
        before = clock
    return _Warm(run.ms, unused)


_UNTIMED = 2


@dataclass(frozen=True, slots=True)
class Library:
    """cuBLAS on one product. Its result is wiped out at once, so that no kernel can find it.

    shape: rows, inner and columns
    ms: of each run so far
    """

    backend: Backend
    left: Memory
    right: Memory
    out: Memory
    shape: tuple[int, int, int]
    ms: list[float] = field(default_factory=list)

    @classmethod
    def of(cls, backend: Backend, judge: Judge, case: CasePlan, seed: int) -> Self | None:
        """Ready to run, its first runs, in which a library loads its kernels, already made; None for no product, or
        where there is no memory for it.

        seed: of its inputs, which the kernel never gets
        """
        if case.operation is not Operation.MATMUL:
            return None
        (left, right), out = factors(case), output_of(case)
        try:
            first, second, third = (
                backend.take(matrix.rows * matrix.columns) for matrix in (left, right, out)
            )
        except DeviceFault as fault:
            if fault.kind is FaultKind.RESOURCES:
                return None
            raise
        made = recipes(case, InputKind.INTEGERS_LEFT, seed)
        judge.make(made[left.name], first)
        judge.make(made[right.name], second)
        library = cls(backend, first, second, third, (left.rows, left.columns, right.columns))
        for _ in range(_UNTIMED):
            library.run()
        library.ms.clear()
        return library

    def run(self) -> None:
        self.backend.flush()
        self.ms.append(self.backend.multiply(self.left, self.right, self.out, *self.shape).ms)
        self.backend.fill(self.out, POISON_WORD)
