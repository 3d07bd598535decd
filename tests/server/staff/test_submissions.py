"""All that was handed in: filtered, a page at a time, and graded again."""

from __future__ import annotations

import html
import re
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl

import pytest
from sqlalchemy import select

from kernels.verdict import Verdict
from server.accounts.models import Person
from server.audit.models import AuditEvent
from server.courses.models import Membership, Role
from server.grades.losses import CONFIRMED
from server.grading.models import MAX_ATTEMPTS, Attempt, Job, JobKind, JobState, Priority
from server.recording.record import record
from server.regrades.service import begin, plan
from server.submissions.course_submissions import listing
from server.submissions.criteria import SubmissionCriteria
from server.submissions.models import Mode, Submission
from server.web.notices import NOTICES
from tests.server.course import NOW, ACourse
from tests.server.staff.graded import handed_in, judged, newest_job
from tests.server.standings.results import measure, ranked
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of

PAGE = "/staff/gpu/submissions"
REGRADE = "/staff/gpu/regrade"
HOUR = timedelta(hours=1)


@pytest.fixture
def tom(portal: Portal) -> BrowserClient:
    """An assistant: may see all of it and have it graded again."""
    portal.course.change(device_class="", due_at=NOW + HOUR)
    return client_of(portal, "tom", Role.ASSISTANT)


def listed(course: ACourse, **asked: Any) -> list[str]:
    with course.sessions.begin() as session:
        return [row.public_id for row in listing(session, course.course, SubmissionCriteria(**asked)).rows]


def test_each_filter_takes_its_part(portal: Portal, tom: BrowserClient) -> None:
    course = portal.course
    first = handed_in(course, "ada", Verdict.DATA_RACE, NOW, source=b"// 1")
    check = handed_in(course, "ada", Verdict.ACCEPTED, NOW + HOUR / 2, source=b"// 2", mode=Mode.CHECK)
    late = handed_in(course, "bob", Verdict.ACCEPTED, NOW + 2 * HOUR, source=b"// 3")
    waits = course.hand_in("bob", source=b"// 4", now=NOW + 3 * HOUR).submission.public_id
    assert listed(course) == [waits, late, check, first]
    assert listed(course, student="ADA@") == [check, first]
    assert listed(course, student="100%") == []
    assert listed(course, verdict=Verdict.DATA_RACE) == [first]
    assert listed(course, verdict=Verdict.ACCEPTED) == [late, check]
    assert listed(course, state=JobState.QUEUED) == [waits]
    assert listed(course, mode=Mode.CHECK) == [check]
    assert listed(course, late="yes") == [waits, late]
    assert listed(course, late="no") == [check, first]
    assert listed(course, assignment="other") == []
    assert listed(course, assignment="tiled", student="bob", state=JobState.DONE) == [late]
    assert listed(course, submission=first) == [first]
    course.extend("bob", due_at=NOW + 9 * HOUR)
    assert listed(course, late="yes") == []
    page = tom.page(f"{PAGE}?verdict=data_race&late=&state=%20")
    assert first in page
    assert late not in page
    assert f'name="submission" type="text" autocomplete="off" value="{first}"' in tom.page(f"{PAGE}?submission={first}")


def test_all_by_one_person_leaves_out_those_of_the_same_name(portal: Portal, tom: BrowserClient) -> None:
    course = portal.course
    mine = handed_in(course, "emile", source=b"// 1")
    handed_in(course, "other-emile", source=b"// 2")
    with course.sessions.begin() as session:
        for name in ("emile", "other-emile"):
            session.get_one(Person, course.people[name]).name = "Émile"
    assert len(listed(course, student="émile")) == 2
    assert listed(course, student="emile@example.edu") == [mine]
    link = re.search(r'href="(/staff/gpu/submissions\?[^"]*student=[^"]*)"', tom.page(f"/submissions/{mine}"))
    assert link
    query = html.unescape(link[1]).partition("?")[2]
    page = tom.page(f"{PAGE}?{query}")
    assert page.count('href="/submissions/') == 1
    assert "<strong>1 " in tom.page(f"{REGRADE}?{query}")


def test_they_are_found_by_what_they_are_measured_on(portal: Portal, tom: BrowserClient) -> None:
    course = portal.course
    first = handed_in(course, "ada", source=b"// 1")
    second = handed_in(course, "bob", source=b"// 2")
    with course.sessions.begin() as session:
        session.scalars(select(Submission).where(Submission.public_id == first)).one().device_class = "h200"
    assert listed(course, device="h200") == [first]
    assert listed(course, device="cpu") == [second]
    assert first not in tom.page(f"{PAGE}?device=b200")
    assert "measured on: h200" in tom.page(f"{REGRADE}?device=h200")


def test_what_cannot_be_relied_on_says_so_and_why(portal: Portal) -> None:
    tom = client_of(portal, "tom", Role.ASSISTANT)
    ranked(portal.course, "ada", 500.0)
    assert "not ranked" not in tom.page(PAGE)
    job = portal.course.job("bob")
    why = ("beyond every bound",)
    record(portal.course.sessions, measure(portal.course, job, 880_000.0, ranked=False, remarks=why))
    assert f'title="{why[0].capitalize()}."' in tom.page(PAGE)
    assert tom.page(PAGE).count(">not ranked<") == 1


UNREADABLE = (
    "since=junk", "until=1999-01-01T00:00", "state=junk", "state=%00", "verdict=right", "mode=all", "late=perhaps",
    "assignment=other", "device=H200!", "student=%00", f"worker={'w' * 201}", "submission=%E2%80%AE",
)  # fmt: skip


def test_a_filter_that_cannot_be_read_shows_and_regrades_nothing(portal: Portal, tom: BrowserClient) -> None:
    made = handed_in(portal.course, "ada")
    for query in UNREADABLE:
        given = dict(parse_qsl(query))
        for page in (PAGE, REGRADE):
            answer = tom.get(f"{page}?{query}")
            text = answer.get_data(as_text=True)
            assert answer.status_code == 422, query
            (name,) = given
            assert f'href="#{name}"' in text, query
            assert f'id="{name}"' in text, query
            assert 'role="alert"' in text
            assert made not in text
            assert "data-live data-state" not in text
        assert tom.post_form(REGRADE, newest="99", **given).status_code == 422, query
    state = tom.get(f"{PAGE}/state?since=junk").get_json()
    assert made not in state["html"]
    assert state["final"] is True
    assert not portal.course.rows(select(Job).where(Job.kind == JobKind.REGRADE))


def test_a_name_is_found_in_any_letters_among_however_many_fit(portal: Portal) -> None:
    course = portal.course
    with course.sessions.begin() as session:
        people = [Person(email=f"s{n}@example.edu", name=f"S {n}", created_at=NOW) for n in range(220)]
        session.add_all(people)
        session.flush()
        session.add_all(
            Membership(course_id=course.course, person_id=one.id, role=Role.STUDENT, created_at=NOW) for one in people
        )
    course.person("mesut")
    with course.sessions.begin() as session:
        session.get_one(Person, course.people["mesut"]).name = "Mesut Özil"
    made = course.hand_in("mesut").submission.public_id
    for text in ("example.EDU", "öZIL", "O\u0308zil"):
        assert listed(course, student=text) == [made], text


def test_submissions_to_regrade_are_found_by_worker_and_day(portal: Portal, tom: BrowserClient) -> None:
    course = portal.course
    first = handed_in(course, "ada", source=b"// 1")
    second = handed_in(course, "bob", now=NOW + 2 * HOUR, source=b"// 2")
    with course.sessions.begin() as session:
        for attempt in session.scalars(select(Attempt).order_by(Attempt.step_id).limit(1)):
            attempt.worker = "unfit_1-7"
    assert listed(course, worker="unfit_1") == [first]
    assert listed(course, worker="host-1") == [second]
    assert listed(course, worker="unfit%") == []
    page = tom.page(f"{PAGE}?since={NOW + HOUR:%Y-%m-%dT%H:%M}")
    assert second in page
    assert first not in page
    page = tom.page(f"{PAGE}?until={NOW + HOUR:%Y-%m-%dT%H:%M}")
    assert first in page
    assert second not in page


def test_an_assignment_without_a_deadline_has_nothing_late(portal: Portal) -> None:
    handed_in(portal.course, "ada", source=b"// 1")
    assert listed(portal.course, late="yes") == []
    assert len(listed(portal.course, late="no")) == 1


def test_pages_follow_one_another_without_a_gap(portal: Portal, tom: BrowserClient) -> None:
    course = portal.course
    made = [course.hand_in("ada", source=f"// {n}".encode(), now=NOW).submission.public_id for n in range(7)]
    seen: list[str] = []
    after = ""
    with course.sessions.begin() as session:
        for _ in range(4):
            part = listing(session, course.course, SubmissionCriteria(), after, limit=3)
            seen += [row.public_id for row in part.rows]
            after = part.after
            if not after:
                break
    assert seen == made[::-1]
    assert 'rel="next"' not in tom.page(PAGE)
    assert tom.get(f"{PAGE}?after=%27nonsense").status_code == 200


def test_the_list_comes_anew(portal: Portal, tom: BrowserClient) -> None:
    made = handed_in(portal.course, "ada")
    state = tom.get(f"{PAGE}/state?mode=rank").get_json()
    assert made in state["html"]
    assert state["final"] is False


def test_a_filter_is_regraded_after_it_was_told_how_many(portal: Portal, tom: BrowserClient) -> None:
    course = portal.course
    wrong = handed_in(course, "ada", Verdict.DATA_RACE, source=b"// 1")
    handed_in(course, "bob", Verdict.ACCEPTED, source=b"// 2")
    course.hand_in("eve", source=b"// 3")
    page = tom.page(f"{REGRADE}?verdict=data_race")
    assert "<strong>1 submission will be regraded" in page
    until = re.search(r'name="newest" value="(\d+)"', page)
    assert until
    handed_in(course, "eve", Verdict.DATA_RACE, source=b"// 4")
    answer = tom.post_form(REGRADE, verdict="data_race", newest=until[1])
    assert answer.status_code == 303
    (job,) = course.rows(select(Job).where(Job.kind == JobKind.REGRADE))
    assert (job.priority, job.state) == (Priority.REGRADE, JobState.QUEUED)
    where = answer.headers["Location"].partition("?")[0]
    assert "0 of 1 finished" in tom.page(where)
    judged(course, job.id, Verdict.ACCEPTED)
    page = tom.page(where)
    assert "1 of 1 finished" in page
    assert "data race" in page
    assert wrong in page
    assert tom.get(f"{where}/state").get_json()["final"] is True
    assert "Tiled" in tom.page("/staff/gpu/regrades")
    page = tom.page("/staff/gpu/audit")
    assert "assignment regraded" in page
    assert "filter: verdict data race<" in page


def test_a_fault_of_ours_is_no_verdict_that_came_out_otherwise(portal: Portal, tom: BrowserClient) -> None:
    """Right, then a fault, then right again: nothing turned; right, then a fault: neither."""
    course = portal.course
    handed_in(course, "ada", Verdict.ACCEPTED, source=b"// 1")
    for fault in (True, False):
        where = tom.post_form(REGRADE, newest="99").headers["Location"].partition("?")[0]
        for _ in range(MAX_ATTEMPTS if fault else 0):
            judged(course, newest_job(course, 1), report=None, measure=None, fault="no")
        if not fault:
            judged(course, newest_job(course, 1), Verdict.ACCEPTED)
        page = tom.page(where)
        assert "1 of 1 finished" in page
        assert "/submissions/" not in page[page.index('id="turned-title"') :]
    assert 'data-needs="faults"' not in tom.page("/staff/gpu/")


def test_who_has_nothing_graded_again_goes_back_to_the_list_as_it_was(portal: Portal, tom: BrowserClient) -> None:
    made = handed_in(portal.course, "ada")
    assert f'href="{PAGE}?student=ada"' in tom.page(f"{REGRADE}?student=ada&submission={made}")


def test_what_is_more_than_is_graded_at_once_comes_after(
    portal: Portal, tom: BrowserClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    course = portal.course
    for n in range(3):
        handed_in(course, "ada", source=f"// {n}".encode())
    monkeypatch.setattr("server.regrades.service.MOST", 2)
    assert "the first 2 matches" in tom.page(f"{REGRADE}?mode=rank")
    rest = tom.post_form(REGRADE, mode="rank", newest="99").headers["Location"]
    assert "after=2" in rest
    for number in (1, 2):
        judged(course, newest_job(course, number))
    page = tom.page(rest)
    assert NOTICES["regrade-begun"] in page
    assert "<strong>1 " in page
    assert tom.post_form(REGRADE, mode="rank", newest="99", after="2").headers["Location"].startswith(f"{REGRADE}s/")
    again = course.rows(select(Job.submission_id).where(Job.kind == JobKind.REGRADE))
    assert set(again) == {1, 2, 3}
    assert len(again) == 3


def test_the_notice_says_that_a_part_of_a_regrade_is_staged(
    portal: Portal, tom: BrowserClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(2):
        handed_in(portal.course, "ada", source=f"// {n}".encode())
    monkeypatch.setattr("server.regrades.service.MOST", 1)
    rest = tom.post_form(REGRADE, newest="99", stage="yes").headers["Location"]
    assert "after=1" in rest
    assert NOTICES["regrade-staged"] in tom.page(rest)


def test_what_is_sent_twice_is_graded_once(portal: Portal, tom: BrowserClient) -> None:
    """Two requests at once plan the same; the second finds what the first one queued. What is noted names nobody."""
    course = portal.course
    handed_in(course, "ada")
    with course.sessions.begin() as session:
        planned = plan(session, course.course, SubmissionCriteria(student="ada@", since=NOW - timedelta(days=1)))
    for _ in range(2):
        with course.sessions.begin() as session:
            begin(session, planned, None, CONFIRMED)
    with course.sessions.begin() as session:
        (deed,) = session.scalars(select(AuditEvent).where(AuditEvent.action == "assignment.regraded")).all()
        assert (deed.subject, deed.detail["jobs"]) == ("assignment gpu/tiled", 1)
        assert deed.detail["filter"] == "student by name, submitted from 2026-03-01 09:00 UTC"
        assert len(session.scalars(select(Job).where(Job.kind == JobKind.REGRADE)).all()) == 1
    assert "Tiled" in tom.page("/staff/gpu/regrades")


def test_what_waits_anyway_is_left_out(portal: Portal, tom: BrowserClient) -> None:
    made = portal.course.hand_in("ada").submission.public_id
    assert "still waiting to be graded" in tom.page(f"{REGRADE}?submission={made}")
    assert tom.post_form(REGRADE, submission=made, newest="99").status_code == 303
    assert portal.course.rows(select(Job).where(Job.kind == JobKind.REGRADE)) == []
    assert tom.post_form(REGRADE, newest="x").status_code == 422
    assert tom.post_form(REGRADE, newest="9" * 30).status_code == 422
    assert tom.post_form(REGRADE, newest="9", after="x").status_code == 422
    assert tom.get(f"{REGRADE}?after=x").status_code == 422


def test_what_waits_of_a_regrade_is_cancelled_and_keeps_its_verdict(portal: Portal, tom: BrowserClient) -> None:
    course = portal.course
    made = [handed_in(course, name, source=f"// {name}".encode()) for name in ("ada", "bob", "eve")]
    where = tom.post_form(REGRADE, newest="99").headers["Location"].partition("?")[0]
    first = newest_job(course, 1)
    judged(course, first, Verdict.DATA_RACE)
    with course.sessions.begin() as session:  # a second regrade, which the first one's page leaves alone
        assert session.get_one(Job, first).state is JobState.DONE
    cancel = f'action="{where}/cancel"'
    assert cancel in tom.page(where)
    assert tom.post_form(f"{where}/cancel").status_code == 303
    page = tom.page(where)
    assert "3 of 3 finished" in page
    assert cancel not in page
    assert listed(course, verdict=Verdict.ACCEPTED) == made[:0:-1]
    with course.sessions.begin() as session:
        (deed,) = session.scalars(select(AuditEvent).where(AuditEvent.action == "regrade.cancelled")).all()
        assert deed.detail["jobs"] == 2
        assert not session.scalars(select(AuditEvent).where(AuditEvent.action == "job.cancelled")).all()


@pytest.mark.parametrize("number", ["0", "999999", "9" * 25])
def test_there_is_no_such_regrade(tom: BrowserClient, number: str) -> None:
    assert tom.get(f"/staff/gpu/regrades/{number}").status_code == 404
    assert tom.get(f"/staff/gpu/regrades/{number}/state").status_code == 404


def test_the_audit_says_the_filter_without_a_person() -> None:
    asked = SubmissionCriteria(assignment="tiled", person=7, mode=Mode.RANK, late="yes", verdict=Verdict.DATA_RACE)
    assert asked.narrowed == "student by name, verdict data race, mode submissions, lateness late"
    assert SubmissionCriteria(worker="GPU-host", submission="aB").narrowed == "submission aB, worker GPU-host"
    assert SubmissionCriteria().narrowed == ""
