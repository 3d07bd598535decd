"""Many kernels judged by the GPU without the CPU device: compiled on all cores, run one at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from bench.gpu.machine import Machine, Measure, Unchecked
from bench.gpu.subjects import Subject
from kernels.report import Report
from worker.contract.measure_work import MeasureRequest, MeasureResponse
from worker.steps.grading import grade
from worker.supervision.cores import cores


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one kernel.

    reached: whether it ran on the GPU at all
    seconds: the time that it used the GPU
    """

    subject: Subject
    verdict: str
    message: str = ""
    reached: bool = False
    seconds: float = 0.0


def judge_alone(
    machine: Machine, subjects: Sequence[Subject], measure: Measure, told: Callable[[Outcome], None] = lambda _: None
) -> list[Outcome]:
    """Judge kernels by the GPU alone, in their order."""
    gpu = threading.Lock()

    def one(subject: Subject) -> Outcome:
        outcome = _judge(machine, subject, measure, gpu)
        told(outcome)
        return outcome

    with ThreadPoolExecutor(min(cores(), 16)) as pool:
        return list(pool.map(one, subjects))


def _judge(machine: Machine, subject: Subject, measure: Measure, gpu: threading.Lock) -> Outcome:
    seconds = 0.0
    reached = False

    def alone(request: MeasureRequest) -> MeasureResponse:
        nonlocal seconds, reached
        with gpu:
            reached, begun = True, time.monotonic()
            try:
                return measure(request)
            finally:
                seconds = time.monotonic() - begun

    began = time.monotonic()
    try:
        with Unchecked(alone) as stages:
            report: Report = grade(machine.job(subject), stages)
    except Exception as error:  # noqa: BLE001 - one kernel must not end the section
        taken = time.monotonic() - began
        return Outcome(subject, "none", f"{type(error).__name__}: {error}", reached, taken)
    return Outcome(subject, report.verdict.value, report.message, reached, seconds)
