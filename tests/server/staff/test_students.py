"""The page of one student: attempts, points, extensions, notes; and links to it."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy import Engine, select

from kernels.verdict import Verdict
from server.acts.act import Target, assignment_target
from server.assignments.accommodations import ACCOMMODATION, MoreTime
from server.assignments.extensions import EXTENSION, Grant
from server.audit.models import AuditEvent
from server.courses.models import Assignment, Course, StaffNote
from server.courses.service import Terms, create_assignment
from server.grades.corrections import CORRECTION, Decision
from server.grades.losses import CONFIRMED
from server.operations.erase import erase_person
from server.roster.timeline_chart import Span, ticks_of
from server.submissions.models import Mode, Submission
from server.talk.models import ExtensionRequest
from tests.server.course import NOW
from tests.server.staff.graded import counted_queries, handed_in
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of

DAY = timedelta(days=1)


def test_it_has_points_extensions_and_attempts(portal: Portal, tom: BrowserClient) -> None:
    course = portal.course
    wrong = handed_in(course, "ada", Verdict.DATA_RACE, source=b"// 1", mode=Mode.CHECK)
    right = handed_in(course, "ada", now=NOW + DAY / 2, source=b"// 2")
    handed_in(course, "bob", source=b"// 3")
    ada = course.people["ada"]
    course.extend("ada", due_at=NOW + 3 * DAY, extra_attempts=2, reason="was ill")
    page = tom.page(f"/staff/gpu/students/{ada}")
    for told in ("ada@example.edu", "10 of 10", "was ill", "2 more attempts", f"history?student={ada}", "data race"):
        assert told in page, told
    assert page.count('name="left"') == 2
    assert wrong in page
    assert right in page
    assert f'href="/staff/gpu/students/{ada}"' in tom.page(f"/courses/gpu/tiled/history?student={ada}")
    assert tom.get("/staff/gpu/students/999").status_code == 404


def test_the_timeline_has_everything_on_one_axis(portal: Portal, tom: BrowserClient, engine: Engine) -> None:
    course = portal.course
    course.change(due_at=NOW + DAY)
    ada = course.person("ada")
    path = f"/staff/gpu/students/{ada}/timeline"
    tom.page(path)
    with counted_queries(engine) as empty:
        tom.page(path)
    wrong = handed_in(course, "ada", Verdict.DATA_RACE, source=b"// 1", mode=Mode.CHECK)
    right = handed_in(course, "ada", now=NOW + 2 * DAY, source=b"// 2")
    handed_in(course, "bob", Verdict.WRONG_ANSWER, source=b"// 3")
    client_of(portal, "ada").post_form(f"/submissions/{wrong}/comments", text="why?")
    tom.post_form(f"/submissions/{wrong}/comments", text="a hint")
    with course.sessions.begin() as session:
        on = assignment_target(session.get_one(Assignment, course.assignment), ada)
        EXTENSION.carry_out(session, on, None, lambda _: Grant(due_at=NOW + 3 * DAY), CONFIRMED)
        CORRECTION.carry_out(session, on, None, lambda _: Decision(score=7.0, reason="kind"), CONFIRMED)
        more_time = Target(on.course, people=(ada,))
        ACCOMMODATION.carry_out(session, more_time, None, lambda _: MoreTime(extra_days=4), CONFIRMED)
        request = ExtensionRequest(
            assignment_id=course.assignment, person_id=ada, wanted_at=NOW + 4 * DAY, reason="ill", created_at=NOW
        )
        session.add(request)
        session.flush()
        asked = f"/staff/gpu/extension-requests/{request.id}"
    with counted_queries(engine) as full:
        page = tom.page(path)
    assert len(full) <= len(empty)
    events = re.findall(r'data-event="([\w-]+)"', page)
    assert " ".join(sorted(events)) == "accepted check-failed comment extension extension grade question request"
    assert f'href="{asked}"' in page
    assert tom.get(asked).status_code == 200
    assert f'href="/staff/gpu/students/{ada}">More time' in page
    assert {right, wrong} <= set(re.findall(r'href="/submissions/(\w+)', page))
    assert tom.get(f"/staff/gpu/grades/tiled/{ada}").status_code == 200
    assert f"/staff/gpu/grades/tiled/{ada}" in page
    assert 'class="due old"' in page
    assert client_of(portal, "ada").get(path).status_code == 403


def test_marks_keep_their_place_on_the_axis() -> None:
    span = Span(NOW, NOW + 10 * DAY)
    assert [round(span.across(NOW + days * DAY)) for days in (0, 5, 10)] == [3, 50, 97]
    assert [words for _, words in ticks_of(span, ZoneInfo("UTC"))] == ["03 Mar", "05 Mar", "07 Mar", "09 Mar", "11 Mar"]


def test_any_two_attempts_of_the_course_are_compared(portal: Portal, tom: BrowserClient) -> None:
    course = portal.course
    first = handed_in(course, "ada", source=b"// 1")
    other = handed_in(course, "bob", Verdict.DATA_RACE, source=b"// 2")
    page = tom.page(f"/courses/gpu/tiled/compare?left={first}&right={other}")
    assert "ada (ada@example.edu), Tiled" in page
    assert "bob (bob@example.edu), Tiled" in page
    ada = client_of(portal, "ada")
    assert ada.get(f"/courses/gpu/tiled/compare?left={first}&right={other}").status_code == 404
    with course.sessions.begin() as session:
        elsewhere = Course(slug="else", title="Else", created_at=NOW)
        session.add(elsewhere)
        session.flush()
        moved = create_assignment(session, elsewhere, "naive", Terms(slug="x"))
        session.scalars(select(Submission).where(Submission.public_id == other)).one().assignment_id = moved.id
    assert tom.get(f"/courses/gpu/tiled/compare?left={first}&right={other}").status_code == 404


def test_names_link_to_it(portal: Portal, tom: BrowserClient) -> None:
    handed_in(portal.course, "ada", source=b"// 1")
    link = f'href="/staff/gpu/students/{portal.course.people["ada"]}"'
    for path in ("", "roster", "grades", "submissions"):
        assert link in tom.page(f"/staff/gpu/{path}"), path
    assert link in tom.page("/courses/gpu/tiled/board/cpu")
    assert link not in client_of(portal, "bob").page("/courses/gpu/tiled/board/cpu")


def test_names_in_audit_and_deadlines_link_to_it(portal: Portal, tom: BrowserClient) -> None:
    course = portal.course
    ada = course.person("ada")
    course.change(due_at=datetime.now(UTC) + DAY)
    link = f'<a href="/staff/gpu/students/{ada}">ada</a>'
    assert link in tom.page("/staff/gpu/"), "under the deadlines"
    course.change(due_at=None)
    assert link not in tom.page("/staff/gpu/")
    tom.post_form(f"/staff/gpu/students/{ada}/notes", note="asked")
    with course.sessions.begin() as session:
        assignment = session.get_one(Assignment, course.assignment)
        assignment.attempts = 1
        EXTENSION.carry_out(session, assignment_target(assignment, ada), None, lambda _: Grant(extra_attempts=1))
    for path in ("", "audit"):
        page = tom.page(f"/staff/gpu/{path}")
        assert link in page, path
        assert f'<a href="/staff/gpu/students/{course.people["tom"]}">' not in page, "staff have no such page"
    assert f'<a href="/staff/gpu/students/{ada}">person: ada</a>' in tom.page("/staff/gpu/audit")


def test_notes_are_for_staff_and_audited(portal: Portal, tom: BrowserClient) -> None:
    course = portal.course
    ada = course.person("ada")
    page = f"/staff/gpu/students/{ada}"
    assert tom.post_form(f"{page}/notes", note="asked for help twice\r\nonce <b>late</b>").status_code == 303
    assert "asked for help twice<br>once &lt;b&gt;late" in tom.page(page)
    assert tom.post_form(f"{page}/notes", note=" ").status_code == 422
    assert tom.post_form(f"{page}/notes", note="x" * 2_001).status_code == 422
    with course.sessions.begin() as session:
        number = session.scalars(select(StaffNote.id)).one()
        events = session.scalars(select(AuditEvent).where(AuditEvent.action == "member.note_added")).all()
        assert [(event.subject, event.detail) for event in events] == [(f"person {ada}", {})]
    bob = course.person("bob")
    tom.post_form(f"/staff/gpu/students/{bob}/notes/{number}/remove")
    assert "asked for help twice" in tom.page(page)
    tom.post_form(f"{page}/notes/{number}/remove")
    assert "asked for help twice" not in tom.page(page)
    tom.post_form(f"{page}/notes", note="private")
    erase_person(course.sessions, ada)
    assert course.rows(select(StaffNote)) == []
