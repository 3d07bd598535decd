"""Two members of course staff who change the same grades at once: none decides by what the other replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

from sqlalchemy.orm import Session

from server.acts.act import assignment_target
from server.courses.models import Assignment, Role
from server.grades.corrections import CORRECTION, Decision
from server.grades.criteria import Criterion
from server.grades.losses import CONFIRMED
from server.grades.rubric import change_rubric
from tests.server.databases import ON_POSTGRESQL
from tests.server.staff.graded import handed_in
from tests.server.staff.test_corrections import grade_of
from tests.server.staff.test_rubric import RUBRIC, give, put, rubric_of, typed
from tests.server.staff.test_staff_changes import Staff
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of

pytestmark = ON_POSTGRESQL  # SQLite has one writer at a time

A_MOMENT = 0.2


@contextmanager
def a_change(
    portal: Portal, change: Callable[[Session, Assignment], Any], beside: Callable[[], Any]
) -> Iterator[Future[Any]]:
    """While this change isn't committed, the other begins, and has to wait."""
    with ThreadPoolExecutor(1) as pool:
        with portal.course.sessions.begin() as session:
            change(session, session.get_one(Assignment, portal.course.assignment))
            waits = pool.submit(beside)
            assert not wait([waits], timeout=A_MOMENT).done
        yield waits


def test_a_part_of_a_correction_keeps_what_another_one_changed(portal: Portal, due_tomorrow: None) -> None:
    ina, ada = Staff(portal), portal.course.person("ada")
    ina.grade("ada", override=8, reason="shown in the lab")

    def lower(session: Session, assignment: Assignment) -> None:
        given = Decision(score=4.0, held=True, reason="copied")
        CORRECTION.carry_out(session, assignment_target(assignment, ada), None, lambda _: given, CONFIRMED)

    # 6 is less than 8 and more than 4: nothing to confirm
    with a_change(portal, lower, lambda: ina.grade("ada", override=6)) as waits:
        told = waits.result()
    assert (told["override"], told["held"], told["reason"]) == (6.0, True, "copied")


def test_points_by_a_rubric_keep_to_the_present_criteria(portal: Portal, tom: BrowserClient) -> None:
    put(portal)
    handed_in(portal.course, "ada")

    def halve(session: Session, assignment: Assignment) -> None:
        change_rubric(session, assignment, None, [Criterion("aa", "Readable", 2.0)])

    with a_change(portal, halve, lambda: give(portal, tom, "ada", points_aa="4")) as waits:
        wrong = waits.result()
    assert (wrong.status_code, 'href="#points_aa"' in wrong.text) == (409, True)
    assert grade_of(portal, "ada").rubric is None


def test_a_criterion_that_another_instructor_just_removed_stays_removed(portal: Portal) -> None:
    put(portal)
    ina, fields = client_of(portal, "ina", Role.INSTRUCTOR), typed(portal)

    def remove(session: Session, assignment: Assignment) -> None:
        change_rubric(session, assignment, None, [Criterion("aa", "Readable", 4.0)])

    with a_change(portal, remove, lambda: ina.post_form(RUBRIC, **fields)) as waits:
        answer = waits.result()
    assert (answer.status_code, rubric_of(portal)) == (303, [("aa", 4.0)]), "ina changed nothing"
