"""Many submissions graded at once on one machine: compiled and checked on all cores, measured on its GPUs.

Each submission is compiled, checked and measured in processes of its own. Those for compiling and checking are started
while the submission before is at work, so that they are warm when their turn comes.
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import resource
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from worker.bench.lanes import Lanes, Supply, Turn
from worker.sandbox.limits import Failure, SandboxFailure
from worker.steps.grading import Job, grade
from worker.steps.stages import SandboxedStages

if TYPE_CHECKING:
    from kernels.compile.compilation import Compilation
    from kernels.report import Report
    from kernels.verdict import Finding
    from worker.contract.measure_work import MeasureRequest, MeasureResponse
    from worker.sandbox.compiling import CompileRequest
    from worker.steps.check_step import CheckRequest, CheckResponse

logger = logging.getLogger(__name__)

_AHEAD_OF_THE_GPU = 4
"""Submissions in work beyond one for each core: those that wait for a GPU, so that it never waits for them."""

_NICENESS = 5


@dataclass(slots=True)
class Times:
    """When each step of a submission was over, in seconds since the backlog began; None for one not reached."""

    begun: float = 0.0
    compiled: float | None = None
    checked: float | None = None
    measure_begun: float | None = None
    measured: float | None = None
    ended: float = 0.0


@dataclass(frozen=True, slots=True)
class Graded:
    """One submission's end. There is a report, or an error where even that could not be made.

    gpu: the lane that measured it; None where none did
    cpu_seconds: by step, of the processes that compiled and checked it
    """

    number: int
    report: Report | None
    times: Times
    gpu: int | None = None
    busy_ms: float = 0.0
    cpu_seconds: Mapping[str, float] = field(default_factory=dict)
    error: str = ""


@dataclass(frozen=True, slots=True)
class Backlog:
    """What became of all of them, in the order in which they came.

    cpu_seconds: of all processes of the backlog that ended, this one included
    """

    graded: tuple[Graded, ...]
    turns: tuple[Turn, ...]
    seconds: float
    gpus: int
    cores: int
    cpu_seconds: float


def cores() -> int:
    """How many this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def work_off(
    jobs: Sequence[Job],
    supplies: Sequence[Supply],
    workers: int | None = None,
    told: Callable[[Graded], None] = lambda _: None,
) -> Backlog:
    """Grade all jobs, the first to come first; returns when the last has its verdict.

    supplies: of runners, one for each GPU
    workers: submissions in work at once; None for as many as keep the cores and the GPUs busy
    told: is told of each end, by the thread that graded it
    """
    workers = workers or min(len(jobs), cores() + _AHEAD_OF_THE_GPU * len(supplies))
    waiting: queue.SimpleQueue[tuple[int, Job]] = queue.SimpleQueue()
    for numbered in enumerate(jobs):
        waiting.put(numbered)
    began, used = time.monotonic(), _cpu_seconds()
    ended: list[Graded] = []
    with Lanes(supplies, lambda: time.monotonic() - began) as lanes:
        pool = [_Worker(waiting, lanes, began, ended, told) for _ in range(workers)]
        for worker in pool:
            worker.start()
        for worker in pool:
            worker.join()
    seconds = time.monotonic() - began
    ended.sort(key=lambda each: each.number)
    return Backlog(tuple(ended), tuple(lanes.turns), seconds, len(supplies), cores(), _cpu_seconds() - used)


class _Worker(threading.Thread):
    """Grades one submission after the other. The processes that it starts live no longer than it does."""

    def __init__(
        self,
        waiting: queue.SimpleQueue[tuple[int, Job]],
        lanes: Lanes,
        began: float,
        ended: list[Graded],
        told: Callable[[Graded], None],
    ) -> None:
        super().__init__(daemon=True)
        self._waiting, self._lanes, self._began = waiting, lanes, began
        self._ended, self._told = ended, told

    def run(self) -> None:
        step_back()
        ahead = self._start()
        try:
            while True:
                try:
                    number, job = self._waiting.get_nowait()
                except queue.Empty:
                    return
                stages, ahead = ahead or self._start(), None
                if not self._waiting.empty():
                    ahead = self._start()
                graded = self._grade(number, job, stages)
                self._ended.append(graded)
                self._told(graded)
        finally:
            if ahead is not None:
                ahead.close()

    def _start(self) -> _Stages | None:
        try:
            return _Stages(self._lanes, self._began)
        except SandboxFailure as failure:
            logger.warning("a sandbox did not start: %s", failure)
            return None

    def _grade(self, number: int, job: Job, stages: _Stages | None) -> Graded:
        begun = time.monotonic() - self._began
        if stages is None:
            return Graded(number, None, Times(begun, ended=begun), error="the sandbox did not start")
        stages.number, stages.times.begun = number, begun
        report, error = None, ""
        try:
            with stages:
                report = grade(job, stages)
        except Exception as failure:
            logger.exception("submission %d has no verdict", number)
            error = f"{type(failure).__name__}: {failure}"
        stages.times.ended = time.monotonic() - self._began
        turn = stages.turn
        gpu, busy = (turn.gpu, turn.busy_ms) if turn is not None else (None, 0.0)
        return Graded(number, report, stages.times, gpu, busy, stages.cpu_seconds(), error)


class _Stages(SandboxedStages):
    """The processes of one submission, its times, and its turn on a GPU."""

    def __init__(self, lanes: Lanes, began: float) -> None:
        self.number = 0
        self.times = Times()
        self.turn: Turn | None = None
        self._lanes, self._began = lanes, began
        super().__init__()

    def compile(self, request: CompileRequest) -> Compilation | tuple[Finding, ...]:
        try:
            return super().compile(request)
        finally:
            self.times.compiled = time.monotonic() - self._began

    def check(self, request: CheckRequest) -> CheckResponse:
        try:
            return super().check(request)
        finally:
            self.times.checked = time.monotonic() - self._began

    def measure(self, request: MeasureRequest) -> MeasureResponse:
        """Wait for this submission's turn."""
        self.turn = self._lanes.measure(self.number, request)
        self.times.measure_begun, self.times.measured = self.turn.begun, self.turn.ended
        if self.turn.answer is None:
            raise self.turn.failure or SandboxFailure(Failure.ERROR, "the GPU gave no answer")
        return self.turn.answer


def step_back() -> None:
    """Let what drives a GPU go first: this thread, and the processes that it starts, have the cores that are left."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            thread = threading.get_native_id()
            now = os.getpriority(os.PRIO_PROCESS, thread)
            os.setpriority(os.PRIO_PROCESS, thread, max(now, _NICENESS))


def _cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
