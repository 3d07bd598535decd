"""Erasing a person: no trace of name, email or source, and every number as it was."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, func, select

from kernels.report import from_json
from server.accounts import browser_sessions
from server.accounts.limits import Limit, by_email, count
from server.accounts.links import create_link
from server.accounts.models import LinkPurpose, Person, RateCount
from server.accounts.service import AccountError, create_person, find_person, sign_in
from server.audit.models import AuditEvent
from server.audit.service import note
from server.courses.models import Course
from server.courses.service import members
from server.database.engine import Sessions, connect, sessions
from server.enrolment.links import find_link
from server.grading.models import Job, JobState, Result, Source, Step
from server.grading.reports import unpack
from server.models import Base
from server.operations.erase import PersonNotFound, erase_person
from server.recording.record import Recorded, record
from server.standings.service import board
from server.submissions.models import Submission
from tests.server.course import NOW, ACourse, check_result, read_rows
from tests.server.databases import ON_SQLITE
from tests.server.operations.a_full_course import SECRET, fail, full_course, measure, source
from worker.contract.messages import MeasureWork, decode

TRACES = (b"ada lovelace", b"ada@example.edu", b"by ada", f"{SECRET}_ada".encode(), b"key-of-ada")


def traces(engine: Engine, looked_for: tuple[bytes, ...] = TRACES) -> list[str]:
    """Where any of these stands, in all columns of all tables, packed ones opened."""
    with engine.connect() as connection:
        return [
            f"{table.name}.{name}: {trace!r}"
            for table in Base.metadata.sorted_tables
            for row in connection.execute(select(table))
            for name, value in row._asdict().items()
            for trace in looked_for
            if trace in plain(table.name, name, value).lower()
        ]


def plain(table: str, name: str, value: Any) -> bytes:
    if (table, name) == ("results", "report"):
        return json.dumps(unpack(value)).encode()
    if (table, name) == ("steps", "work") and value is not None:
        return repr(decode(MeasureWork, value.decode())).encode()
    return value if isinstance(value, bytes) else str(value).encode()


def numbers(made: Sessions) -> dict[str, Any]:
    """What a course is measured by."""
    with made.begin() as session:
        return {
            "verdicts": sorted(session.execute(select(Result.verdict, func.count()).group_by(Result.verdict)).all()),
            "figures": session.execute(
                select(Result.job_id, Result.gflops, Result.ms_median, Result.cublas_share, Result.occupancy,
                       Result.ranked, Result.device_class, Result.recorded_at).order_by(Result.job_id)
            ).all(),
            "times": session.execute(
                select(Job.id, Job.queued_at, Job.started_at, Job.exercise_id).order_by(Job.id)
            ).all(),
            "steps": session.execute(
                select(Step.id, Step.seconds, Step.queued_at, Step.attempt).order_by(Step.id)
            ).all(),
            "submissions": session.execute(
                select(Submission.id, Submission.assignment_id, Submission.created_at).order_by(Submission.id)
            ).all(),
        }  # fmt: skip


def test_no_trace_is_left_and_every_number_is_as_before(made: Sessions, engine: Engine) -> None:
    course = full_course(made)
    ada = course.person("ada")
    assert {trace.split(".")[0] for trace in traces(engine)} >= {
        "people", "sources", "results", "steps", "submissions", "audit_events", "experiments", "api_tokens",
        "staged_regrades", "comments", "regrade_requests", "extension_requests",
    }  # fmt: skip
    before = numbers(made)
    done = erase_person(made, ada, NOW)
    assert traces(engine) == []
    assert numbers(made) == before
    assert (done.submissions, done.sources, done.reports, done.tokens, done.cancelled) == (3, 3, 2, 1, 1)
    assert done.left == []
    assert "Ada" not in done.text() + json.dumps(done.shown())


def test_others_keep_all_that_is_theirs(made: Sessions, engine: Engine) -> None:
    course = full_course(made)
    theirs = (f"{SECRET}_bob".encode(), b"by bob", b"bob@example.edu")
    before = traces(engine, theirs)
    erase_person(made, course.person("ada"))
    assert traces(engine, theirs) == before
    with made.begin() as session:
        rows = board(session, course.assignment, "h200").rows
        assert [(row.rank, row.name) for row in rows] == [(1, "bob"), (2, "dora")]


def test_what_was_queued_is_cancelled_and_what_comes_back_is_refused(made: Sessions) -> None:
    course = full_course(made)
    with made.begin() as session:
        waiting = session.scalars(
            select(Job.id).where(Job.person_id == course.person("ada"), Job.state == JobState.QUEUED)
        ).one()
        late = check_result(session, waiting)
    done = erase_person(made, course.person("ada"), NOW)
    assert [ticket.job for ticket in done.tickets] == [waiting]
    assert record(made, late, NOW) is not Recorded.FINAL
    with made.begin() as session:
        job = session.get_one(Job, waiting)
        assert (job.state, job.ended_at, job.verdict) == (JobState.CANCELLED, NOW, None)
        assert session.get(Result, waiting) is None


def test_a_report_without_its_texts_still_reads(made: Sessions) -> None:
    course = full_course(made)
    erase_person(made, course.person("ada"))
    with made.begin() as session:
        rows = session.execute(
            select(Result.verdict, Result.gflops, Result.report).join(Job).where(Job.person_id == course.person("ada"))
        ).all()
        assert len(rows) == 2
        for verdict, gflops, packed in rows:
            report = from_json(unpack(packed))
            assert report.verdict is verdict
            assert (report.measurement.gflops if report.measurement else None) == gflops
            assert report.message
            assert report.findings == ()


def test_a_source_that_another_handed_in_too_stays_theirs(made: Sessions, engine: Engine) -> None:
    course = full_course(made)
    shared = source("both")
    first = course.person("ada"), course.person("bob")
    jobs = [course.job(name, source=shared) for name in ("ada", "bob")]
    done = erase_person(made, first[0])
    assert done.shared == 1
    with made.begin() as session:
        assert session.get_one(Job, jobs[1]).source.content == shared
        assert session.get_one(Job, jobs[0]).source.content == b""
    assert traces(engine) == []
    erase_person(made, first[1])
    assert shared not in read_rows(made, select(Source.content))


def test_one_of_the_staff_is_erased_with_their_experiments_only(made: Sessions, engine: Engine) -> None:
    course = full_course(made)
    erase_person(made, course.person("teacher"))
    assert traces(engine, (f"{SECRET}_teacher".encode(), b"teacher@example.edu")) == []
    assert {trace.split(".")[0] for trace in traces(engine)} >= {"sources", "results", "people"}


def test_nobody_signs_in_as_them_and_their_email_is_free(made: Sessions) -> None:
    course = full_course(made)
    ada = course.person("ada")
    erase_person(made, ada)
    assert sign_in(made, "ada@example.edu", "correct horse") is None
    with made.begin() as session:
        row = session.get_one(Person, ada)
        assert row.erased_at is not None
        assert row.password is None
        assert find_person(session, row.email) is None
        assert all(entry.person_id != ada for entry in members(session, session.get_one(Course, course.course)))
        with pytest.raises(AccountError):
            create_person(session, email=row.email, name="Eve")
        assert create_person(session, email="ada@example.edu", name="Ada").id != ada


def test_erasing_is_on_record_and_happens_once(made: Sessions) -> None:
    course = full_course(made)
    ada = course.person("ada")
    erase_person(made, ada)
    with made.begin() as session:
        event = session.scalars(select(AuditEvent).where(AuditEvent.action == "person.erased")).one()
        assert event.subject == f"person {ada}"
        other = session.scalars(select(AuditEvent).where(AuditEvent.action == "job.retried")).one()
        assert other.detail == {"reason": "its worker died"}
    for number in (ada, 999):
        with pytest.raises(PersonNotFound):
            erase_person(made, number)


def test_a_name_that_stands_elsewhere_is_shown(made: Sessions) -> None:
    course = full_course(made)
    with made.begin() as session:
        session.get_one(Course, course.course).title = "GPU, by Ada Lovelace"
    course.correct("joe", excused=True, reason="Worked with Ada Lovelace")
    done = erase_person(made, course.person("ada"))
    joe = course.person("joe")
    assert done.left == [f"courses.title of {course.course}", f"corrections.reason of {course.assignment}/{joe}"]
    assert "courses.title" in done.text()


@ON_SQLITE
@pytest.mark.parametrize(
    ("name", "text"),
    [("person", "a erased was lost"), ("course", "a person was lost"), ("student", "a person was lost")],
)
def test_a_name_that_is_a_word_of_ours_takes_nothing_else_with_it(made: Sessions, name: str, text: str) -> None:
    course = ACourse.make(made)
    called_so = course.person("ada")
    with made.begin() as session:
        session.get_one(Person, called_so).name = name
        detail: dict[str, Any] = {"role": ["student", "assistant"], "course": 3, "reason": "a person was lost"}
        note(session, None, "course.changed", "person 7", **detail)
        number = session.scalars(select(AuditEvent.id)).one()
    erase_person(made, called_so)
    with made.begin() as session:
        event = session.get_one(AuditEvent, number)
        assert (event.action, event.subject) == ("course.changed", "person 7")
        assert event.detail == detail | {"reason": text}


def test_one_who_did_nothing_can_be_erased(made: Sessions) -> None:
    course = full_course(made)
    done = erase_person(made, course.person("idle"))
    assert (done.submissions, done.sources, done.reports, done.cancelled) == (0, 0, 0, 0)


def test_nothing_is_left_in_the_file_either(tmp_path: Path, sqlite_url: str) -> None:
    engine = connect(sqlite_url)
    made = sessions(engine)
    course = full_course(made)
    for number in range(5):
        measure(course, "ada", 4_100.0 + number)
        fail(course, "ada")
    assert any(trace in everything(tmp_path) for trace in TRACES)
    assert erase_person(made, course.person("ada")).compacted
    assert not [trace for trace in TRACES if trace in everything(tmp_path)]
    engine.dispose()


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir()).lower()


def test_nobody_stays_signed_in_or_counted_as_who_they_were(made: Sessions) -> None:
    course = ACourse.make(made)
    ada = course.person("ada")
    count(made, Limit("sign-in account", 9, timedelta(hours=1)), by_email("ada@example.edu"))
    with made.begin() as session:
        person = session.get_one(Person, ada)
        cookie = browser_sessions.begin(session, person, "test")
        link = create_link(session, person, LinkPurpose.RESET)
    erase_person(made, ada)
    with made.begin() as session:
        assert browser_sessions.find(session, cookie) is None
        assert find_link(session, LinkPurpose.RESET, link) is None
        assert not session.scalars(select(RateCount)).all()
