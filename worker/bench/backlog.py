"""Grades many submissions in parallel in the workplaces of a worker's slots, without a database and a broker.

Kernels that passed their check wait for a GPU in one queue, earliest submission first.
"""

from __future__ import annotations

import base64
import contextlib
import itertools
import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from kernels.exercise import Exercise
from kernels.exercise.schema import definition_in
from kernels.report import Report
from kernels.verdict import Verdict
from worker.bench.place_process import CheckProcess, PlaceProcess, used_seconds
from worker.contract.messages import CheckWork, ExerciseText, StepKind, StepMessage, StepResult, Ticket
from worker.supervision.cores import cores, step_back
from worker.workplaces.cpu import CpuWorkplace
from worker.workplaces.workplace import Workplace

logger = logging.getLogger(__name__)

Gpus = Sequence[Sequence[Workplace]]
"""By GPU, the workplaces of its slots."""

_Steps = queue.PriorityQueue[tuple[int, StepMessage | None]]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a submission at one workplace, with times of `time.monotonic`.

    gpu: number of the GPU in the order of the workplaces; None for a check
    ready: time when a warm GPU process was ready; None if there was none
    """

    result: StepResult
    gpu: int | None
    begun: float
    ready: float | None
    ended: float


@dataclass(frozen=True, slots=True)
class Graded:
    """A graded submission with its report, or an error if a step failed."""

    number: int
    steps: tuple[Step, ...]

    @property
    def report(self) -> Report | None:
        return self.steps[-1].result.report

    @property
    def error(self) -> str:
        return self.steps[-1].result.fault

    @property
    def verdict(self) -> Verdict:
        """The report's verdict, or a system error without a report."""
        return self.report.verdict if self.report is not None else Verdict.SYSTEM_ERROR

    @property
    def seconds(self) -> float:
        """Seconds from the first step's start to the last step's end."""
        return self.steps[-1].ended - self.steps[0].begun

    @property
    def busy_ms(self) -> float:
        """GPU time for it."""
        return sum(step.result.busy_ms for step in self.steps)


@dataclass(frozen=True, slots=True)
class Backlog:
    """All submissions in order.

    cpu_seconds: of this process and all processes that ended meanwhile
    by_step: the part for compiling and checking
    """

    graded: tuple[Graded, ...]
    seconds: float
    gpus: int
    cores: int
    cpu_seconds: float
    by_step: Mapping[str, float]


def text_of(exercise: Exercise) -> ExerciseText:
    return ExerciseText(exercise.name, definition_in(exercise.root), exercise.digest)


def encoded(source: bytes) -> str:
    return base64.b64encode(source).decode()


def work_off(
    works: Sequence[CheckWork],
    cache: Path,
    gpus: Gpus = (),
    slots: int | None = None,
    told: Callable[[Graded], None] = lambda _: None,
) -> Backlog:
    """Grade all works, and wait for the last verdict.

    cache: folder for compiled files
    gpus: for accepted kernels; the caller closes the workplaces
    slots: number of parallel checks; None for a worker's default
    """
    slots = slots or max(1, min(len(works), cores() - len(gpus)))
    began, used = time.monotonic(), used_seconds()
    with Pool(cache, gpus, slots) as pool:
        graded = pool.grade(works, told)
        seconds, used = time.monotonic() - began, used_seconds() - used + pool.used_elsewhere
    return Backlog(graded, seconds, len(gpus), cores(), used, pool.cpu_seconds)


class Pool:
    """The slots of a machine, which start together and stay warm from one call of `grade` to the next.

    Use it as a context manager. After an exception in `grade`, it can only be closed.
    """

    def __init__(self, cache: Path, gpus: Gpus, slots: int) -> None:
        """Start nothing yet. The parameters mean the same as in `work_off`."""
        self._gpus = gpus
        # as in a worker, so that unpacking a result delays no other slot
        check = CheckProcess if gpus else CpuWorkplace
        self._checks: list[CheckProcess | CpuWorkplace] = [check(cache) for _ in range(slots)]
        self._steps: Mapping[StepKind, _Steps] = {kind: queue.PriorityQueue() for kind in StepKind}
        self._ended: queue.SimpleQueue[Step] = queue.SimpleQueue()
        self._places = (*itertools.chain(*gpus), *self._checks)
        # a GPU's processes take longest to start, so they start first
        measures = self._steps[StepKind.MEASURE]
        self._slots = [_Slot(place, gpu, measures, self._ended) for gpu, places in enumerate(gpus) for place in places]
        self._slots += [_Slot(place, None, self._steps[StepKind.CHECK], self._ended) for place in self._checks]

    def __enter__(self) -> Self:
        for place in itertools.chain(*self._gpus):
            # in this thread, because the caller closes them
            place.prepare()
        for slot in self._slots:
            slot.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with _steps_unlogged() if kind is not None else contextlib.nullcontext():
            for slot in self._slots:
                slot.end()
            for slot in self._slots:
                slot.join()

    @property
    def used_elsewhere(self) -> float:
        """CPU seconds of the slots' processes, which are still running."""
        return sum(place.used for place in self._places if isinstance(place, PlaceProcess))

    @property
    def cpu_seconds(self) -> Mapping[str, float]:
        """CPU seconds for compiling and checking; known after the end."""
        found: dict[str, float] = {}
        for place in self._checks:
            for step, spent in place.cpu_seconds.items():
                found[step] = found.get(step, 0.0) + spent
        return found

    def grade(self, works: Iterable[CheckWork], told: Callable[[Graded], None] = lambda _: None) -> tuple[Graded, ...]:
        """Grade all works, and wait for the last verdict. The first ones start before the last ones are made.

        raise (ValueError): for a work to be measured, if there is no GPU
        """
        number = 0
        for number, work in enumerate(works, 1):
            if work.device_class and not self._gpus:
                raise ValueError("no GPU to measure on")
            ticket = Ticket(number - 1, StepKind.CHECK, "")
            self._steps[StepKind.CHECK].put((number - 1, StepMessage(ticket, 1, 0.0, check=work)))
        return self._collected(number, told)

    def _collected(self, number: int, told: Callable[[Graded], None]) -> tuple[Graded, ...]:
        """Collect all verdicts, and queue passed checks for a GPU."""
        begun: dict[int, Step] = {}
        graded: dict[int, Graded] = {}
        while len(graded) < number:
            step = self._ended.get()
            which = step.result.ticket.job
            if step.result.measure is not None:
                begun[which] = step
                message = StepMessage(Ticket(which, StepKind.MEASURE, ""), 1, 0.0, measure=step.result.measure.packed)
                self._steps[StepKind.MEASURE].put((which, message))
                continue
            steps = (begun.pop(which), step) if which in begun else (step,)
            graded[which] = Graded(which, steps)
            told(graded[which])
        return tuple(each for _, each in sorted(graded.items()))


class _Slot(threading.Thread):
    """One workplace and its thread. Workplaces for checks are closed at the end."""

    def __init__(self, place: Workplace, gpu: int | None, steps: _Steps, ended: queue.SimpleQueue[Step]) -> None:
        super().__init__(daemon=True)
        self._place, self._gpu, self._steps, self._ended = place, gpu, steps, ended

    def run(self) -> None:
        if self._gpu is None:
            step_back()
        self._place.prepare()
        while (message := self._steps.get()[1]) is not None:
            self._ended.put(self._do(message))
            self._place.prepare()
        if self._gpu is None:
            self._place.close()

    def end(self) -> None:
        """End a slot of this queue before its next step, and abort this slot's running step."""
        self._steps.put((-id(self), None))
        self._place.abort()

    def _do(self, message: StepMessage) -> Step:
        begun = time.monotonic()
        ready: float | None = None

        def told(what: str) -> None:
            nonlocal ready
            if what == "measuring":
                ready = time.monotonic()

        try:
            result = self._place.do(message, "bench", told)
        except Exception as error:
            logger.exception("%s: a workplace failed", message.ticket.kind)
            result = StepResult(message.ticket, "bench", None, fault=f"{type(error).__name__}: {error}")
        return Step(result, self._gpu, begun, ready, time.monotonic())


@contextlib.contextmanager
def _steps_unlogged() -> Iterator[None]:
    """Without the warnings of running steps, which fail when they are aborted."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        yield
    finally:
        logging.disable(before)
