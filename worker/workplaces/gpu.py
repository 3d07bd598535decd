"""The workplace for measure steps: judges and measures kernels on one GPU."""

from __future__ import annotations

import base64
import contextlib
import logging
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

from kernels.report import Report
from kernels.verdict import Verdict
from worker.contract.architectures import of_capability
from worker.contract.measure_work import MeasureRequest, MeasureResponse
from worker.contract.messages import MeasureWork, MessageError, StepKind, StepMessage, StepResult, decode
from worker.gpu.judge.code import preparation
from worker.gpu.locks import SlotLock
from worker.gpu.nvml import NoGPU, gpu
from worker.gpu.spares import WALL_SECONDS, Runner, Spares
from worker.sandbox.limits import SandboxFailure
from worker.steps.cpu_check import Progress
from worker.steps.explanation import Explains, OneExplanation, with_explanation
from worker.steps.gpu_measurement import OtherCode, answer_of, judged, remains_open
from worker.workplaces.workplace import ABORTED, Done, StepFault, carried_out

_AHEAD, _AHEAD_ON_LARGE, _AHEAD_WITHOUT_GPU = 1, 3, 2
"""Processes to keep warm, so that a GPU with a full queue never waits for one (bench.gpu, backlog).

Each slot keeps as many, and each process takes up to 1.5 GiB of the GPU's memory. The CPU device takes so long for each
kernel that more processes would only waste memory."""
_LARGE_BYTES = 32 * 2**30

_GONE_SECONDS = 30.0

MOST_WORKS = 16
"""The most kernels that one process measures."""

logger = logging.getLogger(__name__)


def ahead(device: int | None) -> int:
    """How many processes to keep warm on a GPU; None for the CPU device."""
    if device is None:
        return _AHEAD_WITHOUT_GPU
    try:
        return _AHEAD_ON_LARGE if gpu(device).memory_bytes >= _LARGE_BYTES else _AHEAD
    except NoGPU:
        return _AHEAD


@dataclass(frozen=True, slots=True)
class _Told:
    """A runner that waits for the other slots, and reports each launch with new inputs as progress."""

    runner: Runner
    progress: Progress
    lock: SlotLock
    last: bool

    def measure(self, request: MeasureRequest) -> MeasureResponse:
        def launched(launches: int) -> None:
            self.progress(f"measuring {launches}")

        return self.runner.measure(request, launched, self.lock, last=self.last)


@dataclass(frozen=True, slots=True)
class _Process:
    """A process with the number of kernels that it has measured so far, all without a finding."""

    runner: Runner
    works: int = 0


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What a process found about a kernel.

    answer, report: None if the process failed, or ran other code
    seconds: without the wait for the other slots
    """

    process: _Process
    answer: MeasureResponse | None = None
    report: Report | None = None
    seconds: float = 0.0

    @property
    def complete(self) -> bool:
        """Whether the kernel was measured, so that a used process is enough."""
        return self.report is not None and self.answer is not None and self.answer.complete

    @property
    def ranked(self) -> bool:
        measurement = self.report.measurement if self.report is not None else None
        return self.complete and measurement is not None and measurement.ranked


class GpuWorkplace:
    """Measures kernels one by one, in processes that were started ahead.

    A process goes on to the next kernel if both devices accepted the last one, and no kernel can reach its host memory.
    It then unloads and overwrites all that the last kernel could reach. A used process can only confirm: if its answer
    isn't a measurement, a new process does the work again.

    Several workplaces can use one GPU: while one measures, the others prepare their next kernel.

    One thread must call `prepare`, `do` and `close`. The processes end with `close` or with this process.
    """

    kind = StepKind.MEASURE

    def __init__(
        self,
        device: int | None,
        device_class: str,
        arch: str,
        cache: Path,
        wall_seconds: float = WALL_SECONDS,
        processes: int | None = None,
        shared: Path | None = None,
    ) -> None:
        """Start nothing yet.

        device: the GPU's number in bus order; None for the CPU device
        device_class: the class of the results
        arch: architecture to compile for, such as "sm_90"
        processes: how many are probably needed in all; None for any number
        shared: folder that the workplaces on this GPU share; None for the only one
        """
        self._device, self._device_class, self._arch = device, device_class, arch
        self._cache, self._wall_seconds, self._processes = cache, wall_seconds, processes
        self._folder = shared
        self._spares: Spares | None = None
        self._kept: Runner | None = None
        self._last: _Process | None = None
        self._at_work: Runner | None = None
        self._in_work = self._aborted = False
        self._changing = threading.Lock()
        self._closers: list[threading.Thread] = []

    def prepare(self) -> None:
        """Start processes. If that fails, the step tries again and reports it."""
        try:
            self._start()
        except Exception as error:  # noqa: BLE001 - the step that needs them reports more
            logger.warning("cannot prepare the next measurement: %s", error)

    def warm(self) -> None:
        """Wait until a process is ready, as in a worker that has run for a while. Raises SandboxFailure."""
        self._kept = self._kept or self._start().take()

    def do(self, message: StepMessage, worker: str, progress: Progress) -> StepResult:
        """Judge and measure, and complete the check's report."""
        with self._changing:
            self._in_work, self._aborted = True, False
        try:
            return carried_out(message, worker, lambda: self._measure(message, progress))
        finally:
            with self._changing:
                self._in_work = False

    def abort(self) -> None:
        with self._changing:
            self._aborted = self._in_work
            runner = self._at_work
        if runner is not None:
            runner.kill()

    def close(self) -> None:
        """Kill all processes, and wait for their end."""
        self.abort()
        self._drop()
        self._wait_until_gone()

    def _measure(self, message: StepMessage, progress: Progress) -> Done:
        if message.measure is None:
            raise StepFault(f"this slot measures, but got a step of the kind {message.ticket.kind}")
        work, busy_ms = self._unpacked(message.measure), 0.0
        # first the lock, so that no process is taken if that fails
        with SlotLock(self._folder) as lock, contextlib.closing(OneExplanation()) as explanation:
            found = self._in_used_process(work, lock, progress)
            if found is None or not found.complete:
                if found is not None and found.answer is not None:
                    busy_ms = found.answer.busy_ms
                    with contextlib.suppress(SandboxFailure):
                        explanation.start()
                found = self._in_new_process(work, lock, progress)
            done = self._done(work, found, explanation, busy_ms)
        return replace(done, waited=lock.waited)

    def _in_used_process(self, work: MeasureWork, lock: SlotLock, progress: Progress) -> _Outcome | None:
        """What the used process finds, if there is one. None if it fails."""
        if (used := self._used()) is None:
            return None
        try:
            return self._judge(work, used, lock, progress)
        except SandboxFailure as failure:
            logger.info("a used process failed, so a new one does the work again: %s", failure)
            return None

    def _in_new_process(self, work: MeasureWork, lock: SlotLock, progress: Progress) -> _Outcome:
        process = _Process(self._take())
        try:
            return self._judge(work, process, lock, progress)
        except SandboxFailure:
            # the waiting processes may have the same problem
            self._drop()
            raise

    def _judge(self, work: MeasureWork, process: _Process, lock: SlotLock, progress: Progress) -> _Outcome:
        """Judge and measure. Raises SandboxFailure or OtherCode, and StepFault if aborted."""
        progress("measuring")
        found = _Outcome(process)
        # with such memory, a kernel could change the process
        last = (
            process.works + 1 == MOST_WORKS
            or work.report.verdict is not Verdict.ACCEPTED
            or process.runner.reaches_host
        )
        began, waited = time.monotonic(), lock.waited
        try:
            answer = answer_of(_Told(process.runner, progress, lock, last), work.request)
            seconds = time.monotonic() - began - (lock.waited - waited)
            found = replace(found, answer=answer, seconds=seconds)
            found = replace(found, report=judged(work.report, answer, work.digests, compared=work.compared))
        except SandboxFailure as failure:
            if self._aborted:
                raise StepFault(ABORTED) from failure
            raise
        except OtherCode:
            if not process.works:
                raise
        finally:
            self._leave(process, goes_on=found.ranked and not last)
            if found.answer is None or found.answer.lost:
                # the kernel may still be running, and must not slow down the next one
                self._wait_until_gone()
            lock.release()
        if self._aborted:
            raise StepFault(ABORTED)
        return found

    def _unpacked(self, packed: str) -> MeasureWork:
        """The work in a message. Raises StepFault if this slot can't do it."""
        try:
            work = decode(MeasureWork, packed)
        except MessageError as error:
            raise StepFault(f"this worker can't read the measure work: {error}") from error
        if not remains_open(work.report):
            raise StepFault(f"the check ended with {work.report.verdict}, so there is nothing to measure")
        if of_capability(work.report.arch) != self._arch:
            raise StepFault(f"the kernel is compiled for {work.report.arch}, but this slot's GPU needs {self._arch}")
        return work

    def _done(self, work: MeasureWork, found: _Outcome, explanation: Explains, busy_ms: float) -> Done:
        """The step's result. busy_ms: of the GPU before, for the same work."""
        assert found.report is not None
        assert found.answer is not None
        report = with_explanation(found.report, base64.b64decode(work.source), explanation)
        isolation = found.process.runner.isolation
        gaps = isolation.missing() if isolation is not None else ()
        report = replace(
            report,
            device=self._device_class,
            isolation=tuple(dict.fromkeys((*report.isolation, *gaps))),
            seconds={**report.seconds, "measure": round(found.seconds, 4)},
        )
        return Done(report, busy_ms=busy_ms + found.answer.busy_ms)

    # -- processes -----------------------------------------------------------------------------------------------------

    def _start(self) -> Spares:
        """The processes started ahead. Raises SandboxFailure, or NVRTCUnavailable without a compiler."""
        if self._spares is None:
            prepared = preparation(self._arch, self._cache)
            self._spares = Spares(self._device, prepared, ahead(self._device), self._wall_seconds, self._folder)
            self._spares.limit(self._processes)
        return self._spares

    def _used(self) -> _Process | None:
        """The process that measured the last kernel, if it can go on."""
        process, self._last = self._last, None
        if process is None:
            return None
        if not process.runner.usable:
            self._let_go(process.runner)
            return None
        with self._changing:
            if self._aborted:
                self._last = process
                raise StepFault(ABORTED)
            self._at_work = process.runner
        return process

    def _take(self) -> Runner:
        """A ready process for this step. Raises StepFault or SandboxFailure."""
        runner, self._kept = self._kept, None
        if runner is not None and not runner.usable:
            self._let_go(runner)
            runner = None
            if self._spares is not None:
                self._spares.give_back()
        try:
            runner = runner or self._start().take()
        except SandboxFailure:
            self._drop()
            raise
        with self._changing:
            if not self._aborted:
                self._at_work = runner
                return runner
        # the process has run no kernel, so the next step can use it
        self._kept = runner
        raise StepFault(ABORTED)

    def _leave(self, process: _Process, *, goes_on: bool) -> None:
        """Keep the process for the next kernel, or end it."""
        with self._changing:
            self._at_work = None
            if goes_on and not self._aborted:
                self._last = _Process(process.runner, process.works + 1)
                return
        self._let_go(process.runner)
        if process.works + 1 < MOST_WORKS and self._spares is not None:
            self._spares.give_back()

    def _let_go(self, runner: Runner) -> None:
        """Close a process in the background, because the driver takes a while to release a GPU."""
        self._closers = [closer for closer in self._closers if closer.is_alive()]
        closer = threading.Thread(target=runner.close, name="closer", daemon=True)
        closer.start()
        self._closers.append(closer)

    def _wait_until_gone(self) -> None:
        """Wait for the end of all processes, but not for one that a broken driver holds."""
        until = time.monotonic() + _GONE_SECONDS
        for closer in self._closers:
            closer.join(max(0.0, until - time.monotonic()))
        self._closers = [closer for closer in self._closers if closer.is_alive()]

    def _drop(self) -> None:
        """Close all processes that were started ahead. The next step starts new ones."""
        if self._kept is not None:
            self._let_go(self._kept)
            self._kept = None
        if self._last is not None:
            self._let_go(self._last.runner)
            self._last = None
        if self._spares is not None:
            self._spares.close()
            self._spares = None
