"""A workplace that accepts every kernel, as soon as it may: what the source names has to be there first."""

from __future__ import annotations

import base64
import time
from pathlib import Path

from kernels.report import Report
from kernels.verdict import Verdict
from worker.contract.messages import StepKind, StepMessage, StepResult
from worker.workplaces.workplace import ABORTED, Progress

_TURN_SECONDS = 0.05


class Waiting:
    """A source `// wait for PATH` waits until that file is there."""

    kind = StepKind.CHECK

    def __init__(self) -> None:
        self._aborted = False

    def prepare(self) -> None:
        self._aborted = False

    def do(self, message: StepMessage, worker: str, progress: Progress) -> StepResult:
        assert message.check
        work = message.check
        progress("checking")
        _, _, path = base64.b64decode(work.source).decode().strip().partition("// wait for ")
        while path and not Path(path).exists():
            if self._aborted:
                return StepResult(message.ticket, worker, None, fault=ABORTED)
            time.sleep(_TURN_SECONDS)
        report = Report(Verdict.ACCEPTED, "Right.", work.exercise.name, "cpu", work.arch, 16, seed=work.seed)
        return StepResult(message.ticket, worker, report, seconds=_TURN_SECONDS)

    def abort(self) -> None:
        self._aborted = True

    def close(self) -> None:
        self.abort()
