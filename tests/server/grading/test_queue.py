"""A job's place, and what can honestly be said of its wait."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import select, update

from kernels.wire import to_plain
from server.database.engine import Sessions
from server.dispatching.dispatch import take
from server.fleet.models import Worker
from server.fleet.service import HEARD
from server.grading import queue
from server.grading.attempts import claimed
from server.grading.models import Job, Step, StepState
from server.grading.queue import PROMPT, Place, place_of, places
from tests.server.course import NOW, WORKER, step_of
from tests.server.databases import ON_BOTH, ON_ONE
from worker.contract.fleet import SlotRecord, WorkerRecord, WorkerState
from worker.contract.messages import CPU_QUEUE


def place(made: Sessions, job: int, now: datetime = NOW) -> Place:
    with made.begin() as session:
        alone = place_of(session, session.get_one(Job, job), now)
        step = session.scalar(select(Step).where(Step.job_id == job, Step.state != StepState.DONE))
        if step is not None:
            assert places(session, [step], now) == {step.id: alone}
        return alone


def workers(made: Sessions, slots: int, beat: datetime = NOW) -> None:
    told = tuple(SlotRecord(f"cpu-{i}", CPU_QUEUE, "", WorkerState.IDLE) for i in range(slots))
    record = WorkerRecord("w", "host", 1, WorkerState.IDLE, told, 0.0)
    with made.begin() as session:
        session.add(Worker(id="w", host="h", state="idle", record=to_plain(record), first_seen=NOW, last_beat=beat))


def ended(made: Sessions, job: int, seconds: float, at: datetime = NOW) -> None:
    with made.begin() as session:
        session.execute(
            update(Step).where(Step.job_id == job).values(state=StepState.DONE, seconds=seconds, ended_at=at)
        )


@ON_ONE
def test_the_wait_is_what_is_ahead_at_the_usual_pace(course, made):
    done = [course.job(f"d{i}") for i in range(3)]
    for job, seconds in zip(done, (3.0, 4.0, 90.0), strict=True):
        ended(made, job, seconds)
    workers(made, 2)
    jobs = [course.job(f"p{i}") for i in range(9)]
    with made.begin() as session:
        for step in take(session, CPU_QUEUE, slots=2, cap=4, now=NOW)[:2]:
            session.flush()
            claimed(session, step, WORKER, NOW)
    assert place(made, jobs[0]) == Place(0, 0.0)
    assert place(made, done[0]) == Place(None)
    assert place(made, jobs[2]).position == 1
    last = place(made, jobs[8])
    assert last.position == 7
    assert last.seconds == 4.0 * (6 + 2 / 2) / 2
    assert last.reason == ""


def test_a_free_slot_takes_it_at_once(course, made):
    workers(made, 2)
    assert place(made, course.job("ada")) == Place(1, 0.0)


def test_nothing_starts_at_once_that_a_free_slot_has_left_for_long(course, made):
    job = course.job("ada")
    later = NOW + PROMPT + timedelta(seconds=1)
    workers(made, 2, beat=later)
    found = place(made, job, later)
    assert (found.position, found.seconds) == (1, None)
    assert found.reason
    ended(made, course.job("ben"), 1.0, later)
    assert place(made, job, later) == Place(1, 0.0)


def test_silent_workers_promise_nothing(course, made):
    workers(made, 2)
    job = course.job("ada")
    with made.begin() as session:
        session.execute(update(Step).values(queued_at=NOW + HEARD))
    found = place(made, job, NOW + HEARD)
    assert (found.position, found.seconds) == (1, None)
    assert "haven't reported lately" in found.reason


def test_where_no_worker_lives_nobody_can_tell(course, made):
    job = course.job("ada")
    with made.begin() as session:
        step_of(session, job).queue = "gpu.h200"
    found = place(made, job)
    assert (found.position, found.seconds) == (1, None)
    assert "measures on h200" in found.reason


def test_where_nothing_was_graded_yet_nobody_can_tell(course, made):
    workers(made, 1)
    jobs = [course.job(f"p{i}") for i in range(3)]
    found = place(made, jobs[2])
    assert (found.position, found.seconds) == (3, None)
    assert found.reason


def test_counting_ends_somewhere(course, made, monkeypatch):
    monkeypatch.setattr(queue, "COUNTED", 2)
    workers(made, 1)
    jobs = [course.job(f"p{i}") for i in range(5)]
    assert place(made, jobs[2]).text == "more than 2 ahead in the queue" or place(made, jobs[2]).position == 3
    found = place(made, jobs[4])
    assert (found.position, found.seconds) == (3, None)
    assert found.text == "more than 2 ahead in the queue"


@ON_BOTH
def test_steps_that_were_sent_together_have_places_of_their_own(course, made):
    jobs = [course.job(f"p{i}") for i in range(3)]
    with made.begin() as session:
        assert len(take(session, CPU_QUEUE, slots=2, cap=4, now=NOW)) == 3
    assert [place(made, job).position for job in jobs] == [1, 2, 3]
