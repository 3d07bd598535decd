"""Handing in: once for each key, whoever asks at the same time, and only what may be handed in."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import delete, func, select, text

from kernels.wire import to_plain
from server.accounts.limits import Limit, count_in
from server.accounts.models import Person, RateCount
from server.courses.models import SOURCE_BYTES, Assignment, Course, Role
from server.database.engine import Sessions
from server.fleet.models import Worker
from server.grading.models import Job, Priority, Source, Step
from server.grading.service import priority_of
from server.submissions.models import ExactCopy, Mode, Submission
from server.submissions.refusals import IdempotencyConflict, NoSuchAssignment, NotOpen, UnusableRequest
from server.submissions.service import SubmissionInput, accept, latest_job
from server.submissions.source import UnusableSource
from tests.server.course import NOW, SOURCE, SUBMITTED, ACourse, later
from tests.server.databases import ON_BOTH, ON_POSTGRESQL
from worker.contract.fleet import WorkerRecord, WorkerState


def count(made: Sessions, table: type) -> int:
    with made.begin() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def test_what_is_accepted_is_a_submission_with_a_job_and_its_first_step(course, made):
    accepted = course.hand_in("ada")
    with made.begin() as session:
        job = latest_job(session, accepted.submission.id)
        assert (job.arch, job.device_class, job.tile, job.priority) == ("sm_90", "h200", None, Priority.NORMAL)
        assert len(job.seed) == 32
        (step,) = job.steps
        assert (step.queue, step.turn, step.attempt) == ("cpu", 1, 0)
        assert job.source.content == SOURCE
    assert (accepted.position, accepted.repeated) == (1, False)
    assert course.hand_in("bob").position == 2


def test_a_request_made_twice_is_one_submission(course, made):
    first = course.hand_in("ada", key="k1")
    again = course.hand_in("ada", key="k1", now=later(60))
    assert again.submission.id == first.submission.id
    assert again.repeated
    assert again.position == 1
    assert count(made, Submission) == count(made, Job) == 1
    assert course.hand_in("ada", key="k2").submission.id != first.submission.id
    assert course.hand_in("bob", key="k1").submission.id != first.submission.id, "a key is its person's own"


@pytest.mark.parametrize("other", [{"source": b"// other"}, {"mode": Mode.CHECK}, {"device_class": "h200"}], ids=str)
def test_a_key_that_was_used_for_something_else_is_refused(course, made, other):
    course.hand_in("ada", key="k")
    with pytest.raises(IdempotencyConflict):
        course.hand_in("ada", key="k", **other)
    assert count(made, Submission) == 1


@ON_BOTH
def test_of_many_requests_at_once_one_is_accepted_and_all_are_told_of_it(course, made):
    person = course.person("ada")
    together = threading.Barrier(6)

    def ask(_: int) -> int:
        together.wait()
        return accept(made, SubmissionInput(person, course.assignment, SUBMITTED, key="k"), NOW).submission.id

    with ThreadPoolExecutor(6) as pool:
        found = set(pool.map(ask, range(6)))
    assert len(found) == 1
    assert count(made, Submission) == count(made, Job) == count(made, Step) == 1


@ON_POSTGRESQL
def test_a_submission_and_the_erasing_of_its_person_do_not_wait_for_each_other(course, made):
    person, limit = course.person("ada"), Limit("submit", 20, timedelta(minutes=1))
    submitted = SubmissionInput(person, course.assignment, SUBMITTED)
    count_one = partial(count_in, limit=limit, subject=f"person {person}", now=NOW)
    accept(made, submitted, NOW, first=count_one)
    with ThreadPoolExecutor(1) as pool:
        with made.begin() as session:
            session.get(Person, person, with_for_update=True)
            second = pool.submit(accept, made, submitted, NOW, first=count_one)
            while not session.scalar(text("SELECT count(*) FROM pg_locks WHERE NOT granted")):
                time.sleep(0.01)
            session.execute(delete(RateCount))
        assert second.result().submission.id


@ON_BOTH
def test_a_source_that_many_hand_in_at_once_is_kept_once(course, made):
    people = [course.person(f"p{i}") for i in range(6)]
    together = threading.Barrier(6)

    def ask(person: int) -> None:
        together.wait()
        accept(made, SubmissionInput(person, course.assignment, SUBMITTED), NOW)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(ask, people))
    assert count(made, Source) == 1
    assert count(made, Submission) == 6
    assert count(made, ExactCopy) == 5


@pytest.mark.parametrize("source", [b"", b"x" * (SOURCE_BYTES + 1)], ids=["empty", "too large"])
def test_a_source_within_bounds_is_needed(course, made, source):
    with pytest.raises(UnusableSource):
        course.hand_in("ada", source)
    assert count(made, Submission) == 0
    assert course.hand_in("ada", b"x" * SOURCE_BYTES).position == 1


@pytest.mark.parametrize("key", ["", "two words", "x" * 201, "\n"])
def test_a_key_is_short_and_visible(course, key):
    with pytest.raises(UnusableRequest):
        course.hand_in("ada", key=key)


def test_who_is_not_in_the_course_is_told_as_if_there_were_no_assignment(course, made):
    outside = course.person("outside", None)
    with pytest.raises(NoSuchAssignment) as told:
        accept(made, SubmissionInput(outside, course.assignment, SUBMITTED), NOW)
    with pytest.raises(NoSuchAssignment) as as_well:
        accept(made, SubmissionInput(outside, 4711, SUBMITTED), NOW)
    assert str(told.value) == str(as_well.value)


def test_before_an_assignment_opens_it_is_not_there_but_for_staff(made):
    course = ACourse.make(made, opens_at=later(3600))
    with pytest.raises(NoSuchAssignment):
        course.hand_in("ada")
    course.person("teacher", Role.INSTRUCTOR)
    assert course.hand_in("teacher").position == 1
    assert course.hand_in("ada", now=later(3601)).position == 2


def test_a_course_that_is_over_takes_nothing(course, made):
    with made.begin() as session:
        session.get_one(Course, course.course).archived_at = NOW
    with pytest.raises(NotOpen):
        course.hand_in("ada")


def test_what_is_only_checked_is_measured_on_nothing(course, made):
    accepted = course.hand_in("ada", mode=Mode.CHECK)
    assert accepted.submission.device_class == ""
    with pytest.raises(UnusableRequest):
        course.hand_in("ada", mode=Mode.CHECK, device_class="h200")


def test_another_device_class_needs_a_worker_that_has_one(course, made):
    with pytest.raises(UnusableRequest, match="h200"):
        course.hand_in("ada", device_class="b200")
    record = WorkerRecord("w", "host", 1, WorkerState.IDLE, (), 0.0, device_classes={"b200": "sm_100"})
    with made.begin() as session:
        session.add(Worker(id="w", host="host", state="idle", record=to_plain(record), first_seen=NOW, last_beat=NOW))
    accepted = course.hand_in("ada", device_class="b200")
    with made.begin() as session:
        job = latest_job(session, accepted.submission.id)
        assert (job.device_class, job.arch) == ("b200", "sm_100")


def test_priorities():
    assert priority_of(staff=True, due_at=NOW, now=NOW) is Priority.STAFF
    for hours, priority in ((-1, Priority.NORMAL), (1, Priority.DEADLINE), (3, Priority.NORMAL)):
        due = NOW + timedelta(hours=hours)
        assert priority_of(staff=False, due_at=due, now=NOW) is priority
    assert priority_of(staff=False, due_at=None, now=NOW) is Priority.NORMAL


def test_the_assignment_says_what_is_graded(made):
    course = ACourse.make(made, tile=8, device_class="", due_at=later(3600))
    accepted = course.hand_in("ada")
    with made.begin() as session:
        job = latest_job(session, accepted.submission.id)
        assignment = session.get_one(Assignment, course.assignment)
        assert (job.tile, job.device_class, job.exercise_id) == (8, "", assignment.exercise_id)
        assert job.priority == Priority.DEADLINE
