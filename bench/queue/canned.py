"""A workplace that does nothing. It answers with a valid report, at once or after a fixed time."""

from __future__ import annotations

import os
import threading

from kernels.report import Report
from kernels.verdict import Verdict
from worker.contract.messages import StepKind, StepMessage, StepResult
from worker.workplaces.workplace import Progress

SECONDS = "BENCH_STEP_SECONDS"


class Canned:
    """Accepts every submission. The environment variable BENCH_STEP_SECONDS sets the time for it."""

    kind = StepKind.CHECK

    def __init__(self) -> None:
        self._seconds = float(os.environ.get(SECONDS, "0"))
        self._aborted = threading.Event()

    def prepare(self) -> None:
        self._aborted.clear()

    def do(self, message: StepMessage, worker: str, progress: Progress) -> StepResult:
        assert message.check is not None
        progress("checking")
        work = message.check
        if self._seconds:
            self._aborted.wait(self._seconds)
        report = Report(
            Verdict.ACCEPTED, "Nothing was looked at.", work.exercise.name, "cpu", work.arch, 16, seed=work.seed
        )
        return StepResult(message.ticket, worker, report, seconds=self._seconds)

    def abort(self) -> None:
        self._aborted.set()

    def close(self) -> None: ...
