"""Where a slot does its steps: processes kept warm, one step at a time, and a result whatever happens."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from kernels.compile.nvrtc import NVRTCUnavailable
from kernels.exercise import ExerciseError
from kernels.report import Report
from worker.contract.messages import PackedWork, StepKind, StepMessage, StepResult
from worker.sandbox.limits import Failure, SandboxFailure
from worker.steps.checking import FAILURES, Progress
from worker.steps.compiling import HeadersUnavailable
from worker.steps.measuring import OtherCode

__all__ = ["Done", "Progress", "StepFault", "Workplace", "carried_out", "is_doubtful"]

logger = logging.getLogger(__name__)

ABORTED = "the step was aborted, because it is no longer this worker's"

_LONGEST_DETAIL = 500


_INSIDE = tuple(FAILURES[kind] for kind in (Failure.TIME, Failure.MEMORY, Failure.CRASH, Failure.ERROR))


def is_doubtful(fault: str) -> bool:
    """Whether a fault may have come of what was handed in: it showed in the process that had it in work."""
    return fault.startswith(_INSIDE)


class Workplace(Protocol):
    """What a slot needs of the place where it works.

    One and the same thread calls `prepare`, `do` and `close`, and lives as long as the workplace is used: sandboxed
    processes die with the thread that started them. Only `abort` is for other threads.

    kind: of the steps that can be done here
    """

    kind: StepKind

    def prepare(self) -> None:
        """Start the processes of the next step, so that they are warm when it comes. Never raises."""

    def do(self, message: StepMessage, worker: str, progress: Progress) -> StepResult:
        """One step. Never raises for what a submission or a sandbox does: that is a fault in the result.

        progress: told "compiling", "checking", "counting", "measuring", as each begins, and how far it has come, such
            as "checking 3 of 14: Width=17 real" and "measuring 12", its launches; must not raise
        """

    def abort(self) -> None:
        """End the processes of the step in work at once; `do` then returns a fault. Nothing where none is in work."""

    def close(self) -> None:
        """End all processes. Safe to call twice."""


class StepFault(RuntimeError):
    """Why a step has no report, in words for staff; not the submission's doing."""


@dataclass(frozen=True, slots=True)
class Done:
    """A step that came to an end; the fields are those of worker.contract.messages.StepResult."""

    report: Report | None
    measure: PackedWork | None = None
    busy_ms: float = 0.0


def carried_out(message: StepMessage, worker: str, work: Callable[[], Done]) -> StepResult:
    """What came of a step: what `work` says, or as a fault what it raises."""
    began = time.monotonic()
    done, fault = None, ""
    try:
        done = work()
    except _OURS as error:
        fault = _reason(error)
        logger.warning("%s: %s", message.ticket.kind, fault)
    except Exception as error:
        fault = _reason(error)
        logger.exception("%s: %s", message.ticket.kind, fault)
    seconds = round(time.monotonic() - began, 4)
    if done is None:
        return StepResult(message.ticket, worker, None, fault=fault, seconds=seconds)
    return StepResult(
        message.ticket, worker, done.report, done.measure, seconds=seconds, busy_ms=done.busy_ms
    )


_OURS = (StepFault, SandboxFailure, OtherCode, NVRTCUnavailable, HeadersUnavailable, ExerciseError)
"""What is known to go wrong on a machine; a trace would say nothing more."""


def _reason(error: Exception) -> str:
    """One line, never empty."""
    if isinstance(error, SandboxFailure):
        detail = f" ({error.detail})" if error.detail else ""
        return _line(f"{FAILURES[error.kind]}{detail}")
    if isinstance(error, ExerciseError):
        return _line(f"The exercise cannot be judged here: {error}")
    if isinstance(error, OtherCode):
        return _line(f"Another kernel was measured than the one that was checked: {error}")
    if isinstance(error, _OURS):
        return _line(str(error))
    return _line(f"The worker failed: {type(error).__name__}: {error}")


def _line(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _LONGEST_DETAIL else f"{words[:_LONGEST_DETAIL]}..."
