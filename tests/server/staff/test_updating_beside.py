"""An exercise that is brought up to date while others hand in, and have it graded again: all is judged by one judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import Event
from typing import Any

import pytest
from sqlalchemy import select

from kernels.exercise import schema
from kernels.exercise.model import JUDGE_VERSION
from server.assignments.exercise_update import Updated, update_exercise
from server.audit.models import AuditEvent
from server.courses.models import Assignment, Exercise
from server.database.engine import Sessions
from server.grading.models import Job
from server.grading.queue import position_of
from server.submissions.changes import regrade, retry
from tests.server.course import ACourse
from tests.server.databases import ON_POSTGRESQL
from tests.server.staff.graded import counted_queries, handed_in, newest_job

pytestmark = ON_POSTGRESQL  # SQLite has one writer at a time

A_MOMENT = 0.2


@pytest.fixture
def course(made: Sessions, monkeypatch: pytest.MonkeyPatch) -> ACourse:
    """One that measures on nothing; after ada handed in, a judge of another version is installed."""
    made_course = ACourse.make(made, device_class="")
    handed_in(made_course, "ada", source=b"// 1")
    monkeypatch.setattr(schema, "JUDGE_VERSION", JUDGE_VERSION + 1)
    return made_course


@contextmanager
def an_update(course: ACourse, beside: Callable[[], Any]) -> Iterator[Future[Any]]:
    """While the exercise is brought up to date, this begins, and has to wait."""
    with ThreadPoolExecutor(1) as pool:
        with course.sessions.begin() as session:
            update_exercise(session, session.get_one(Assignment, course.assignment), None)
            waits = pool.submit(beside)
            assert not wait([waits], timeout=A_MOMENT).done
        yield waits


def judges(course: ACourse) -> tuple[str, list[str]]:
    """What the assignment is judged by now, and what each job is, as they came."""
    with course.sessions.begin() as session:
        found = session.scalars(
            select(Exercise.digest).join(Job, Job.exercise_id == Exercise.id).order_by(Job.id)
        ).all()
        return session.get_one(Assignment, course.assignment).exercise.digest, list(found)


def test_what_is_handed_in_meanwhile_is_judged_by_the_new_judge(course: ACourse) -> None:
    course.person("bob")
    with an_update(course, lambda: course.hand_in("bob", source=b"// 2")) as waits:
        waits.result()
    now, (before, after) = judges(course)
    assert after == now != before


def test_what_is_handed_in_as_it_begins_is_taken_along(course: ACourse, monkeypatch: pytest.MonkeyPatch) -> None:
    """The submission is in nobody's sight yet when the update looks for what waits."""
    read, go_on = Event(), Event()

    def slowly(*given: Any) -> Any:
        read.set()
        assert go_on.wait(10)
        return position_of(*given)

    def update() -> Updated | None:
        with course.sessions.begin() as session:
            return update_exercise(session, session.get_one(Assignment, course.assignment), None)

    course.person("bob")
    monkeypatch.setattr("server.submissions.service.position_of", slowly)
    with ThreadPoolExecutor(2) as pool:
        handing_in = pool.submit(course.hand_in, "bob", source=b"// 2")
        assert read.wait(10)
        updating = pool.submit(update)
        assert not wait([updating], timeout=A_MOMENT).done
        go_on.set()
        handing_in.result()
        assert updating.result() == Updated(judges=True, waiting=1)
    now, (_, after) = judges(course)
    assert after == now


@pytest.mark.parametrize("way", ["all", "one"])
def test_what_is_graded_again_meanwhile_is_judged_by_the_new_judge(course: ACourse, way: str) -> None:
    def again() -> None:
        with course.sessions.begin() as session:
            if way == "one":
                retry(session, newest_job(course, 1), None)
            else:
                regrade(session, session.get_one(Assignment, course.assignment), None)

    with an_update(course, again) as waits:
        waits.result()
    now, (before, after) = judges(course)
    assert after == now != before


def test_two_who_bring_it_up_to_date_at_once_do_it_once(course: ACourse) -> None:
    def update() -> Updated | None:
        with course.sessions.begin() as session:
            return update_exercise(session, session.get_one(Assignment, course.assignment), None)

    with an_update(course, update) as waits:
        assert waits.result() is None
    assert len(course.rows(select(AuditEvent))) == 1


def test_however_many_handed_in_an_update_asks_the_same(course: ACourse) -> None:
    for name in ("bob", "eve", "dan", "zoe"):
        course.hand_in(name, source=name.encode())
    with course.sessions.begin() as session, counted_queries(session.get_bind().engine) as seen:
        update_exercise(session, session.get_one(Assignment, course.assignment), None)
    assert not [one for one in seen if "FROM results" in one]
