"""Details of submissions go some days after a course's end, and its grades stay."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import func, select, update

from kernels.verdict import Verdict
from server.copies.exact_copies import count_copies
from server.copies.similar import shared_files, works_of
from server.courses.models import Assignment, Correction, Course, Membership, Role
from server.database.engine import Sessions
from server.grades.criteria import Criterion, stored
from server.grades.losses import students_grades
from server.grading.models import NO_SOURCE, Job, Result, Source
from server.operations.retention import NOTICE, Remover, preview
from server.submissions.changes import NotPossible, regrade, retry
from server.submissions.models import RubricGrade, StagedRegrade, Submission
from server.talk.models import Comment, RegradeRequest
from tests.server.commands.admin import refused, told
from tests.server.course import NOW, ACourse
from tests.server.databases import ON_SQLITE
from tests.server.operations.a_full_course import SECRET, fail, full_course, measure
from tests.server.operations.test_erase import traces
from tests.server.submissions.test_api import grade
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient

DAYS = timedelta(days=90)
DUE = NOW + DAYS + timedelta(minutes=1)


def over(course: ACourse, days: int | None = 90) -> None:
    """The course ended, and its setting is old."""
    course.change_course(archived_at=NOW, retention_days=days, retention_set_at=NOW - DAYS)


def removed(course: ACourse, now: datetime = DUE) -> int:
    return Remover(course.sessions.kw["bind"]).round(now, threading.Event())


@contextmanager
def same_grades(course: ACourse) -> Iterator[None]:
    def figures() -> Any:
        with course.sessions.begin() as session:
            grades = students_grades(session, session.get_one(Assignment, course.assignment))
            points = {person: (grade.points, grade.counted and grade.counted.entry) for person, grade in grades.items()}
            speeds = select(Result.job_id, Result.verdict, Result.gflops, Result.ranked).order_by(Result.job_id)
            return repr(points), session.execute(speeds).all()

    before = figures()
    yield
    assert figures() == before


def test_sources_and_details_go_in_pieces_and_grades_stay(made: Sessions) -> None:
    course = ACourse.make(made)
    for name, gflops in (("ada", 4_000.0), ("bob", 5_000.0)):
        measure(course, name, gflops)
        fail(course, name)
    with made.begin() as session:
        session.add(Comment(submission_id=1, line=1, author_id=1, by_staff=False, created_at=NOW, text=SECRET))
    over(course)
    assert removed(course, NOW + DAYS - timedelta(minutes=1)) == 0
    with same_grades(course):
        assert removed(course) == 4
    assert removed(course) == 0
    assert traces(made.kw["bind"], (SECRET.encode(), b"by ada")) == []
    assert course.rows(select(Source.digest)) == [NO_SOURCE]
    assert set(course.rows(select(Job.source_digest))) == {NO_SOURCE}
    (entry,) = course.deeds("course.details_removed")
    assert (entry.actor_id, entry.detail["submissions"]) == (None, 4)
    with made.begin() as session:
        assert regrade(session, session.get_one(Assignment, course.assignment), None) == []


def test_what_waits_for_a_person_or_a_grading_stays(made: Sessions) -> None:
    course = full_course(made)
    over(course)
    assert removed(course) == 0  # a staged regrade
    with made.begin() as session:
        session.execute(update(Correction).values(held=True))
        session.execute(StagedRegrade.__table__.delete())  # type: ignore[attr-defined]
    assert removed(course) == 2
    kept = select(Submission.person_id).where(Submission.source_digest != NO_SOURCE).order_by(Submission.id)
    ada, bob = course.person("ada"), course.person("bob")
    assert course.rows(kept) == [ada, ada, ada, bob]  # a held grade, and one that is queued
    with made.begin() as session:
        session.execute(update(Correction).values(held=False))
    assert removed(course) == 1
    assert set(course.rows(select(RegradeRequest.submission_id))) == {1}
    with made.begin() as session:
        found = preview(session, session.get_one(Course, course.course), 90)
        assert (found.submissions, found.kept) == (0, 3)


@ON_SQLITE
def test_ungraded_and_held_assignments_stay(made: Sessions) -> None:
    course = ACourse.make(made)
    for name in ("ada", "bob", "cyd", "dee"):
        measure(course, name, 4_000.0)
    over(course)
    course.change(grades_held=True, rubric=stored([Criterion("aa", "Readable", 4.0)]))
    assert removed(course) == 0
    course.change(grades_held=False)
    ada, bob, dee = (course.person(name) for name in ("ada", "bob", "dee"))
    with made.begin() as session:
        session.add(
            RubricGrade(
                assignment_id=course.assignment, person_id=ada, submission_id=1, points={}, words={}, graded_at=NOW
            )
        )
        session.add(Correction(assignment_id=course.assignment, person_id=bob, excused=True, corrected_at=NOW))
        session.execute(update(Membership).where(Membership.person_id == dee).values(dropped_at=NOW))
    assert removed(course) == 3
    kept = select(Submission.person_id).where(Submission.source_digest != NO_SOURCE)
    assert course.rows(kept) == [course.person("cyd")]


@ON_SQLITE
def test_removed_sources_are_not_identical_files(made: Sessions) -> None:
    course = ACourse.make(made)
    source = b"__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) { /* same */ }\n"
    for name in ("zoe", "ada", "bob"):
        course.hand_in(name, source if name != "zoe" else b"// another\n" + source)
    grade(course)
    with made.begin() as session:
        assignment = session.get_one(Assignment, course.assignment)
        assert len(shared_files(session, assignment)) == 1
        assert count_copies(session, [assignment.id]) == {assignment.id: 1}
    over(course)
    assert removed(course) == 3
    with made.begin() as session:
        assignment = session.get_one(Assignment, course.assignment)
        assert (shared_files(session, assignment), works_of(session, assignment).works) == ([], [])
        assert count_copies(session, [assignment.id]) == {}


@ON_SQLITE
def test_a_removed_source_is_not_graded_again(portal: Portal, ada: BrowserClient) -> None:
    course = portal.course
    at = f"/submissions/{course.hand_in('ada').submission.public_id}"
    grade(course)
    over(course)
    assert removed(course) == 1
    course.change_course(archived_at=None)
    with course.sessions.begin() as session, pytest.raises(NotPossible):
        retry(session, session.scalars(select(Job.id)).one(), None)
    assert ada.post_form(f"{at}/vary", what="tile", values="8,16").status_code == 422
    assert ada.post_form(f"{at}/request", reason="please look").status_code == 422
    with course.sessions.begin() as session:
        for table in (Job, Submission, Result):
            session.execute(update(table).values(verdict=Verdict.SYSTEM_ERROR))
    ada.post_form(f"{at}/retry")
    assert course.row(select(func.count()).select_from(Job)) == 1
    page = ada.get(at).text
    assert "data-removed" in page
    number = at.rpartition("/")[2]
    for one in (f"{at}/comments", f"/courses/gpu/tiled/compare?left={number}&right={number}"):
        assert "data-removed" in ada.get(one).text
    bearer = {"Authorization": f"Bearer {portal.token('ada')}"}
    answer = portal.client.get(f"/api/v1{at}/source", headers=bearer)
    assert (ada.get(f"{at}/source.cu").status_code, answer.status_code) == (410, 410)
    assert answer.get_json()["code"] == "source_removed"
    assert [one for one in ("/retry", "/vary", "/request", "/source.cu", "?from=") if one in page] == []


def test_a_source_that_another_course_has_too_stays(made: Sessions) -> None:
    course = ACourse.make(made)
    first = measure(course, "ada", 4_000.0)
    with made.begin() as session:
        digest = session.get_one(Job, first).source_digest
        copy = session.get_one(Submission, 1)
        elsewhere = Assignment(
            **{
                column.name: getattr(copy.assignment, column.name)
                for column in Assignment.__table__.columns
                if column.name not in {"id", "course_id"}
            },
            course=Course(slug="other", title="Other", created_at=NOW),
        )
        session.add(elsewhere)
        session.flush()
        session.add(
            Submission(
                public_id="x", assignment_id=elsewhere.id, person_id=copy.person_id, source_digest=digest,
                mode=copy.mode, created_at=NOW,
            )
        )  # fmt: skip
    over(course)
    assert removed(course) == 1
    assert digest in course.rows(select(Source.digest))


def test_the_setting_gives_notice_and_can_be_taken_back(made: Sessions) -> None:
    course = ACourse.make(made)
    measure(course, "ada", 4_000.0)
    now = datetime.now(UTC)
    course.change_course(archived_at=now - 2 * DAYS, retention_days=90, retention_set_at=now)
    assert removed(course, now + NOTICE - timedelta(minutes=1)) == 0
    course.change_course(archived_at=None)
    assert removed(course, now + 4 * DAYS) == 0
    course.change_course(archived_at=now - 2 * DAYS, retention_days=None)
    assert removed(course, now + 4 * DAYS) == 0
    course.change_course(retention_days=90)
    assert removed(course, now + NOTICE) == 1


@ON_SQLITE
def test_page_api_and_command_set_it_and_say_what_goes(
    portal: Portal, ina: BrowserClient, tom: BrowserClient, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    way = "/staff/gpu/retention"
    portal.course.job("ada")
    assert tom.get(way).status_code == 403
    kept = select(Course.retention_days)
    assert ina.post_form(way, days="29").status_code == 422
    page = ina.post_form(way, days="60", preview="yes")
    assert (page.status_code, "preview-title" in page.text) == (200, True)
    assert "preview-title" not in ina.post_form(way, days="29", preview="yes").text
    assert portal.course.rows(kept) == [None]
    assert ina.post_form(way, days="60").status_code == 303
    assert portal.course.rows(kept) == [60]
    portal.course.change_course(archived_at=NOW)
    bearer = {"Authorization": f"Bearer {portal.token('ina', Role.INSTRUCTOR)}"}
    answer = portal.client.get("/api/v1/courses/gpu/retention", headers=bearer).get_json()
    assert (answer["days"], answer["submissions"], answer["kept"]) == (60, 0, 1)  # it is not graded yet
    assert answer["at"] is not None
    changed = portal.client.post("/api/v1/courses/gpu/retention", json={"days": None}, headers=bearer)
    assert (changed.status_code, portal.course.rows(kept)) == (200, [None])
    monkeypatch.setenv("DATABASE_URL", database_url)
    assert told("course", "retention", "gpu", "--days", "100")["days"] == 100
    refused("course", "retention", "gpu", "--days", "3")
    assert told("course", "retention", "gpu")["days"] == 100
    assert len(portal.course.deeds("course.retention_changed")) == 3
    assert portal.course.row(select(func.count()).select_from(Submission)) == 1
