"""Teams: students make and join them, and what one member submits counts for all."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import select

from kernels.verdict import Verdict
from server.accounts.models import Person
from server.class_progress.states import State, states_of
from server.courses.models import Accommodation, Assignment
from server.courses.service import CourseError
from server.grades.grade import own_grades
from server.grades.losses import students_grades
from server.submissions.models import Mode, Submission
from server.submissions.queries import visible_submission
from server.teams.models import Team, TeamMember
from server.teams.service import join_team, leave_team, make_team
from tests.server.course import NOW, ACourse
from tests.server.staff.graded import handed_in
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import client_of

AT = "/courses/gpu/tiled/team"


@pytest.fixture
def paired(course: ACourse) -> ACourse:
    """A course in which ada and bob are a team, and eve is alone."""
    course.change(device_class="", team_size=2, points=10.0)
    code = make(course, "ada")
    join(course, "bob", code)
    course.person("eve")
    return course


def make(course: ACourse, name: str) -> str:
    number = course.person(name)
    with course.sessions.begin() as session:
        return make_team(session, session.get_one(Assignment, course.assignment), session.get_one(Person, number)).code


def join(course: ACourse, name: str, code: str) -> None:
    number = course.person(name)
    with course.sessions.begin() as session:
        join_team(session, session.get_one(Assignment, course.assignment), session.get_one(Person, number), code)


def leave(course: ACourse, name: str) -> None:
    with course.sessions.begin() as session:
        student = session.get_one(Person, course.people[name])
        leave_team(session, session.get_one(Assignment, course.assignment), student)


def points(course: ACourse) -> dict[str, float | None]:
    """What counts for each person, computed for the class and for each alone: both must agree."""
    with course.sessions.begin() as session:
        one = session.get_one(Assignment, course.assignment)
        found = students_grades(session, one)
        alone = {name: own_grades(session, [one], number)[one.id] for name, number in course.people.items()}
        for name, number in course.people.items():
            assert alone[name].points == (found[number].points if number in found else None)
        return {name: grade.points for name, grade in alone.items()}


def states(course: ACourse) -> dict[str, State]:
    with course.sessions.begin() as session:
        one = session.get_one(Assignment, course.assignment)
        found = {each.person_id: each.state for each in states_of(session, course.course, [one])[one.id]}
    return {name: found[number] for name, number in course.people.items()}


def test_students_form_a_team_on_pages_and_submit_together(portal: Portal) -> None:
    course = portal.course
    course.change(device_class="", team_size=2, points=10.0)
    ada, bob, eve = (client_of(portal, name) for name in ("ada", "bob", "eve"))
    assert ada.post_form(AT).status_code == 303
    code = course.row(select(Team.code))
    assert code in ada.page(AT)
    assert bob.post_form(f"{AT}/join", code="2222-2222").status_code == 422
    assert bob.post_form(f"{AT}/join", code=f" {code.upper()} ").status_code == 303
    assert eve.post_form(f"{AT}/join", code=code).status_code == 422
    assert eve.post_form(f"{AT}/leave").status_code == 303
    public_id = handed_in(course, "ada")
    assert points(course) == {"ada": 10.0, "bob": 10.0, "eve": None}
    assert states(course) == {"ada": State.ACCEPTED, "bob": State.ACCEPTED, "eve": State.NOT_STARTED}
    assert bob.get(f"/submissions/{public_id}").status_code == 200
    assert eve.get(f"/submissions/{public_id}").status_code == 404
    assert bob.post_form(f"{AT}/leave").status_code == 422
    assert public_id in bob.page("/courses/gpu/tiled/")
    assert public_id in bob.page("/courses/gpu/tiled/history")


def test_what_came_before_the_team_stays_its_authors(course: ACourse) -> None:
    course.change(device_class="", team_size=3, points=10.0)
    course.person("ada")
    handed_in(course, "bob")
    code = make(course, "ada")
    join(course, "bob", code)
    assert points(course) == {"ada": None, "bob": 10.0}
    handed_in(course, "ada", Verdict.WRONG_ANSWER)
    assert points(course) == {"ada": 0.0, "bob": 10.0}
    course.change(counts="last")
    assert points(course) == {"ada": 0.0, "bob": 0.0}


def test_a_check_fixes_no_team_and_goes_with_it(paired: ACourse) -> None:
    handed_in(paired, "ada", mode=Mode.CHECK)
    assert states(paired)["bob"] is State.CHECKING
    leave(paired, "bob")
    assert states(paired)["bob"] is State.NOT_STARTED
    leave(paired, "ada")
    assert paired.rows(select(Team.id)) == []
    assert states(paired)["ada"] is State.CHECKING


def test_a_team_has_the_latest_deadline_of_its_members(paired: ACourse) -> None:
    due = NOW + timedelta(days=1)
    paired.change(due_at=due, closes_at=due, late_percent_per_day=10.0)
    with paired.sessions.begin() as session:
        more = Accommodation(course_id=paired.course, person_id=paired.people["bob"], extra_days=2, granted_at=NOW)
        session.add(more)
    handed_in(paired, "ada", now=due + timedelta(days=1))
    assert points(paired) == {"ada": 10.0, "bob": 10.0, "eve": None}
    assert states(paired)["ada"] is State.ACCEPTED


def test_only_members_see_a_teams_submission(paired: ACourse) -> None:
    public_id = handed_in(paired, "ada")
    with paired.sessions.begin() as session:
        seen = {name: visible_submission(session, n, public_id) is not None for name, n in paired.people.items()}
    assert seen == {"ada": True, "bob": True, "eve": False}


def test_a_student_is_in_one_team_which_has_room_and_has_not_submitted(paired: ACourse) -> None:
    with pytest.raises(CourseError):
        make(paired, "bob")
    code = make(paired, "eve")
    with pytest.raises(CourseError):
        join(paired, "ada", code)
    paired.hand_in("eve")
    with pytest.raises(CourseError):
        join(paired, "dan", code)
    with pytest.raises(CourseError):
        leave(paired, "eve")
    assert len(paired.rows(select(TeamMember.person_id))) == 3
    assert paired.row(select(Submission.team_id)) is not None
