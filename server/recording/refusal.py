"""Tests that a worker's result must pass before it is recorded."""

from __future__ import annotations

import json
import math
import re

from kernels.report import Report, to_json
from kernels.verdict import Verdict
from server.grading.metric import metric_of
from server.grading.models import Job, Step
from worker.contract.architectures import of_capability
from worker.contract.messages import PackedWork, StepKind, StepResult

# If the CPU device doesn't know an instruction, a GPU still judges the kernel.
_GOES_ON = frozenset({Verdict.ACCEPTED, Verdict.UNSUPPORTED})
_DIGEST = re.compile("[0-9a-f]{64}")


class Refusal(ValueError):
    """The attempt has no usable report; the text tells course staff why."""


def check_result(step: Step, result: StepResult) -> Report | PackedWork:
    """The report in a result, or its work for a GPU, tested against the step's job; raises Refusal."""
    job = step.job
    report = result.report
    if not result.fault and result.measure is not None:
        _goes_on(step, job, result.measure, report)
        return result.measure
    if result.fault or report is None:
        raise Refusal(result.fault or "the worker sent neither a report nor a fault")
    # A worker's system error only ends its attempt. The job ends with one after the last attempt.
    if report.verdict is Verdict.SYSTEM_ERROR:
        raise Refusal(report.message or "the worker reports a system error without a message")
    asked = {"exercise": job.exercise.name, "arch": job.arch, "seed": job.seed}
    told = {"exercise": report.exercise, "arch": of_capability(report.arch), "seed": report.seed}
    for name, value in asked.items():
        if told[name] != value:
            raise Refusal(f"the worker's report is about another job: {name} {told[name]!r}, not {value!r}")
    if report.measurement is not None:
        # Speeds decide ranks, so an impossible one must not get into the database.
        _measured(step, job, report)
    # Refuse numbers that aren't finite: JSON can't hold them, and readers of the report would fail.
    try:
        json.dumps(to_json(report), allow_nan=False)
    except ValueError as error:
        raise Refusal(f"the worker's report holds a number that isn't finite: {error}") from error
    return report


def _goes_on(step: Step, job: Job, work: PackedWork, report: Report | None) -> None:
    """Refuse work that no GPU should do. Its contents aren't read here; the GPU's report must agree with the job."""
    if step.kind is not StepKind.CHECK or not job.device_class:
        raise Refusal("the worker asks for a measurement, but this step has none")
    if work.verdict not in _GOES_ON:
        raise Refusal(f"the worker asks for a measurement of a kernel that is {work.verdict.value}")
    if report is not None:
        raise Refusal("the worker asks for a measurement of a kernel that has a final report")
    if not work.packed.isascii() or not all(map(_DIGEST.fullmatch, work.digests)):
        raise Refusal("the worker asks for a measurement that cannot be stored")


def _measured(step: Step, job: Job, report: Report) -> None:
    """Refuse numbers that can't be of this kernel on this device."""
    measured = report.measurement
    assert measured is not None
    if step.kind is not StepKind.MEASURE:
        raise Refusal("the worker measured in a step without a measurement")
    if measured.environment.device_class != job.device_class:
        there = measured.environment.device_class
        raise Refusal(f"measured on {there!r}, not on {job.device_class!r} as requested")
    speeds = (measured.gflops, measured.gbps, measured.melements, measured.cublas_share)
    numbers = (measured.ms_median, *(speed or 0.0 for speed in speeds))
    if not all(math.isfinite(number) and number >= 0 for number in numbers) or measured.ms_median <= 0:
        raise Refusal("the worker's measured time or speed is impossible")
    if measured.metric != metric_of(job.exercise):
        raise Refusal(f"measured by {measured.metric!r}, not by the metric of the exercise")
    # A GPU can't see races. So a time counts only for the code that the CPU device has checked.
    if measured.ptx_digest and measured.ptx_digest not in (step.digests or "").split():
        raise Refusal("the worker measured other code than the checked code")
