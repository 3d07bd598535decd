"""What staff do to jobs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait

import pytest
from sqlalchemy import select

from kernels.verdict import Verdict
from server.audit.models import AuditEvent
from server.courses.models import Assignment
from server.database.engine import Sessions
from server.dispatching.dispatch import take
from server.grading.models import Job, JobKind, JobState, Priority, StepState
from server.recording.record import Recorded, record
from server.submissions.changes import NotPossible, cancel, regrade, retry
from server.submissions.service import latest_job
from tests.server.course import AFTER_ANY_PAUSE, NOW, check_result, step_of
from tests.server.databases import ON_BOTH, ON_POSTGRESQL
from worker.contract.messages import CPU_QUEUE


def graded(made: Sessions, job: int, verdict: Verdict = Verdict.DATA_RACE) -> None:
    with made.begin() as session:
        take(session, CPU_QUEUE, slots=50, cap=50, now=NOW)
    with made.begin() as session:
        result = check_result(session, job, verdict)
    assert record(made, result) is Recorded.FINAL


def given_up(made: Sessions, job: int) -> None:
    for _ in range(3):
        with made.begin() as session:
            take(session, CPU_QUEUE, slots=50, cap=50, now=AFTER_ANY_PAUSE)
        with made.begin() as session:
            result = check_result(session, job, report=None, measure=None, fault="no")
        record(made, result)


@ON_BOTH
def test_what_failed_by_our_fault_is_graded_again_with_attempts_of_its_own(course, made):
    old = course.job("ada")
    given_up(made, old)
    with made.begin() as session:
        new = retry(session, old, None).id
    with made.begin() as session:
        job = session.get_one(Job, new)
        assert (job.kind, job.priority, job.state) == (JobKind.REGRADE, Priority.NORMAL, JobState.QUEUED)
        assert step_of(session, new).attempt == 0
        assert session.get_one(Job, old).verdict is Verdict.SYSTEM_ERROR
        assert job.seed != session.get_one(Job, old).seed
        event = session.scalars(select(AuditEvent).where(AuditEvent.action == "job.retried")).one()
        assert (event.subject, event.detail) == (f"job {old}", {"job": new})
    graded(made, new)
    with made.begin() as session:
        assert latest_job(session, session.get_one(Job, old).submission_id or 0).verdict is Verdict.DATA_RACE


def test_what_has_a_verdict_waits_behind_everyone_when_it_is_graded_again(course, made):
    old = course.job("ada")
    graded(made, old)
    with made.begin() as session:
        assert retry(session, old, None).priority == Priority.REGRADE


def test_only_what_is_over_and_the_last_of_its_submission_is_retried(course, made):
    old = course.job("ada")
    with made.begin() as session, pytest.raises(NotPossible, match="is queued"):
        retry(session, old, None)
    graded(made, old)
    with made.begin() as session:
        new = retry(session, old, None).id
    with made.begin() as session, pytest.raises(NotPossible, match=f"Job {new}"):
        retry(session, old, None)


def test_a_cancelled_job_is_over_and_can_be_retried(course, made):
    job = course.job("ada")
    with made.begin() as session:
        assert cancel(session, job, None) == []
    with made.begin() as session:
        assert session.get_one(Job, job).state is JobState.CANCELLED
        assert step_of(session, job).state is StepState.CANCELLED
        assert take(session, CPU_QUEUE, slots=5, cap=5, now=NOW) == []
        with pytest.raises(NotPossible):
            cancel(session, job, None)
    with made.begin() as session:
        assert retry(session, job, None).priority == Priority.NORMAL


def test_a_regrade_takes_the_assignment_as_it_is_now_and_leaves_out_what_waits_for_that(course, made):
    first, second = course.job("ada"), course.job("bob", source=b"// b")
    waiting = course.job("eve", source=b"// c")
    for job in (first, second):
        graded(made, job)
    with made.begin() as session:
        assignment = session.get_one(Assignment, course.assignment)
        assignment.tile = 8
    with made.begin() as session:
        made_jobs = regrade(session, session.get_one(Assignment, course.assignment), None)
    with made.begin() as session:
        jobs = [session.get_one(Job, number) for number in made_jobs]
        assert [job.id for job in jobs] == sorted(job.id for job in jobs)
        assert [(job.state, step_of(session, job.id).state) for job in jobs] == [
            (JobState.QUEUED, StepState.QUEUED)
        ] * 2
        assert len({job.seed for job in jobs}) == 2
        assert [job.submission_id for job in jobs] == [
            session.get_one(Job, first).submission_id, session.get_one(Job, second).submission_id,
        ]  # fmt: skip
        assert {(job.kind, job.priority, job.tile) for job in jobs} == {(JobKind.REGRADE, Priority.REGRADE, 8)}
        assert session.get_one(Job, waiting).state is not JobState.DONE
    with made.begin() as session:
        assert regrade(session, session.get_one(Assignment, course.assignment), None) == []


@ON_POSTGRESQL
def test_two_regrades_of_one_assignment_come_one_after_the_other(course, made):
    """What is noted of each names its first and last job: none of the other's may lie between them."""
    jobs = [course.job(name, source=name.encode()) for name in ("ada", "bob", "eve")]
    for job in jobs:
        graded(made, job)

    def again(*submissions: int) -> list[int]:
        with made.begin() as session:
            return regrade(session, session.get_one(Assignment, course.assignment), None, only=submissions)

    with ThreadPoolExecutor(1) as pool:
        with made.begin() as session:
            assignment = session.get_one(Assignment, course.assignment)
            first = regrade(session, assignment, None, only=[1])
            other = pool.submit(again, 1, 2)
            assert not wait([other], timeout=0.3).done
            first += regrade(session, assignment, None, only=[3])
        assert len(first) == 2
        assert len(other.result()) == 1, "the first one is queued already"
        assert min(other.result()) > max(first)
