"""Results as workers send them, for tests of boards and of what is shown of attempts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kernels.evidence import Evidence, Light
from kernels.launch import Launch
from kernels.verdict import Verdict
from server.dispatching.dispatch import take
from server.grading.models import Job
from server.recording.record import Recorded, record
from server.submissions.models import Submission
from tests.server.course import NOW, ACourse, check_result, measure_result
from worker.contract.messages import CPU_QUEUE, StepResult

GPU = "gpu.h200"
LAUNCH = Launch((128, 128, 1), (16, 16, 1), 0)


def checked(course: ACourse, job: int, verdict: Verdict = Verdict.ACCEPTED, **report: Any) -> Recorded:
    """What its check step found, recorded."""
    with course.sessions.begin() as session:
        take(session, CPU_QUEUE, slots=500, cap=500, now=NOW)
    with course.sessions.begin() as session:
        result = check_result(session, job, verdict)
    if report and result.report is not None:
        result = replace(result, report=replace(result.report, **report))
    return record(course.sessions, result)


def measure(course: ACourse, job: int, gflops: float, spread: float = 0.001, **measurement: Any) -> StepResult:
    """What would come back of its measurement. spread: of the interval, as a part of the median, to either side."""
    checked(course, job)
    with course.sessions.begin() as session:
        take(session, GPU, slots=500, cap=500, now=NOW)
    with course.sessions.begin() as session:
        result = measure_result(session, job, gflops)
    assert result.report is not None
    assert result.report.measurement is not None
    found = result.report.measurement
    ci = (found.ms_median * (1 - spread), found.ms_median * (1 + spread))
    changed = replace(found, **{"ci": ci, "launch": LAUNCH, **measurement})
    return replace(result, report=replace(result.report, measurement=changed))


def ranked(course: ACourse, name: str, gflops: float, spread: float = 0.001, **more: Any) -> int:
    """The job of a kernel of that speed."""
    job = course.job(name, **more)
    assert record(course.sessions, measure(course, job, gflops, spread)) is Recorded.FINAL
    return job


def modelled(gflops: float) -> dict[str, Any]:
    """Of a report: what the model allows."""
    light = Light("h200", {"Width": 64}, (), "fp32", 1.0 / gflops, gflops)
    return {"evidence": Evidence(light=(light,))}


def public_id(course: ACourse, job: int) -> str:
    """Of the submission that the job grades."""
    with course.sessions.begin() as session:
        return session.get_one(Submission, session.get_one(Job, job).submission_id).public_id
