"""QueueOrder: who waits is served in rounds, however much another has submitted."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine, insert, select, text

from server.database.engine import Sessions, sessions
from server.dispatching.dispatch import room, take
from server.dispatching.step_choice import PAGE, Choice, Waiting, choose
from server.grading.models import Job, JobKind, Priority, Source, Step
from server.grading.queue_order import QUEUED, QueueOrder, advance, queues_with
from server.submissions.models import Submission
from tests.server.course import NOW, ACourse
from tests.server.databases import ON_BOTH
from worker.contract.messages import CPU_QUEUE, StepKind

pytestmark = ON_BOTH

BURST = 500


def queued(made: Sessions, person: int, count: int, priority: Priority = Priority.NORMAL) -> list[int]:
    """So many jobs of that person in the queue, written as the portal would."""
    course = _courses[made]
    with made.begin() as session:
        turns = QueueOrder(session, CPU_QUEUE, priority)
        first_job = (session.scalar(select(Job.id).order_by(Job.id.desc())) or 0) + 1
        submission = session.scalar(select(Submission.id).order_by(Submission.id.desc()))
        jobs, steps = [], []
        for job in range(first_job, first_job + count):
            jobs.append({
                "id": job, "kind": JobKind.SUBMISSION, "submission_id": submission, "person_id": person,
                "source_digest": course.source, "exercise_id": course.exercise, "device_class": "",
                "arch": "sm_90", "seed": "5eed", "priority": priority, "queued_at": NOW,
            })  # fmt: skip
            steps.append({
                "job_id": job, "kind": StepKind.CHECK, "queue": CPU_QUEUE, "person_id": person,
                "priority": priority, "turn": turns.next(person), "queued_at": NOW,
            })  # fmt: skip
        session.execute(insert(Job), jobs)
        session.execute(insert(Step), steps)
        return list(range(first_job, first_job + count))


class Course:
    def __init__(self, course: ACourse) -> None:
        self.course = course
        course.hand_in("first")
        with course.sessions.begin() as session:
            self.source = session.scalars(select(Source.digest)).one()
            job = session.scalars(select(Job)).one()
            self.exercise = job.exercise_id
            session.delete(session.scalars(select(Step)).one())
            session.delete(job)


_courses: dict[Sessions, Course] = {}


@pytest.fixture
def course(made):
    _courses[made] = Course(ACourse.make(made))
    yield _courses[made].course
    del _courses[made]


def taken(made: Sessions, slots: int, cap: int = 1000) -> list[tuple[int, int]]:
    """Person and job of what is taken next, in order."""
    with made.begin() as session:
        return [(step.person_id, step.job_id) for step in take(session, CPU_QUEUE, slots, cap, NOW)]


def test_a_burst_of_one_does_not_keep_fifty_others_waiting(made, course):
    greedy = course.person("greedy")
    queued(made, greedy, BURST)
    first = taken(made, slots=5)
    assert {person for person, _ in first} == {greedy}
    others = [course.person(f"p{i}") for i in range(50)]
    for person in others:
        queued(made, person, 1)
    order = [person for person, _ in taken(made, slots=40)]
    assert len(order) == 80 - len(first)
    assert set(order) >= set(others), "all fifty are among the next seventy"
    assert max(order.index(person) for person in others) <= 51


def test_two_bursts_take_turns(made, course):
    ada, bob = course.person("ada"), course.person("bob")
    queued(made, ada, 30)
    queued(made, bob, 30)
    order = [person for person, _ in taken(made, slots=10)]
    assert order == [ada, bob] * 10


def test_who_comes_again_after_waiting_for_nothing_has_gained_nothing(made, course):
    ada, bob = course.person("ada"), course.person("bob")
    queued(made, ada, 20)
    taken(made, slots=5)
    queued(made, bob, 20)
    order = [person for person, _ in taken(made, slots=30)]
    assert order == [ada, bob] * 10 + [bob] * 10


def test_a_lower_priority_number_goes_first(made, course):
    ada, staff = course.person("ada"), course.person("staff")
    queued(made, ada, 3, Priority.REGRADE)
    queued(made, ada, 3)
    queued(made, staff, 2, Priority.STAFF)
    order = [person for person, _ in taken(made, slots=2)]
    assert order == [staff, staff, ada, ada]


def test_the_cap_holds_while_somebody_else_waits_and_idles_no_slot_otherwise(made, course):
    ada, bob = course.person("ada"), course.person("bob")
    queued(made, ada, 50)
    queued(made, bob, 3)
    order = [person for person, _ in taken(made, slots=3, cap=2)]
    assert sorted(order[:4]) == sorted([ada, bob] * 2)
    assert order[4:] == [ada, ada] or order[4:] == [ada, bob]
    assert len(order) == 6


def test_people_beyond_the_first_page_are_found(made, course):
    ada, bob = course.person("ada"), course.person("bob")
    queued(made, ada, 2 * PAGE)
    queued(made, bob, 1, Priority.REGRADE)
    order = [person for person, _ in taken(made, slots=3, cap=3)]
    assert order == [ada, ada, ada, bob, ada, ada]


@pytest.mark.parametrize("priority", [Priority.STAFF, Priority.DEADLINE])
def test_where_there_is_one_slot_nobody_takes_all_of_it(made, course, priority):
    ada, bob = course.person("ada"), course.person("bob")
    queued(made, ada, 10, priority)
    queued(made, bob, 1)
    assert [person for person, _ in taken(made, slots=1, cap=4)] == [ada, bob]


def test_steps_by_the_thousand_hide_nobody_who_waits_behind_them(made, course):
    ada, bob, carl = (course.person(name) for name in ("ada", "bob", "carl"))
    queued(made, ada, 6 * PAGE, Priority.STAFF)
    with made.begin() as session:
        advance(session, CPU_QUEUE, {Priority.STAFF: 5 * PAGE})
    queued(made, carl, 3, Priority.REGRADE)
    queued(made, bob, 1, Priority.STAFF)
    queued(made, bob, 3, Priority.DEADLINE)
    # bob's first is behind five pages of ada's in the same priority, the others are in others
    order = [person for person, _ in taken(made, slots=4, cap=3)]
    assert order == [ada, ada, ada, bob, bob, bob, carl, carl]
    assert [person for person, _ in taken(made, slots=5, cap=4)] == [ada, bob]
    assert [person for person, _ in taken(made, slots=7, cap=3)] == [carl, ada, ada, ada]


def test_those_that_take_at_once_never_take_the_same(postgres_engine):
    made = sessions(postgres_engine)
    course = ACourse.make(made)
    for i in range(40):
        course.hand_in(f"p{i}")

    def work(_: int) -> list[int]:
        mine: list[int] = []
        for _ in range(30):
            with made.begin() as session:
                mine += [step.id for step in take(session, CPU_QUEUE, slots=50, cap=1, now=NOW)]
        return mine

    with ThreadPoolExecutor(4) as pool:
        found = [step for mine in pool.map(work, range(4)) for step in mine]
    assert len(found) == 40
    assert len(set(found)) == 40


def waiting(*people: int) -> list[Waiting]:
    return [Waiting(2, number, number, person) for number, person in enumerate(people, 1)]


def test_choosing_takes_no_more_than_there_is_room_for():
    choice = Choice({}, cap=4, room=2)
    choice.offer(waiting(1, 2, 3))
    assert [step.step for step in choice.all()] == [1, 2]
    choice = Choice({}, cap=4, room=0)
    choice.offer(waiting(1))
    assert choice.all() == []


def test_choosing_passes_over_who_has_enough_and_comes_back_to_them_last():
    choice = Choice({1: 4, 3: 3}, cap=4, room=3)
    choice.offer(waiting(1, 1, 2, 3))
    assert [step.step for step in choice.all()] == [3, 4, 1]
    assert set(choice.sated) == {1, 3}


def test_the_room_follows_the_slots():
    assert room(0, 0) == 2
    assert room(0, 5) == 0
    assert room(3, 1) == 5


def test_the_queues_in_which_something_waits(made, course):
    with made.begin() as session:
        assert queues_with(session, QUEUED) == []
    queued(made, course.person("ada"), 2)
    with made.begin() as session:
        session.scalars(select(Step).limit(1)).one().queue = "gpu.h200"
    with made.begin() as session:
        assert queues_with(session, QUEUED) == ["cpu", "gpu.h200"]


def test_a_long_queue_is_neither_scanned_nor_sorted(postgres_engine: Engine):
    made = sessions(postgres_engine)
    course = ACourse.make(made)
    _courses[made] = Course(course)
    people = [course.person(f"p{i}") for i in range(22)]
    with postgres_engine.connect() as connection:
        connection.execute(text(_MANY_JOBS), {"person": people[0], "exercise": _courses[made].exercise})
        connection.execute(text(_MANY_STEPS), {"other": people[1]})
        connection.commit()
    for person in people[2:]:
        queued(made, person, 2, Priority.REGRADE)
    with postgres_engine.connect() as connection:
        connection.execute(text("ANALYZE steps"))
        connection.commit()
    plans = explained(postgres_engine, made)
    assert plans
    for statement, plan in plans:
        assert "Seq Scan" not in plan, statement
        assert "Sort" not in plan, statement
    assert any("Index Scan using ix_steps_turn_of" in plan and "Recursive" in plan for _, plan in plans)
    with made.begin() as session:
        taken = take(session, CPU_QUEUE, slots=8, cap=1, now=NOW)
        assert {step.person_id for step in taken} == set(people[:16])
    del _courses[made]


_MANY_JOBS = """
INSERT INTO jobs (id, kind, submission_id, person_id, source_digest, exercise_id, device_class, arch, seed,
                  priority, state, queued_at)
SELECT n, 'submission', submissions.id, :person, submissions.source_digest, :exercise, '', 'sm_90', '5eed', 2,
       'queued', now()
FROM generate_series(1001, 21000) AS n, submissions
"""
_MANY_STEPS = """
INSERT INTO steps (job_id, kind, state, queue, person_id, priority, turn, attempt, queued_at)
SELECT id, 'check', 'queued', 'cpu', CASE WHEN id % 10 = 0 THEN :other ELSE person_id END, 2, id - 1000, 0, now()
FROM jobs WHERE id > 1000
"""


def explained(engine: Engine, made: Sessions) -> list[tuple[str, str]]:
    """The plans of all that joining and picking ask of the table of steps."""
    from sqlalchemy import event

    asked: list[tuple[str, object]] = []

    def listen(connection, cursor, statement, parameters, context, many):
        if statement.startswith(("SELECT", "WITH")) and "steps" in statement and "FOR UPDATE" not in statement:
            asked.append((statement, parameters))

    event.listen(engine, "before_cursor_execute", listen)
    with made.begin() as session:
        # the head of the queue is full of two people, so that all is asked for that there is to ask
        choose(session, CPU_QUEUE, cap=1, room=8, now=NOW)
        QueueOrder(session, CPU_QUEUE, Priority.NORMAL).next(1)
        QueueOrder(session, CPU_QUEUE, Priority.NORMAL).next(2)
        queues_with(session, QUEUED)
    event.remove(engine, "before_cursor_execute", listen)
    with engine.connect() as connection:
        return [
            (
                statement,
                "\n".join(
                    row[0]
                    for row in connection.exec_driver_sql(f"EXPLAIN {statement}", parameters)  # type: ignore[arg-type]
                ),
            )
            for statement, parameters in asked
        ]
