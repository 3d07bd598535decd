"""What is new for a person, at the top of every page."""

from __future__ import annotations

import re
from datetime import timedelta

from sqlalchemy import select

from kernels.verdict import Verdict
from server.accounts.models import Person
from server.courses.models import Membership
from server.submissions.changes import retry
from server.submissions.models import Mode, Submission
from server.talk.comments import write_comment
from server.talk.models import Announcement
from tests.server.course import NOW
from tests.server.submissions.graded import graded, handed_in
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient


def news(client: BrowserClient) -> tuple[int, list[str]]:
    """The number at the top of the page, and the addresses that the page lists."""
    page = client.page("/news")
    number = re.search(r'data-news="(\d+)"', page)
    return int(number[1]) if number else 0, re.findall(r'<li><a href="([^"]+)">[^<]+</a> <span>', page)


def test_comments_answers_verdicts_and_announcements_are_new_until_opened(
    portal: Portal, ada: BrowserClient, ina: BrowserClient
) -> None:
    name, job = handed_in(portal.course, "ada", Mode.RANK)
    graded(portal.course, job, verdict=Verdict.DATA_RACE)
    assert news(ada) == (0, [])
    with portal.course.sessions.begin() as session:
        again = retry(session, job, None, NOW).id
        submission = session.scalars(select(Submission)).one()
        write_comment(session, submission, session.get_one(Person, portal.course.people["ina"]), "One", now=NOW)
        session.add(Announcement(course_id=portal.course.course, title="Exam", text="Soon", created_at=NOW))
    graded(portal.course, again, verdict=Verdict.ACCEPTED)
    portal.course.change(due_at=NOW + timedelta(days=3_650))
    extension = "/courses/gpu/tiled/extension"
    until = (NOW + timedelta(days=3_651)).strftime("%Y-%m-%dT%H:%M")
    assert ada.post_form(extension, wanted=until, reason="I am ill.").status_code == 303
    assert ina.post_form("/staff/gpu/extension-requests/1", way="refuse", answer="No.").status_code == 303
    expected = {f"/submissions/{name}/comments", f"/submissions/{name}", extension, "/courses/gpu/announcements"}
    number, addresses = news(ada)
    assert (number, set(addresses)) == (4, expected)
    assert news(ina)[0] == 1, "others only see the announcement"
    for left, address in enumerate(addresses, start=1):
        ada.page(address)
        assert news(ada)[0] == 4 - left, address


def test_a_regrade_with_the_same_verdict_is_not_new(portal: Portal, ada: BrowserClient) -> None:
    _, job = handed_in(portal.course, "ada", Mode.RANK)
    graded(portal.course, job, verdict=Verdict.DATA_RACE)
    with portal.course.sessions.begin() as session:
        again = retry(session, job, None, NOW).id
    graded(portal.course, again, verdict=Verdict.DATA_RACE)
    assert news(ada) == (0, [])


def test_nothing_of_a_dropped_course_is_new(portal: Portal, ada: BrowserClient) -> None:
    handed_in(portal.course, "ada", Mode.RANK)
    with portal.course.sessions.begin() as session:
        write_comment(session, session.scalars(select(Submission)).one(), None, "One", now=NOW)
    assert news(ada)[0] == 1
    with portal.course.sessions.begin() as session:
        session.scalars(
            select(Membership).where(Membership.person_id == portal.course.people["ada"])
        ).one().dropped_at = NOW
    assert news(ada) == (0, [])
