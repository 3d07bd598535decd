"""A course's late days: nothing is spent without a confirmation, and nothing twice."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import select

from kernels.verdict import Verdict
from server.courses.models import Assignment, Course, Role
from server.database.engine import Sessions
from server.grades.grade import LateDays, late_days_of
from server.grading.models import Job, JobState
from server.submissions.models import Mode, Submission
from server.submissions.refusals import SpendsLateDays
from server.submissions.service import SubmissionInput, accept
from server.submissions.source import read_source
from tests.server.course import NOW, ACourse
from tests.server.databases import ON_SQLITE
from tests.server.staff.graded import judged, newest_job
from tests.server.submissions.course_pages import DAY, FORM, KERNEL, PAGE, end, handed_in, now, typed
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of

SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("days", "confirmed", "covered"),
    [
        (LateDays(given=3, spent=0, here=0, late=0), None, 0),
        (LateDays(given=0, spent=0, here=0, late=2), None, 0),
        (LateDays(given=3, spent=0, here=0, late=1), 1, 1),
        (LateDays(given=3, spent=0, here=0, late=1), 0, 0),
        (LateDays(given=3, spent=0, here=0, late=3), 3, 3),
        (LateDays(given=3, spent=0, here=0, late=5), 3, 3),
        (LateDays(given=3, spent=3, here=0, late=1), None, 0),
        (LateDays(given=3, spent=3, here=2, late=2), None, 2),
        (LateDays(given=3, spent=1, here=1, late=2), 0, 1),
        (LateDays(given=3, spent=1, here=1, late=2), 1, 2),
        (LateDays(given=1, spent=3, here=3, late=4), None, 3),
        (LateDays(given=3, spent=2, here=2, late=1), None, 1),
    ],
)
def test_late_days_cover_what_was_confirmed_up_to_the_last_one(days, confirmed, covered):
    assert days.covered(confirmed) == covered


@pytest.mark.parametrize("confirmed", [None, 1])
def test_nothing_is_spent_beyond_the_confirmation(confirmed):
    with pytest.raises(SpendsLateDays) as refused:
        LateDays(given=3, spent=0, here=0, late=2).covered(confirmed)
    assert refused.value.needed == 2


@pytest.fixture
def course(made: Sessions) -> ACourse:
    course = ACourse.make(made, points=10.0, late_percent_per_day=20.0, due_at=NOW, device_class="")
    with made.begin() as session:
        session.get_one(Course, course.course).late_days = 3
    return course


def submit(course: ACourse, days: int | None = None, *, late: timedelta = SECOND, text: bytes = b"// 1") -> int:
    """The ID of a submission that is that late."""
    asked = SubmissionInput(course.person("ada"), course.assignment, read_source(text), late_days=days)
    return accept(course.sessions, asked, NOW + late).submission.id


def spent(course: ACourse, late: timedelta = SECOND) -> tuple[int, int]:
    """The late days that ada spent, and how many of them at the assignment."""
    with course.sessions.begin() as session:
        assignment = session.get_one(Assignment, course.assignment)
        found = late_days_of(session, assignment, course.person("ada"), NOW + late)
        return found.spent, found.here


@ON_SQLITE
def test_a_day_is_spent_once_and_given_back_by_a_system_error_or_an_extension(course: ACourse) -> None:
    with pytest.raises(SpendsLateDays):
        submit(course)
    assert course.rows(select(Submission)) == []
    assert submit(course, late=timedelta(0))
    assert spent(course) == (0, 0)
    first = submit(course, 1, text=b"// 2")
    assert spent(course) == (1, 1)
    submit(course, text=b"// 3", late=DAY)
    assert spent(course) == (1, 1), "the same day is paid already"
    second = submit(course, 1, text=b"// 4", late=DAY + SECOND)
    assert spent(course) == (2, 2)
    with course.sessions.begin() as session:
        job = session.get_one(Job, newest_job(course, second))
        job.state, job.verdict, job.ended_at = JobState.DONE, Verdict.SYSTEM_ERROR, NOW
    assert spent(course) == (1, 1)
    judged(course, newest_job(course, first), Verdict.WRONG_ANSWER)
    assert spent(course) == (1, 1), "a failed submission spends its day, too"
    course.extend("ada", due_at=NOW + DAY)
    assert spent(course) == (0, 0)


@ON_SQLITE
def test_checks_staff_and_penalties_of_zero_spend_nothing(course: ACourse) -> None:
    course.hand_in("ada", mode=Mode.CHECK, now=NOW + DAY)
    course.person("ina", Role.INSTRUCTOR)
    course.hand_in("ina", now=NOW + DAY)
    course.change(late_percent_per_day=0.0)
    submit(course, text=b"// 5")
    assert spent(course) == (0, 0)


def is_late(portal: Portal) -> None:
    portal.course.change(points=10.0, late_percent_per_day=20.0, due_at=now() - 0.5 * DAY, closes_at=None)
    portal.course.change_course(late_days=3)


@ON_SQLITE
def test_the_form_asks_before_it_spends_a_day_and_keeps_the_text(portal: Portal, ada: BrowserClient) -> None:
    is_late(portal)
    assert 'id="late-days">You have 3 of 3' in ada.page(PAGE)
    asked = ada.post_form(FORM, source=KERNEL, mode="rank")
    assert (asked.status_code, 'data-refusal="late_days"' in asked.text) == (409, True)
    assert (typed(asked.text), handed_in(portal)) == (KERNEL, [])
    assert "This spends 1 of your 3 late days." in asked.text
    penalised = ada.post_form(FORM, source=f"{KERNEL}//", late_days="0")
    assert penalised.status_code == 303
    end(portal, Verdict.ACCEPTED)
    assert ">8 of 10 points" in ada.page(PAGE)
    assert ada.post_form(FORM, source=KERNEL, late_days="1").status_code == 303
    end(portal, Verdict.ACCEPTED)
    assert ">10 of 10 points" in ada.page(PAGE)
    assert 'id="late-days">You have 2 of 3' in ada.page(PAGE)
    ada.post_form(FORM, source=KERNEL, mode="check")
    assert "Worth 10/10" in ada.page(f"/submissions/{end(portal, Verdict.ACCEPTED)}")
    ina = client_of(portal, "ina", Role.INSTRUCTOR)
    assert 'id="late-days">1 of 3' in ina.page(f"/staff/gpu/students/{portal.course.person('ada')}")


@ON_SQLITE
def test_a_program_confirms_with_a_number(portal: Portal) -> None:
    is_late(portal)
    refused = portal.post("ada")
    assert (refused.status_code, refused.get_json()["code"]) == (409, "late_days")
    (one,) = portal.get("ada", "/api/v1/assignments").get_json()["assignments"]
    assert (one["late_days_left"], one["late_days_needed"], one["grade"]) == (3, 1, None)
    assert portal.post("ada", {"late_days": 366}).status_code == 422
    assert portal.post("ada", {"late_days": 1}).status_code == 202
    end(portal, Verdict.ACCEPTED)
    (one,) = portal.get("ada", "/api/v1/assignments").get_json()["assignments"]
    assert (one["late_days_left"], one["late_days_needed"]) == (2, 0)
    assert (one["grade"]["points"], len(one["grade"]["why"])) == (10.0, 1)


@ON_SQLITE
def test_an_instructor_sets_the_late_days_of_a_course(portal: Portal, ina: BrowserClient) -> None:
    settings = {"title": "GPU", "zone": "UTC"}
    assert ina.post_form("/staff/gpu/settings", **settings, late_days="4").status_code == 303
    assert 'value="4"' in ina.page("/staff/gpu/settings")
    wrong = ina.post_form("/staff/gpu/settings", **settings, late_days="1000")
    assert (wrong.status_code, 'href="#late_days"' in wrong.text) == (422, True)
