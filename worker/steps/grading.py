"""All steps of `tilelab grade`: source rules, compilation, check, measurement, report."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from kernels.report import Report
from worker.contract.measure_work import MeasureRequest, MeasureResponse
from worker.sandbox.limits import Failure, SandboxFailure
from worker.steps.compile_requests import HeadersUnavailable
from worker.steps.cpu_check import (
    WARNING_LIMIT,
    Job,
    NoSuchCase,
    Planned,
    Progress,
    check,
    count,
    plan_for,
    system_error,
)
from worker.steps.explanation import with_explanation
from worker.steps.gpu_measurement import OtherCode, answer_of, judged
from worker.steps.stages import Clock, Stages

__all__ = ["WARNING_LIMIT", "HeadersUnavailable", "Job", "NoSuchCase", "Progress", "grade"]


def grade(job: Job, stages: Stages, progress: Progress = lambda _: None) -> Report:
    """Grade one source.

    raise (NoSuchCase): no case has the name `job.case`
    raise (NVRTCUnavailable, HeadersUnavailable): the compiler or its headers are missing
    """
    clock = Clock()
    plan = None
    try:
        planned = plan_for(job, stages, clock)
        if isinstance(planned, Report):
            return planned
        plan = planned.plan
        return _run(planned, stages, clock, progress)
    except SandboxFailure as failure:
        return system_error(job, plan, failure, clock.seconds, stages.isolation())
    except OtherCode as mistake:
        fault = SandboxFailure(Failure.ERROR, str(mistake))
        return system_error(job, plan, fault, clock.seconds, stages.isolation())


def _run(planned: Planned, stages: Stages, clock: Clock, progress: Progress) -> Report:
    checked = check(planned, stages, clock, progress)
    if isinstance(checked, Report):
        return checked
    if checked.asked is None:
        return count(checked, stages, clock, progress)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(_measure, stages, checked.asked, clock)
        report = count(checked, stages, clock, lambda _: progress("measuring on the GPU"))
        report = judged(report, answer.result(), checked.digests, compared=checked.compared)
    report = with_explanation(report, planned.job.source, stages)
    # the isolation of the GPU process is known only now
    return replace(report, device=planned.job.gpu, isolation=stages.isolation(), seconds=dict(clock.seconds))


def _measure(stages: Stages, measure_request: MeasureRequest, clock: Clock) -> MeasureResponse:
    """The measure step. It has its own clock, because it runs during the counting."""
    own = Clock()
    try:
        return answer_of(stages, measure_request)
    finally:
        own.lap("measure")
        clock.seconds |= own.seconds
