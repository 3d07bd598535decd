"""What was handed in for an assignment, read for counting."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

from sqlalchemy import select

from kernels.verdict import Verdict
from server.accounts.models import Person
from server.courses.models import Assignment, Counts, SpeedBy
from server.grading.models import Job, JobKind, JobState, Priority, Result
from server.grading.service import Work, queue_job
from server.submissions.counted_submission import Deadlines, best, counted
from server.submissions.entries import NEWEST, deciding_entries, entries_of, ranked_entries
from server.submissions.models import Mode, Submission
from server.submissions.verdicts import update_judged_jobs
from tests.server.course import NOW, ACourse, later


def end(course: ACourse, job: int, verdict: Verdict, *, ranked: bool = True, **result: Any) -> None:
    """Let a job have that verdict, with a result of these numbers."""
    with course.sessions.begin() as session:
        row = session.get_one(Job, job)
        row.state, row.verdict, row.ended_at = JobState.DONE, verdict, NOW
        update_judged_jobs(session, [row])
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
            JobKind.REGRADE, Priority.REGRADE, row.person_id, row.source_digest, row.exercise_id, row.arch,
            submission=row.submission_id,
        )  # fmt: skip
        queued = queue_job(session, work, NOW)
        return queued.job


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
            (person, [one.public_id for one in own]) for person, own in ranked_entries(session, assignment, everybody)
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


def test_a_speed_on_another_device_is_no_score(course, made):
    """Or whoever has the faster GPU measure it, or had before staff chose another, would be the faster one."""
    elsewhere, here = course.job("ada"), course.job("ada", now=later(5))
    end(course, elsewhere, Verdict.ACCEPTED, gflops=9_000.0, ms_median=1.0)
    end(course, here, Verdict.ACCEPTED, gflops=7.0, ms_median=2.0)
    with made.begin() as session:
        session.get_one(Job, elsewhere).device_class = "b200"
        # a worker's own word for what it measured on: it is asked for a device, and held to that
        session.get_one(Result, here).device_class = "b200"
    with made.begin() as session:
        assignment = session.get_one(Assignment, course.assignment)
        entries = entries_of(session, assignment, course.people["ada"])
        ((_, ranked),) = ranked_entries(session, assignment, select(Person.id))
    assert [one.score for one in entries] == [None, 7.0]
    assert "Measured on B200" in entries[0].remark
    assert [one.score for one in ranked] == [None, 7.0]
    best = counted(assignment, Deadlines(None, None), entries)
    assert best is not None
    assert best.entry is entries[1]


def test_what_is_left_out_of_many_never_counts(course, made):
    """Whatever the rule, what counts of all is what counts of those that are read for the gradebook."""
    rolls = random.Random(7)
    person = course.person("ada")
    course.job("ada")
    with made.begin() as session:
        like = session.scalars(select(Job)).one()
        for number in range(80):
            made_at = later(rolls.randrange(4 * 86_400))
            session.add(
                Submission(
                    public_id=f"s{number}", assignment_id=course.assignment, person_id=person,
                    mode=rolls.choice([Mode.CHECK, *[Mode.RANK] * 6]), source_digest=like.source_digest,
                    created_at=made_at,
                    chosen_at=made_at if rolls.random() < 0.05 else None, late_days=rolls.choice([0, 0, 0, 1, 3]),
                )
            )  # fmt: skip
        session.flush()
        for submission in session.scalars(select(Submission).where(Submission.public_id.like("s%"))).all():
            verdict = rolls.choice([Verdict.ACCEPTED, Verdict.ACCEPTED, Verdict.WRONG_ANSWER, Verdict.SYSTEM_ERROR])
            job = Job(
                kind=JobKind.SUBMISSION, submission_id=submission.id, person_id=person, seed="0" * 32, priority=2,
                source_digest=like.source_digest, exercise_id=like.exercise_id, arch="sm_90",
                device_class="h200", state=JobState.DONE, verdict=verdict, queued_at=NOW, ended_at=NOW,
            )  # fmt: skip
            session.add(job)
            job.result = Result(
                verdict=verdict, device_class="h200", report=b"", recorded_at=NOW, ranked=rolls.random() < 0.8,
                gflops=rolls.choice([None, 1.0, 2.0, rolls.random() * 5]) if verdict is Verdict.ACCEPTED else None,
                cublas_share=rolls.choice([None, 0.5, rolls.random()]), goals_missed=rolls.choice([None, 0, 0, 2]),
            )  # fmt: skip
            session.flush()
            update_judged_jobs(session, [job])
    with made.begin() as session:
        assignment = session.get_one(Assignment, course.assignment)
        assignment.points = 10.0
        everything = entries_of(session, assignment, person)
        ((_, few),) = ranked_entries(session, assignment, select(Person.id))
        assert len(few) < len(everything) / 3
        last_check = [each for each in everything if each.mode is Mode.CHECK and each.judged][-1]
        for by, tiers, goals in (
            (None, "", 100.0), (None, "", 60.0), (SpeedBy.GFLOPS, "0:50 1:60 2.5:100", 100.0),
            (SpeedBy.CUBLAS, "0:40 50:80 90:90", 70.0), (SpeedBy.RUNG, "0:40 2:80 9:100", 100.0),
        ):  # fmt: skip
            assignment.speed_by, assignment.speed_tiers, assignment.goals_percent = by, tiers, goals
            for counts in Counts:
                assignment.counts = counts
                ((_, few),) = ranked_entries(session, assignment, select(Person.id))
                own = deciding_entries(session, [assignment], person, [everything[7].submission_id])[assignment.id]
                assert (own.number, own.entries[-NEWEST:]) == (len(everything), everything[-NEWEST:])
                assert {last_check, everything[7]} < set(own.entries)
                assert len(own.entries) < len(everything) / 2
                for due, percent in product((None, NOW, later(90_000), later(400_000)), (0.0, 7.5, 50.0)):
                    assignment.late_percent_per_day = percent
                    deadlines = Deadlines(due, None)
                    counts_of_all = counted(assignment, deadlines, everything)
                    assert counted(assignment, deadlines, few) == counts_of_all
                    assert counted(assignment, deadlines, own.entries) == counts_of_all
                    assert best(assignment, deadlines, own.entries) == best(assignment, deadlines, everything)
        session.rollback()
