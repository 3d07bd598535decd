"""Regrade requests: who asks, who answers, and what an answer does."""

from __future__ import annotations

import re

import pytest
from sqlalchemy import select

from kernels.verdict import Verdict
from server.courses.models import Correction, Course, Membership, Role
from server.submissions.models import Mode, StagedRegrade
from server.talk.models import LONGEST_REQUEST, RegradeRequest
from tests.server.course import NOW
from tests.server.staff.graded import handed_in
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of

STAFF = "/staff/gpu/requests"
REASON = "It is <b>right</b>\u202e."


@pytest.fixture
def ada(portal: Portal) -> BrowserClient:
    portal.course.change(device_class="", points=10.0)
    return client_of(portal, "ada")


@pytest.fixture
def page(portal: Portal, ada: BrowserClient) -> str:
    """The address of the requests for a graded submission of ada's."""
    return f"/submissions/{handed_in(portal.course, 'ada', Verdict.DATA_RACE)}/request"


def answers(portal: Portal) -> list[bool | None]:
    return portal.course.rows(select(RegradeRequest.granted).order_by(RegradeRequest.id))


def test_a_request_is_refused_with_a_reason(portal: Portal, ada: BrowserClient, ina: BrowserClient, page: str) -> None:
    assert ada.post_form(page, reason=REASON).status_code == 303
    assert ada.post_form(page, reason=REASON).status_code == 422
    assert "&lt;b&gt;right" in ina.page(STAFF)
    assert 'data-open="1"' in ina.page("/staff/gpu/")
    assert "\u202e" not in ina.page(f"{STAFF}/1")
    assert ina.post_form(f"{STAFF}/1", way="refuse", answer=" ").status_code == 422
    assert ina.post_form(f"{STAFF}/1", way="refuse", answer="See line 2.").status_code == 303
    assert ina.post_form(f"{STAFF}/1", way="regrade").status_code == 422
    assert "See line 2." in ada.page(page)
    assert 'data-request="refused"' in ada.page(page.removesuffix("/request"))
    assert answers(portal) == [False]
    assert [each for each in portal.course.actions() if each.startswith("request.")] == ["request.refused"]


def test_granting_stages_a_regrade(portal: Portal, ada: BrowserClient, page: str) -> None:
    ada.post_form(page, reason=REASON)
    tom = client_of(portal, "tom", Role.ASSISTANT)
    assert tom.post_form(f"{STAFF}/1", way="points", points="9").status_code == 422
    assert "/regrades/staged/tiled" in tom.post_form(f"{STAFF}/1", way="regrade").headers["Location"]
    assert len(portal.course.rows(select(StagedRegrade))) == 1
    assert portal.course.actions()[-2:] == ["request.granted", "regrade.staged"]
    assert answers(portal) == [True]


def test_granted_points_are_set_and_stay_held(
    portal: Portal, ada: BrowserClient, ina: BrowserClient, page: str
) -> None:
    portal.course.change(grades_held=True)
    ada.post_form(page, reason=REASON)
    assert ina.post_form(f"{STAFF}/1", way="points").status_code == 422
    above = ina.post_form(f"{STAFF}/1", way="points", points="1e6")
    assert (above.status_code, 'id="points-error"' in above.text) == (422, True)
    assert ina.post_form(f"{STAFF}/1", way="points", points="8.25").status_code == 303
    assert portal.course.row(select(Correction.score)) == 8.25
    assert not re.search(r"\b8\.25\b", ada.page(page) + ada.page("/courses/gpu/tiled/"))


def test_fewer_points_ask_first(portal: Portal, ada: BrowserClient, ina: BrowserClient) -> None:
    page = f"/submissions/{handed_in(portal.course, 'ada')}/request"
    ada.post_form(page, reason=REASON)
    asked = ina.post_form(f"{STAFF}/1", way="points", points="3")
    assert (asked.status_code, answers(portal)) == (409, [None])
    digest = asked.text.partition('name="lowers" value="')[2].partition('"')[0]
    assert ina.post_form(f"{STAFF}/1", way="points", points="3", lowers=digest).status_code == 303
    assert answers(portal) == [True]


def test_only_the_owner_asks_and_only_staff_of_the_course_answer(
    portal: Portal, ada: BrowserClient, ina: BrowserClient, page: str
) -> None:
    ada.post_form(page, reason=REASON)
    bob, flo = client_of(portal, "bob"), client_of(portal, "flo", None)
    with portal.course.sessions.begin() as session:
        other = Course(slug="other", title="Other", created_at=NOW)
        session.add(other)
        session.flush()
        session.add(Membership(course_id=other.id, person_id=portal.course.person("flo"), role=Role.INSTRUCTOR,
                               created_at=NOW))  # fmt: skip
    for client in (bob, flo, ina):
        assert client.post_form(page, reason="Mine").status_code == 404
    assert (bob.get(page).status_code, flo.get(page).status_code, ina.get(page).status_code) == (404, 404, 200)
    assert flo.post_form("/staff/other/requests/1", way="refuse", answer="No").status_code == 404
    assert REASON[:5] not in flo.page("/staff/other/requests")
    assert bob.post_form(f"{STAFF}/1", way="refuse", answer="No").status_code == 403
    assert answers(portal) == [None]


@pytest.mark.one_in(2, "every second")
@pytest.mark.parametrize("what", ["check", "ungraded", "archived", "empty", "long"])
def test_what_cannot_be_asked_is_not_stored(portal: Portal, ada: BrowserClient, what: str) -> None:
    mode = Mode.CHECK if what == "check" else Mode.RANK
    if what == "ungraded":
        public_id = portal.course.hand_in("ada").submission.public_id
    else:
        public_id = handed_in(portal.course, "ada", mode=mode)
    if what == "archived":
        portal.course.change_course(archived_at=NOW)
    reason = {"empty": " ", "long": "x" * (LONGEST_REQUEST + 1)}.get(what, REASON)
    assert ada.post_form(f"/submissions/{public_id}/request", reason=reason).status_code == 422
    assert answers(portal) == []
