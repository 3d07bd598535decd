"""What was handed in for an assignment, read for counting."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

from kernels.verdict import Verdict
from server.accounts.models import Person
from server.courses.models import Assignment
from server.grading.accept import Work, queue_job
from server.grading.models import Job, JobKind, JobState, Priority, Result
from server.submissions.entries import entries_of, ranked_entries
from server.submissions.models import Mode, Submission
from tests.server.course import NOW, ACourse, later


@pytest.fixture
def course(made) -> ACourse:
    return ACourse.make(made)


def end(course: ACourse, job: int, verdict: Verdict, *, ranked: bool = True, **result: Any) -> None:
    """Let a job have that verdict, with a result of these numbers."""
    with course.sessions.begin() as session:
        row = session.get_one(Job, job)
        row.state, row.verdict, row.ended_at = JobState.DONE, verdict, NOW
        if result:
            session.add(
                Result(
                    job_id=job,
                    verdict=verdict,
                    device_class="h200",
                    report=b"",
                    recorded_at=NOW,
                    ranked=ranked,
                    **result,
                )
            )


def again(course: ACourse, job: int) -> int:
    """Let the same submission be graded anew."""
    with course.sessions.begin() as session:
        row = session.get_one(Job, job)
        work = Work(
            JobKind.REGRADE, Priority.REGRADE, row.person_id, row.source_digest, row.exercise_digest, row.arch,
            submission=row.submission_id,
        )  # fmt: skip
        queued = queue_job(session, work, NOW)
        session.flush()
        return queued.id


def test_each_persons_own_stand_in_the_order_in_which_they_came(course, made):
    first = course.job("ada", mode=Mode.CHECK)
    second = course.job("ada", now=later(5))
    course.job("bob", now=later(9))
    end(course, first, Verdict.WRONG_ANSWER)
    end(course, second, Verdict.ACCEPTED, gflops=7.0, ms_median=2.0, ms_low=1.9, ms_high=2.1)
    with made.begin() as session:
        assignment = session.get_one(Assignment, course.assignment)
        (waiting,) = entries_of(session, assignment, course.people["bob"])
        checked, ranked = entries_of(session, assignment, course.people["ada"])
        assert entries_of(session, assignment, 4711) == ()
        everybody = select(Person.id)
        assert [
            (person, [one.public_id for one in own])
            for person, own in ranked_entries(session, assignment, everybody)
        ] == [(course.people["ada"], [ranked.public_id])]
        assert list(ranked_entries(session, assignment, everybody.where(Person.name == "bob"))) == []
        ids = session.scalars(select(Submission.public_id).order_by(Submission.id)).all()
    assert (checked.mode, checked.verdict, checked.score) == (Mode.CHECK, Verdict.WRONG_ANSWER, None)
    assert (ranked.score, ranked.gflops, ranked.ms_low, ranked.ms_high) == (7.0, 7.0, 1.9, 2.1)
    assert ranked.created_at == later(5)
    assert waiting.verdict is None
    assert [checked.public_id, ranked.public_id, waiting.public_id] == list(ids)


def test_the_last_verdict_counts_and_a_fault_of_ours_takes_none_away(course, made):
    job = course.job("ada")
    end(course, job, Verdict.ACCEPTED, gflops=7.0)

    def seen() -> tuple[Verdict | None, float | None]:
        with made.begin() as session:
            assignment = session.get_one(Assignment, course.assignment)
            (only,) = entries_of(session, assignment, course.people["ada"])
            return only.verdict, only.score

    regrade = again(course, job)
    assert seen() == (Verdict.ACCEPTED, 7.0), "while it waits"
    end(course, regrade, Verdict.SYSTEM_ERROR)
    assert seen() == (Verdict.ACCEPTED, 7.0)
    end(course, again(course, job), Verdict.WRONG_ANSWER)
    assert seen() == (Verdict.WRONG_ANSWER, None)


def test_a_measurement_that_nobody_believes_is_no_score(course, made):
    end(course, course.job("ada"), Verdict.ACCEPTED, ranked=False, gflops=880_000.0)
    with made.begin() as session:
        (only,) = entries_of(session, session.get_one(Assignment, course.assignment), course.people["ada"])
    assert (only.score, only.gflops) == (None, 880_000.0)
