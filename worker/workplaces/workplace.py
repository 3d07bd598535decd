"""The interface of a workplace: warm processes, one step at a time, and a result in any case."""

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
from worker.steps.compile_requests import HeadersUnavailable
from worker.steps.cpu_check import FAILURES, Progress
from worker.steps.gpu_measurement import OtherCode

__all__ = ["Done", "Progress", "StepFault", "Workplace", "carried_out", "is_doubtful"]

logger = logging.getLogger(__name__)

ABORTED = "the step was aborted, because this worker no longer has it"

_LONGEST_DETAIL = 500


_INSIDE = tuple(FAILURES[kind] for kind in (Failure.TIME, Failure.MEMORY, Failure.CRASH, Failure.ERROR))


def is_doubtful(fault: str) -> bool:
    """Whether the submission may have caused a fault, because it occurred in the submission's process."""
    return fault.startswith(_INSIDE)


class Workplace(Protocol):
    """A place that runs a slot's steps.

    One long-lived thread must call `prepare`, `do` and `close`, because sandboxed processes die with the thread that
    started them. Other threads may only call `abort`.

    kind: the kind of its steps
    """

    kind: StepKind

    def prepare(self) -> None:
        """Start the next step's processes, so that they are warm in time. Never raises."""

    def do(self, message: StepMessage, worker: str, progress: Progress) -> StepResult:
        """Run one step. Failures of a submission or a sandbox don't raise; the result contains them.

        progress: called with "compiling", "checking", "counting" or "measuring" as each begins. Details follow, such as
            "checking 3 of 14: Width=17 real" or "measuring 12" (launches). It must not raise.
        """

    def abort(self) -> None:
        """Kill the running step's processes, if any; `do` then returns a fault."""

    def close(self) -> None:
        """End all processes. Safe to call twice."""


class StepFault(RuntimeError):
    """Why a step has no report, for course staff. The submission is not the cause."""


@dataclass(frozen=True, slots=True)
class Done:
    """A finished step, with the fields of worker.contract.messages.StepResult.

    waited: seconds that don't count for the step
    """

    report: Report | None
    measure: PackedWork | None = None
    busy_ms: float = 0.0
    waited: float = 0.0


def carried_out(message: StepMessage, worker: str, work: Callable[[], Done]) -> StepResult:
    """Run a step's `work`, and turn its result or its exception into a StepResult."""
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
    seconds = round(time.monotonic() - began - (done.waited if done is not None else 0.0), 4)
    if done is None:
        return StepResult(message.ticket, worker, None, fault=fault, seconds=seconds)
    return StepResult(message.ticket, worker, done.report, done.measure, seconds=seconds, busy_ms=done.busy_ms)


_OURS = (StepFault, SandboxFailure, OtherCode, NVRTCUnavailable, HeadersUnavailable, ExerciseError)
"""Known failures of a machine, logged without a traceback."""


def _reason(error: Exception) -> str:
    """The error as one line, never empty."""
    if isinstance(error, SandboxFailure):
        detail = f" ({error.detail})" if error.detail else ""
        return _line(f"{FAILURES[error.kind]}{detail}")
    if isinstance(error, ExerciseError):
        return _line(f"This worker can't judge the exercise: {error}")
    if isinstance(error, OtherCode):
        return _line(f"The measured kernel differs from the checked kernel: {error}")
    if isinstance(error, _OURS):
        return _line(str(error))
    return _line(f"Internal error in the worker: {type(error).__name__}: {error}")


def _line(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _LONGEST_DETAIL else f"{words[:_LONGEST_DETAIL]}..."
