"""Assignments and courses that nothing was submitted to are deleted; others stay."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine, func, select, text
from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.audit.models import AuditEvent
from server.courses.deletion import delete_assignment, delete_course
from server.courses.models import Assignment, Course, Exercise, Extension, Membership, StaffNote
from server.courses.service import CourseError
from server.database.base import Base
from server.exercises.stored import installed_content, keep
from server.grading.models import Job, Result, Step
from server.grading.service import keep_source
from server.submissions.models import GradingShare, Mode, Submission
from server.submissions.refusals import NoSuchAssignment
from server.talk.models import Announcement, SavedComment, SeenAnnouncement
from tests.server.course import DIGEST, NOW, SOURCE
from tests.server.databases import ON_POSTGRESQL
from tests.server.experiments.started import started
from tests.server.grading.processes import until
from tests.server.staff.proven import drafted
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient

ASSIGNMENT, COURSE = "/staff/gpu/assignments/tiled/delete", "/staff/gpu/delete"


def fill(portal: Portal) -> int:
    """Everything that a course can have before the first submission. Returns the student's ID."""
    course, ada = portal.course, portal.course.person("ada")
    with course.sessions.begin() as session:
        own = keep(session, installed_content("tiled"), course.course, NOW)
        session.get_one(Assignment, course.assignment).exercise_id = own.id
        session.add(Extension(assignment_id=course.assignment, person_id=ada, extra_attempts=1, created_at=NOW))
        session.add(StaffNote(course_id=course.course, person_id=ada, text="asks a lot", created_at=NOW))
        session.add(GradingShare(assignment_id=course.assignment, person_id=ada))
        session.add(SavedComment(course_id=course.course, text="Check Row."))
        for assignment in (None, course.assignment):
            said = Announcement(
                course_id=course.course, assignment_id=assignment, title="New", text="Soon.", created_at=NOW
            )
            session.add(said)
            session.flush()
            session.add(SeenAnnouncement(announcement_id=said.id, person_id=ada, seen_at=NOW))
    return ada


def count(portal: Portal, *tables: type[Base]) -> list[int]:
    with portal.course.sessions.begin() as session:
        return [session.scalar(select(func.count()).select_from(table)) or 0 for table in tables]


def test_an_assignment_is_deleted_with_its_extensions(portal: Portal, ina: BrowserClient) -> None:
    fill(portal)
    assert "1 extension is deleted" in ina.page(ASSIGNMENT)
    assert ina.post_form(ASSIGNMENT).status_code == 303
    assert count(portal, Assignment, Extension, Course, Announcement, SeenAnnouncement) == [0, 0, 1, 1, 1]
    assert "assignment deleted" in ina.page("/staff/gpu/audit")
    assert ina.get(ASSIGNMENT).status_code == 404


def test_a_course_is_deleted_and_people_stay(portal: Portal, ina: BrowserClient) -> None:
    fill(portal)
    ina.post_form("/staff/gpu/roster/code", what="make")
    people = count(portal, Person)
    assert "2 people lose access" in ina.page(COURSE)
    answer = ina.post_form(COURSE)
    assert (answer.status_code, answer.location) == (303, "/?notice=course-deleted")
    assert count(portal, Course, Assignment, Exercise, Extension, Membership, StaffNote) == [0, 0, 1, 0, 0, 0]
    assert count(portal, GradingShare, SavedComment) == [0, 0]
    assert count(portal, Person) == people
    assert count(portal, Announcement, SeenAnnouncement) == [0, 0]
    with portal.course.sessions.begin() as session:
        deed = session.scalars(select(AuditEvent).where(AuditEvent.action == "course.deleted")).one()
        assert set(session.scalars(select(AuditEvent.course_id))) == {None}
    assert deed.detail == {"assignments": 1, "members": 2, "notes": 1}
    assert "Course deleted" in ina.page("/?notice=course-deleted")


def test_a_course_goes_with_the_proofs_of_its_exercises(portal: Portal, ina: BrowserClient) -> None:
    drafted(portal.course, "drafted", "ina")
    assert count(portal, Exercise, Job)[0] == 2
    assert ina.post_form(COURSE).status_code == 303
    assert count(portal, Course, Exercise, Job, Step, Result) == [0, 1, 0, 0, 0]


@pytest.mark.one_in(2, "two of three kinds of work")
@pytest.mark.parametrize("work", ["submission", "experiment", "grade"])
def test_work_keeps_assignment_and_course(portal: Portal, ina: BrowserClient, work: str) -> None:
    fill(portal)
    if work == "submission":
        portal.course.hand_in("ada")
    elif work == "experiment":
        started(portal.course, "ada", assignment=portal.course.assignment)
    else:
        portal.course.correct("ada", score=5.0)
    for page, instead in ((ASSIGNMENT, "Close it"), (COURSE, "Archive it")):
        assert f"it has 1 {work}" in ina.page(page)
        assert instead in ina.page(page)
        assert ina.post_form(page).status_code == 409
    assert count(portal, Course, Assignment, Extension, StaffNote) == [1, 1, 1, 1]


def test_an_archived_course_without_submissions_is_deleted_too(portal: Portal) -> None:
    with portal.course.sessions.begin() as session:
        course = session.get_one(Course, portal.course.course)
        course.archived_at = NOW
        delete_course(session, course, None)
    assert count(portal, Course, Assignment) == [0, 0]


@ON_POSTGRESQL
@pytest.mark.long("the short suite deletes without a submission at the same moment")
@pytest.mark.parametrize("deletes_first", [True, False])
def test_a_submission_at_the_same_moment_is_kept_or_refused(
    portal: Portal, engine: Engine, deletes_first: bool
) -> None:
    course, ada = portal.course, portal.course.person("ada")

    def deletes(session: Session) -> None:
        delete_assignment(session, session.get_one(Assignment, course.assignment), None)

    def submits(session: Session) -> None:
        session.get_one(Assignment, course.assignment, with_for_update={"read": True, "of": Assignment})
        source = keep_source(session, DIGEST, SOURCE, NOW)
        session.add(
            Submission(
                public_id="abc", assignment_id=course.assignment, person_id=ada, source_digest=source,
                mode=Mode.RANK, device_class="", created_at=NOW,
            )
        )  # fmt: skip
        session.flush()

    def second() -> str:
        try:
            if deletes_first:
                course.hand_in("ada")
            else:
                with course.sessions.begin() as session:
                    deletes(session)
        except (CourseError, NoSuchAssignment) as error:
            return type(error).__name__
        return ""

    with ThreadPoolExecutor(1) as pool, course.sessions() as session:
        (deletes if deletes_first else submits)(session)
        meanwhile = pool.submit(second)
        waits = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
        with engine.connect() as connection:
            until(lambda: connection.execute(waits).scalar_one(), "the second one waits")
        session.commit()
        refused = meanwhile.result(60)
    assert refused == ("NoSuchAssignment" if deletes_first else "CourseError")
    assert count(portal, Assignment, Submission) == ([0, 0] if deletes_first else [1, 1])
