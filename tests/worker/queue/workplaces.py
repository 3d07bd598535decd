"""A workplace for tests of the queue: does what the source says, and nothing else."""

from __future__ import annotations

import base64
import time
from pathlib import Path

from kernels.report import Report
from kernels.verdict import Verdict
from kernels.wire import to_plain
from worker.contract.messages import PLAIN_BYTES, CheckWork, ExerciseText, StepKind, StepMessage, StepResult, Ticket
from worker.workplaces.workplace import ABORTED, Progress


class Patient:
    """Checks until it is told to stop."""

    kind = StepKind.CHECK

    def __init__(self) -> None:
        self._aborted = False

    def prepare(self) -> None:
        self._aborted = False

    def abort(self) -> None:
        self._aborted = True

    def close(self) -> None:
        self.abort()


class Scripted(Patient):
    """`wait PATH` ends once that file exists, `fault WHY` with a fault, `raise` in an error, `big` in a huge report."""

    def do(self, message: StepMessage, worker: str, progress: Progress) -> StepResult:
        assert message.check
        verb, _, rest = base64.b64decode(message.check.source).decode().partition(" ")
        progress("compiling")
        fault = ""
        match verb:
            case "wait":
                while not Path(rest).exists() and not self._aborted:
                    time.sleep(0.01)
                fault = ABORTED if self._aborted else ""
            case "fault":
                fault = rest
            case "raise":
                raise ZeroDivisionError(rest)
            case "big":
                report = Report(Verdict.ACCEPTED, "x" * PLAIN_BYTES, "tiled", "cpu", "sm_90", 16)
                return StepResult(message.ticket, worker, report, seconds=0.5)
        return StepResult(message.ticket, worker, None, fault=fault, seconds=0.5, busy_ms=2.0)


def message(source: str, job: int = 1, *, token: str = "t0", lease: float = 600.0) -> StepMessage:
    """A check step for it."""
    text = ExerciseText("tiled", "", "")
    work = CheckWork(base64.b64encode(source.encode()).decode(), text, "sm_90", "", "5eed")
    return StepMessage(Ticket(job, StepKind.CHECK, token), 1, lease, check=work)


def of_version(version: int, whole: StepMessage) -> dict[str, object]:
    """The message as another version would send it."""
    return {**to_plain(whole), "version": version}
