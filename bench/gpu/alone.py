"""Many kernels judged by the GPU without the CPU device: compiled on all cores, run one at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from bench.gpu.machine import Machine, Unchecked
from bench.gpu.subjects import Subject
from kernels.report import Report
from worker.bench.backlog import cores
from worker.bench.lanes import Lanes
from worker.contract.measure_work import MeasureRequest, MeasureResponse
from worker.gpu.spares import Spares
from worker.sandbox.limits import Failure, SandboxFailure
from worker.steps.grading import grade


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one kernel.

    reached: whether it was run on the GPU at all
    seconds: that it had the GPU
    """

    subject: Subject
    verdict: str
    message: str = ""
    reached: bool = False
    seconds: float = 0.0


def judge_alone(
    machine: Machine,
    subjects: Sequence[Subject],
    spares: Spares,
    told: Callable[[Outcome], None] = lambda _: None,
) -> list[Outcome]:
    """In the order in which they came."""
    with Lanes([spares]) as lanes, ThreadPoolExecutor(min(cores(), 16)) as pool:

        def one(numbered: tuple[int, Subject]) -> Outcome:
            outcome = _judge(machine, *numbered, lanes)
            told(outcome)
            return outcome

        return list(pool.map(one, enumerate(subjects)))


def _judge(machine: Machine, number: int, subject: Subject, lanes: Lanes) -> Outcome:
    seconds = 0.0
    reached = False

    def measure(request: MeasureRequest) -> MeasureResponse:
        nonlocal seconds, reached
        turn = lanes.measure(number, request)
        reached = True
        seconds = (turn.ended or 0.0) - (turn.ready or turn.ended or 0.0)
        if turn.answer is None:
            raise turn.failure or SandboxFailure(Failure.ERROR)
        return turn.answer

    began = time.monotonic()
    try:
        with Unchecked(measure) as stages:
            report: Report = grade(machine.job(subject), stages)
    except Exception as error:  # noqa: BLE001 - one kernel must not end the section
        taken = time.monotonic() - began
        return Outcome(subject, "none", f"{type(error).__name__}: {error}", reached, taken)
    return Outcome(subject, report.verdict.value, report.message, reached, seconds)
