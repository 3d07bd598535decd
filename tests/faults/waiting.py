"""A workplace that accepts every kernel, as soon as it may: what the source names has to be there first."""

from __future__ import annotations

import base64
import time
from pathlib import Path

from kernels.report import Report
from kernels.verdict import Verdict
from tests.worker.queue.workplaces import Patient
from worker.contract.messages import StepMessage, StepResult
from worker.workplaces.workplace import ABORTED, Progress

_TURN_SECONDS = 0.05


class Waiting(Patient):
    """A source `// wait for PATH` waits until that file is there."""

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
