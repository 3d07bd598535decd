"""Which job gives a submission its verdict: the last one with a verdict, a system error only without any other."""

from __future__ import annotations

import pytest

from kernels.verdict import Verdict
from server.grading.models import Job, JobKind, Priority
from server.grading.service import Work, queue_job
from server.recording.record import Recorded, record
from server.standings.service import board
from server.submissions.changes import cancel, retry
from server.submissions.models import Mode, Submission
from tests.server.course import NOW, ACourse, check_result, measure_result
from tests.server.submissions.graded import given_up, graded, taken
from worker.contract.messages import StepKind


def judged(course: ACourse, job: int) -> int | None:
    """The job that gives the submission of this job its verdict."""
    with course.sessions.begin() as session:
        number = session.get_one(Job, job).submission_id
        submission = session.get_one(Submission, number)
        found = submission.judged_job
        assert submission.judged_job_id == (None if found is None else found.id)
        return submission.judged_job_id


def again(course: ACourse, job: int) -> int:
    """The job of a regrade, which waits."""
    with course.sessions.begin() as session:
        return retry(session, job, None).id


def stopped(course: ACourse, job: int) -> None:
    with course.sessions.begin() as session:
        cancel(session, job, None)


def test_a_check_has_its_verdict_from_its_only_step(course: ACourse) -> None:
    job = course.job("ada", mode=Mode.CHECK)
    assert judged(course, job) is None
    taken(course, job)
    assert judged(course, job) is None
    with course.sessions.begin() as session:
        result = check_result(session, job)
    assert record(course.sessions, result) is Recorded.FINAL
    assert judged(course, job) == job


def test_a_submission_that_is_measured_has_its_verdict_after_that(course: ACourse) -> None:
    job = course.job("ada")
    taken(course, job)
    with course.sessions.begin() as session:
        result = check_result(session, job)
    assert record(course.sessions, result) is Recorded.GOES_ON
    assert judged(course, job) is None
    taken(course, job, StepKind.MEASURE)
    with course.sessions.begin() as session:
        result = measure_result(session, job, 5_000.0)
    assert record(course.sessions, result) is Recorded.FINAL
    assert judged(course, job) == job


@pytest.mark.parametrize("first", [Verdict.ACCEPTED, Verdict.WRONG_ANSWER])
@pytest.mark.parametrize("second", [Verdict.ACCEPTED, Verdict.WRONG_ANSWER])
def test_a_regrade_counts_once_it_is_done_for_better_or_worse(course: ACourse, first, second) -> None:
    job = course.job("ada", mode=Mode.CHECK)
    graded(course, job, verdict=first)
    regrade = again(course, job)
    assert judged(course, job) == job
    taken(course, regrade)
    assert judged(course, job) == job
    with course.sessions.begin() as session:
        result = check_result(session, regrade, second)
    record(course.sessions, result)
    assert judged(course, job) == regrade


def test_a_regrade_that_ends_without_a_verdict_takes_none_away(course: ACourse) -> None:
    job = course.job("ada", mode=Mode.CHECK)
    graded(course, job)
    fault = again(course, job)
    given_up(course, fault)
    assert judged(course, job) == job
    cancelled = again(course, fault)
    stopped(course, cancelled)
    assert judged(course, job) == job


def test_a_system_error_counts_until_there_is_another_verdict(course: ACourse) -> None:
    job = course.job("ada", mode=Mode.CHECK)
    given_up(course, job)
    assert judged(course, job) == job
    second = again(course, job)
    assert judged(course, job) == job
    given_up(course, second)
    assert judged(course, job) == second
    third = again(course, second)
    stopped(course, third)
    assert judged(course, job) == second
    fourth = again(course, third)
    graded(course, fourth, verdict=Verdict.WRONG_ANSWER)
    assert judged(course, job) == fourth


def test_what_is_cancelled_before_any_verdict_has_none(course: ACourse) -> None:
    job = course.job("ada", mode=Mode.CHECK)
    stopped(course, job)
    assert judged(course, job) is None
    graded(course, again(course, job))
    assert judged(course, job) == job + 1


def test_an_earlier_job_that_ends_later_changes_neither_the_verdict_nor_the_board(course: ACourse) -> None:
    """Both are under way where staff had it graded again by a changed exercise."""
    first = course.job("ada")
    with course.sessions.begin() as session:
        row = session.get_one(Job, first)
        work = Work(
            JobKind.REGRADE, Priority.REGRADE, row.person_id, row.source_digest, row.exercise_id, row.arch,
            device_class=row.device_class, submission=row.submission_id,
        )  # fmt: skip
        queued = queue_job(session, work, NOW)
        second = queued.job
    for job, gflops in ((second, 2_000.0), (first, 9_000.0)):
        for kind in StepKind:
            taken(course, job, kind)
            with course.sessions.begin() as session:
                result = check_result(session, job) if kind is StepKind.CHECK else measure_result(session, job, gflops)
            record(course.sessions, result)
    assert judged(course, first) == second
    with course.sessions.begin() as session:
        (line,) = board(session, course.assignment, "h200").rows
    assert (line.job_id, line.score) == (second, 2_000.0)
