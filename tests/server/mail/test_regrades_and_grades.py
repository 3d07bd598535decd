"""What people hear of regrades, and of grades that course staff release or change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine, update
from sqlalchemy.orm import Session

from kernels.verdict import Verdict
from server.acts.act import assignment_target
from server.assignments.settings import SETTINGS
from server.courses.models import Assignment
from server.grades.corrections import CORRECTION, Decision
from server.grading.models import Job
from server.mail.sender import Mailer
from server.regrades.staging import apply, stage
from server.submissions.changes import regrade, retry
from server.submissions.models import Submission
from tests.server.course import ACourse
from tests.server.databases import ON_SQLITE
from tests.server.mail.smtp import Inbox, inbox
from tests.server.staff.test_staged_regrades import graded

pytestmark = ON_SQLITE
FAST = 2_000.0
NEW, RELEASED, CHANGED = (
    f"[GPU] {what}: Tiled"
    for what in ("New verdict after a regrade", "Your grade is released", "Course staff changed your grade")
)


@pytest.fixture
def mails() -> Iterator[Inbox]:
    with inbox() as kept:
        yield kept


@pytest.fixture
def taught(course: ACourse) -> ACourse:
    """Ada's kernel was accepted and Bob's not."""
    course.change(points=10)
    for name, verdict in (("ada", FAST), ("bob", Verdict.WRONG_ANSWER)):
        graded(course, course.job(name, source=f"// {name}\n".encode()), verdict)
    return course


def told(course: ACourse, mails: Inbox) -> dict[str, list[str]]:
    """The subjects of all that came, by person."""
    engine = course.sessions.kw["bind"]
    assert isinstance(engine, Engine)
    now = datetime.now(UTC) + timedelta(minutes=1)
    for _ in range(2):
        Mailer(engine, mails.server, "https://tilelab.example").round(now)
    found = {name: mails.subjects(name) for name in ("ada", "bob", "cleo")}
    mails.received.clear()
    return found


def assignment(session: Session, course: ACourse) -> Assignment:
    return session.get_one(Assignment, course.assignment)


def hold(course: ACourse, *, held: bool) -> None:
    with course.sessions.begin() as session:
        SETTINGS.carry_out(
            session, assignment_target(assignment(session, course)), None, lambda now: replace(now, grades_held=held)
        )


def correct(course: ACourse, name: str, **decision: object) -> None:
    with course.sessions.begin() as session:
        on = assignment_target(assignment(session, course), course.people[name])
        CORRECTION.carry_out(session, on, None, lambda _: Decision(**{"reason": "Ill.", **decision}))  # type: ignore[arg-type]


def test_one_hears_once_of_verdicts_that_a_regrade_changed(taught: ACourse, mails: Inbox) -> None:
    with taught.sessions.begin() as session:
        jobs = regrade(session, assignment(session, taught), None)
    graded(taught, jobs[0], Verdict.WRONG_ANSWER)
    assert told(taught, mails) == {"ada": [NEW], "bob": [], "cleo": []}
    graded(taught, jobs[1], Verdict.WRONG_ANSWER)
    assert told(taught, mails) == {"ada": [], "bob": [], "cleo": []}


def test_a_staged_regrade_tells_once_it_is_applied(taught: ACourse, mails: Inbox) -> None:
    with taught.sessions.begin() as session:
        jobs = stage(session, assignment(session, taught), None, None)
    for job in jobs:
        graded(taught, job, FAST)
    assert told(taught, mails) == {"ada": [], "bob": [], "cleo": []}
    with taught.sessions.begin() as session:
        apply(session, assignment(session, taught), None)
    assert told(taught, mails) == {"ada": [], "bob": [NEW], "cleo": []}


def test_released_grades_reach_who_submitted(taught: ACourse, mails: Inbox) -> None:
    taught.person("cleo")
    hold(taught, held=True)
    assert told(taught, mails) == {"ada": [], "bob": [], "cleo": []}
    hold(taught, held=False)
    assert told(taught, mails) == {"ada": [RELEASED], "bob": [RELEASED], "cleo": []}
    hold(taught, held=True)
    hold(taught, held=False)
    hold(taught, held=True)
    assert told(taught, mails) == {"ada": [], "bob": [], "cleo": []}


def test_a_changed_grade_is_told_unless_it_is_held(taught: ACourse, mails: Inbox) -> None:
    correct(taught, "ada", score=10.0)
    correct(taught, "bob", score=10.0, held=True)
    assert told(taught, mails) == {"ada": [CHANGED], "bob": [], "cleo": []}
    correct(taught, "bob", score=10.0)
    assert told(taught, mails)["bob"] == [RELEASED]
    correct(taught, "bob", score=10.0, reason="Ill, and for course staff only.")
    assert told(taught, mails)["bob"] == []


def test_a_late_first_verdict_after_a_system_error_is_told(taught: ACourse, mails: Inbox) -> None:
    job = taught.job("cleo", source=b"// cleo\n")
    graded(taught, job, Verdict.SYSTEM_ERROR)
    with taught.sessions.begin() as session:
        number = retry(session, job, None).id
    graded(taught, number, Verdict.WRONG_ANSWER)
    with taught.sessions.begin() as session:
        session.execute(update(Submission).values(created_at=datetime.now(UTC) - timedelta(hours=1)))
        session.execute(update(Job).where(Job.id == number).values(ended_at=datetime.now(UTC)))
    assert told(taught, mails)["cleo"] == ["[GPU] Result: Tiled"]
