"""Teams: students make and join them, and what one member submits counts for all."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from threading import Event, Lock
from typing import Any

import pytest
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from bench.copies.authors import kernel
from kernels.verdict import Verdict
from server.accounts.models import Person
from server.acts.act import assignment_target
from server.assignments.form import earlier_submission
from server.assignments.settings import SETTINGS, setting_of
from server.assignments.tasks import task_of
from server.class_progress.states import State, states_of
from server.copies.similar import Kind, shared_files, similar, works_of
from server.courses.models import Accommodation, Assignment, Membership, Role
from server.courses.service import CourseError
from server.grades.criteria import Criterion, Given, criteria_of
from server.grades.grade import late_days_of, own_grades
from server.grades.gradebook import gradebook
from server.grades.grading import papers
from server.grades.losses import UnconfirmedPoints, students_grades
from server.grades.rubric import change_rubric, give_points
from server.grading.models import Step
from server.history.queries import Asked, history_of
from server.history.service import choose
from server.operations.erase import erase_rows
from server.regrades.requests import grant_points, request_regrade
from server.standings.service import board, rebuild, set_listed
from server.submissions.allowance import allowance
from server.submissions.changes import cancel_own
from server.submissions.counted_submission import Deadlines
from server.submissions.entries import NEWEST
from server.submissions.models import ExactCopy, Mode, Submission
from server.submissions.queries import visible_submission
from server.submissions.service import SubmissionInput, accept
from server.talk.comments import write_comment
from server.talk.models import RegradeRequest
from server.talk.news import news_of, number_of_news
from server.teams import queries, service
from server.teams.models import Team, TeamMember
from server.teams.placement import PLACEMENT, Placement
from server.teams.queries import teams_in
from server.teams.service import join_team, leave_team, make_team
from tests.server.course import NOW, SUBMITTED, ACourse
from tests.server.staff.graded import handed_in, judged, newest_job
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


def test_nobody_missed_what_a_teammate_may_still_submit(paired: ACourse) -> None:
    paired.change(closes_at=NOW)
    paired.extend("bob", closes_at=NOW + timedelta(days=2))
    with paired.sessions.begin() as session:
        lines = gradebook(session, paired.course).lines
    missed = {line.member.email[:3] for line in lines if line.cells[0].missed(NOW + timedelta(days=1))}
    assert missed == {"eve"}


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
    assert public_id in (page := bob.page("/courses/gpu/tiled/history"))
    assert "submission by ada" in page
    assert "submission by" not in ada.page("/courses/gpu/tiled/history")


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


def test_the_editor_begins_with_the_own_text_or_names_whose_it_is(paired: ACourse) -> None:
    handed_in(paired, "ada")
    assert _editors(paired) == {"ada": "", "bob": "ada"}
    handed_in(paired, "bob", Verdict.WRONG_ANSWER, mode=Mode.CHECK)
    handed_in(paired, "ada", now=NOW + timedelta(hours=1))
    assert _editors(paired) == {"ada": "", "bob": ""}


def _editors(course: ACourse) -> dict[str, str]:
    """Who wrote the text that the editor begins with, for ada and bob; "" for themselves."""
    with course.sessions.begin() as session:
        one = session.get_one(Assignment, course.assignment)
        found = {n: earlier_submission(session, course.people[n], one, staff=False) for n in ("ada", "bob")}
    return {name: each.author for name, each in found.items() if each is not None}


def test_comments_on_a_teams_submission_are_news_for_each_member(paired: ACourse) -> None:
    handed_in(paired, "ada")
    with paired.sessions.begin() as session:
        write_comment(session, session.scalars(select(Submission)).one(), None, "One", now=NOW)
        news = {name: number_of_news(session, number, NOW) for name, number in paired.people.items()}
        listed = news_of(session, paired.people["bob"], NOW, 9)
    assert news == {"ada": 1, "bob": 1, "eve": 0}
    assert [line.what for line in listed] == ["New comment"]


def test_who_leaves_takes_their_checks_along(paired: ACourse) -> None:
    public_id = handed_in(paired, "bob", mode=Mode.CHECK)
    leave(paired, "bob")
    join(paired, "eve", paired.row(select(Team.code)))
    with paired.sessions.begin() as session:
        seen = {name for name, n in paired.people.items() if visible_submission(session, n, public_id)}
    assert seen == {"bob"}


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


def test_a_later_submission_counts_if_the_teams_deadline_was_later(course: ACourse) -> None:
    due = NOW + timedelta(days=1)
    course.change(device_class="", team_size=2, points=10.0, due_at=due, late_percent_per_day=20.0)
    for name in ("ada", "bob"):
        course.person(name)
    course.extend("bob", due_at=due + timedelta(days=3))
    handed_in(course, "ada", now=due + timedelta(hours=30))
    join(course, "ada", make(course, "bob"))
    handed_in(course, "ada", now=due + timedelta(days=2))
    for _ in range(NEWEST + 1):
        handed_in(course, "ada", now=due + timedelta(days=4))
    assert points(course) == {"ada": 10.0, "bob": 10.0}
    with course.sessions.begin() as session:
        assert task_of(session, session.get_one(Assignment, course.assignment), course.people["ada"]).grade.points == 10


def test_a_team_with_a_later_deadline_gives_no_late_days_back(course: ACourse) -> None:
    due = NOW + timedelta(days=1)
    course.change_course(late_days=2)
    course.change(device_class="", team_size=2, points=10.0, due_at=due, late_percent_per_day=20.0)
    for name in ("ada", "bob"):
        course.person(name)
    course.extend("bob", due_at=due + timedelta(days=3))
    asked = SubmissionInput(course.people["ada"], course.assignment, SUBMITTED, late_days=2)
    accepted = accept(course.sessions, asked, due + timedelta(hours=30))
    judged(course, newest_job(course, accepted.submission.id))
    join(course, "ada", make(course, "bob"))
    with course.sessions.begin() as session:
        one = session.get_one(Assignment, course.assignment)
        days = late_days_of(session, one, course.people["ada"], due + timedelta(days=2))
    assert (days.spent, days.here, days.late) == (2, 2, 0)


def test_only_members_see_a_teams_submission(paired: ACourse) -> None:
    public_id = handed_in(paired, "ada")
    with paired.sessions.begin() as session:
        seen = {name: visible_submission(session, n, public_id) is not None for name, n in paired.people.items()}
    assert seen == {"ada": True, "bob": True, "eve": False}


def test_a_teammates_cancel_gives_no_attempt_back(paired: ACourse) -> None:
    paired.change(attempts=1)
    public_id = paired.hand_in("ada").submission.public_id
    with paired.sessions.begin() as session:
        session.execute(update(Step).values(started_at=NOW))
        submission = visible_submission(session, paired.people["bob"], public_id)
        assert submission is not None
        cancel_own(session, submission, session.get_one(Person, paired.people["bob"]))
        one = session.get_one(Assignment, paired.assignment)
        assert allowance(session, one, paired.people["ada"], NOW).left == 0


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


def test_staff_move_a_student_by_page_file_and_api(portal: Portal) -> None:
    course = portal.course
    course.change(device_class="", team_size=2, points=10.0)
    for name in ("ada", "bob", "eve"):
        course.person(name)
    ina = client_of(portal, "ina", Role.INSTRUCTOR)
    at = "/staff/gpu/assignments/tiled"
    assert ina.post_form(f"{at}/teams", student=str(course.people["ada"]), team="7").status_code == 303
    assert ina.post_form(f"{at}/teams", student="4711", team="7").status_code == 422
    text = "email,team\nbob@example.edu,7\neve@example.edu,8\n"
    preview = ina.post_form(f"{at}/teams/import", text=text)
    digest = re.search(r'name="digest" value="(\w+)"', preview.get_data(as_text=True))
    assert digest
    assert ina.post_form(f"{at}/teams/apply", text=text, digest=digest[1]).status_code == 303
    assert teams(course) == {"7": {"ada", "bob"}, "8": {"eve"}}
    full = ina.post_form(f"{at}/teams/import", text="email,team\neve@example.edu,7\n")
    assert full.status_code == 422
    swapped = "email,team\neve@example.edu,7\nbob@example.edu,8\n"
    api = "/api/v1/courses/gpu/assignments/tiled/teams"
    head = {"Authorization": f"Bearer {portal.token('ina')}"}
    assert portal.client.post(f"{api}/import", json={"csv": swapped}, headers=head).status_code == 200
    assert teams(course) == {"7": {"ada", "eve"}, "8": {"bob"}}
    ada = course.people["ada"]
    assert portal.client.post(f"{api}/{course.people['bob']}", json={"team": "7"}, headers=head).status_code == 422
    assert portal.client.post(f"{api}/{ada}", json={"team": ""}, headers=head).json == {"changed": True}
    listed: Any = portal.client.get(api, headers=head).json
    assert listed["teams"][0] == {"name": "7", "members": [course.people["eve"]], "submitted": False}
    assert ina.page(f"{at}/teams.csv") == "\ufeffemail,team\r\nbob@example.edu,8\r\neve@example.edu,7\r\n"
    assert [deed.detail for deed in course.deeds("team.changed")][-1] == {"person": ada, "team": ["7", ""]}
    bob, eve = course.people["bob"], course.people["eve"]
    with course.sessions.begin() as session:
        former = update(Membership).where(Membership.person_id.in_([bob, eve]))
        session.execute(former.values(role=Role.ASSISTANT))
    assert portal.client.post(f"{api}/{eve}", json={"team": "9"}, headers=head).status_code == 422
    assert portal.client.post(f"{api}/{eve}", json={"team": ""}, headers=head).json == {"changed": True}
    assert f'value="{bob}"' in ina.page(at)
    assert ina.post_form(f"{at}/teams", student=str(bob), team="").status_code == 303
    assert teams(course) == {}


def test_what_a_team_submitted_stays_its_members_when_staff_move_one(paired: ACourse) -> None:
    handed_in(paired, "ada", Verdict.WRONG_ANSWER)
    place(paired, "bob", "new")
    place(paired, "eve", "new")
    handed_in(paired, "eve")
    assert points(paired) == {"ada": 0.0, "bob": 10.0, "eve": 10.0}
    handed_in(paired, "ada")
    paired.change(counts="last")
    assert points(paired) == {"ada": 10.0, "bob": 10.0, "eve": 10.0}
    assert teams(paired) == {"1": {"ada"}, "new": {"bob", "eve"}}
    place(paired, "bob", "")
    assert points(paired)["bob"] == 10.0
    assert teams(paired) == {"1": {"ada"}, "new": {"eve"}}


def test_who_left_a_team_chooses_none_of_its_submissions(paired: ACourse) -> None:
    paired.change(counts="chosen", due_at=NOW + timedelta(days=1), late_percent_per_day=50.0)
    late = NOW + timedelta(days=2)
    good, bad = handed_in(paired, "bob"), handed_in(paired, "ada", now=NOW + timedelta(days=1, hours=1))
    assert chosen(paired, "ada", good, late)
    place(paired, "bob", "")
    assert not chosen(paired, "bob", bad, late)
    assert [choosable(paired, name) for name in ("ada", "bob")] == [{bad}, set()]
    assert points(paired) == {"ada": 10.0, "bob": 10.0, "eve": None}


def chosen(course: ACourse, name: str, public_id: str, now: datetime) -> bool:
    with course.sessions.begin() as session:
        return choose(session, course.people[name], public_id, now) is not None


def choosable(course: ACourse, name: str) -> set[str]:
    number = course.people[name]
    with course.sessions.begin() as session:
        one = session.get_one(Assignment, course.assignment)
        grade = own_grades(session, [one], number)[one.id]
        history = history_of(session, one, number, Deadlines(None, None), grade, Asked(own=True))
        return {each.public_id for each in history.attempts if each.choosable}


def test_points_after_a_request_are_for_all_members(paired: ACourse) -> None:
    handed_in(paired, "ada")
    with paired.sessions.begin() as session:
        submission = session.scalars(select(Submission)).one()
        request_regrade(session, submission, session.get_one(Person, paired.people["bob"]), "Please.")

    def grant(confirmed: str) -> None:
        with paired.sessions.begin() as session:
            grant_points(session, session.scalars(select(RegradeRequest)).one(), None, "", 7.0, confirmed)

    with pytest.raises(UnconfirmedPoints) as lost:
        grant("")
    assert {loss.person_id for loss in lost.value.losses} == {paired.people["ada"], paired.people["bob"]}
    grant(lost.value.digest)
    assert points(paired) == {"ada": 7.0, "bob": 7.0, "eve": None}


def test_a_size_does_not_become_smaller_than_a_team(paired: ACourse) -> None:
    def wrong(size: int, **more: Any) -> set[str]:
        with paired.sessions.begin() as session:
            one = session.get_one(Assignment, paired.assignment)
            setting = replace(setting_of(one), team_size=size, **more)
            return set(SETTINGS.mistakes(session, assignment_target(one), setting))

    assert wrong(1) == wrong(4) == wrong(2, points=0.0) == {"team_size"}
    assert wrong(3) == set()
    paired.hand_in("ada")
    place(paired, "bob", "")
    assert wrong(1) == {"team_size"}


def test_a_teams_submission_is_graded_by_the_rubric_once_for_all(paired: ACourse) -> None:
    with paired.sessions.begin() as session:
        change_rubric(session, session.get_one(Assignment, paired.assignment), None, [Criterion("", "Style", 4.0)])
    public_id = handed_in(paired, "bob")
    handed_in(paired, "eve")
    with paired.sessions.begin() as session:
        one = session.get_one(Assignment, paired.assignment)
        assert sorted(paper.name for paper in papers(session, one)) == ["ada and bob", "eve"]
        (criterion,) = criteria_of(one.rubric)
        submission = session.scalars(select(Submission).where(Submission.public_id == public_id)).one()
        assert give_points(session, submission, None, Given({criterion.key: 3.0}, {}))
        assert [paper.graded for paper in papers(session, one) if paper.mates] == [True]
    assert points(paired) == {"ada": 13.0, "bob": 13.0, "eve": 10.0}


def test_teammates_do_not_copy_from_each_other(paired: ACourse) -> None:
    def found() -> list[tuple[Kind, set[str]]]:
        with paired.sessions.begin() as session:
            one = session.get_one(Assignment, paired.assignment)
            files = shared_files(session, one)
            cases = similar(works_of(session, one).works, files, (), percent=50).cases
            return [(case.kind, {work.name for work in case.works}) for case in cases]

    same = kernel(3).encode()
    for name in ("ada", "bob"):
        paired.hand_in(name, source=same)
    assert found() == []
    assert paired.rows(select(ExactCopy.submission_id)) == []
    paired.hand_in("eve", source=same)
    assert [(kind, len(names)) for kind, names in found()] == [(Kind.FILE, 2)]
    assert len(paired.rows(select(ExactCopy.submission_id))) == 1


def test_two_join_the_last_place_at_once(course: ACourse) -> None:
    course.change(team_size=2)
    code = make(course, "ada")
    names = ("bob", "eve", "dan")
    for name in names:
        course.person(name)

    def joined(name: str) -> bool:
        try:
            join(course, name, code)
        except CourseError:
            return False
        return True

    with ThreadPoolExecutor(len(names)) as pool:
        assert sorted(pool.map(joined, names)) == [False, False, True]
    assert len(course.rows(select(TeamMember.person_id))) == 2


@pytest.mark.parametrize("first", ["submit", "join"])
def test_a_student_joins_before_a_submission_or_not_at_all(course: ACourse, first: str) -> None:
    """Whichever of both holds the team first, the other waits for it and sees what it did."""
    course.change(device_class="", team_size=2, points=10.0)
    code = make(course, "ada")
    course.person("bob")
    held, go_on = Event(), Event()

    def hold(_session: Session) -> None:
        held.set()
        assert go_on.wait(20)

    def submit() -> None:
        accept(course.sessions, SubmissionInput(course.people["ada"], course.assignment, SUBMITTED), NOW)

    def joining() -> bool:
        try:
            join(course, "bob", code)
        except CourseError:
            return False
        return True

    with ThreadPoolExecutor(2) as pool, held_after_team(hold):
        one = pool.submit(submit if first == "submit" else joining)
        assert held.wait(20)
        other = pool.submit(joining if first == "submit" else submit)
        go_on.set()
        joined = (one if first == "join" else other).result(30)
        (one if first == "submit" else other).result(30)
    assert joined == (first == "join")
    team = course.row(select(Submission.team_id))
    members = course.rows(select(TeamMember.person_id).where(TeamMember.team_id == team))
    assert len(members) == (2 if joined else 1)


@contextmanager
def held_after_team(hold: Callable[[Session], None]) -> Iterator[None]:
    """The first of both that has locked the team waits there."""
    lock, free = queries.lock_team, Lock()

    def locked(session: Session, team: int) -> None:
        lock(session, team)
        if free.acquire(blocking=False):
            hold(session)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queries, "lock_team", locked)
        patch.setattr(service, "lock_team", locked)
        yield


def test_a_team_is_one_line_with_all_names(paired: ACourse) -> None:
    def lines(**asked: Any) -> list[str]:
        with paired.sessions.begin() as session:
            found = board(session, paired.assignment, "", **asked)
            assert asked.get("person") != paired.people["bob"] or found.own is not None
            return [one.name for one in found.rows]

    for name in ("bob", "ada", "eve"):
        handed_in(paired, name)
    assert sorted(lines(staff=True)) == ["ada and bob", "eve"]
    assert len(lines(person=paired.people["bob"])) == 2
    for listed, count in ((False, 1), (True, 2)):
        with paired.sessions.begin() as session:
            set_listed(session, paired.people["bob"], listed=listed)
        assert len(lines(person=paired.people["eve"])) == count
        assert len(lines(person=paired.people["bob"])) == count
    with paired.sessions.begin() as session:
        rebuild(session, session.get_one(Assignment, paired.assignment))
    assert sorted(lines(staff=True)) == ["ada and bob", "eve"]


def test_an_erased_member_leaves_the_place_but_not_the_points(paired: ACourse) -> None:
    code = make(paired, "eve")
    erase_rows(paired.sessions, paired.people.pop("eve"), NOW)
    with pytest.raises(CourseError):
        join(paired, "dan", code)
    handed_in(paired, "ada")
    erase_rows(paired.sessions, paired.people.pop("ada"), NOW)
    assert points(paired)["bob"] == 10.0


def test_an_erased_member_leaves_the_line_to_the_others(paired: ACourse) -> None:
    def lines() -> list[str]:
        with paired.sessions.begin() as session:
            return [one.name for one in board(session, paired.assignment, "", staff=True).rows]

    handed_in(paired, "bob")
    erase_rows(paired.sessions, paired.people["ada"], NOW)
    assert lines() == ["bob"]
    with paired.sessions.begin() as session:
        assert board(session, paired.assignment, "", person=paired.people["bob"]).own is not None
    erase_rows(paired.sessions, paired.people["bob"], NOW)
    assert lines() == []


def teams(course: ACourse) -> dict[str, set[str]]:
    with course.sessions.begin() as session:
        found = teams_in(session, session.get_one(Assignment, course.assignment))
        return {one.name: {member.name for member in one.members} for one in found}


def place(course: ACourse, name: str, team: str) -> None:
    with course.sessions.begin() as session:
        on = assignment_target(session.get_one(Assignment, course.assignment), course.person(name))
        PLACEMENT.carry_out(session, on, None, lambda _: Placement(team=team))
