"""Make, join, leave and change teams.

All of them hold the course, so no two change teams at once. Submissions don't wait for that, but hold their team.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.audit.service import note
from server.courses.models import Assignment, Role
from server.courses.service import CourseError, hold_active_course, role_in
from server.enrolment.codes import new_code, typed_code
from server.submissions.models import Submission
from server.teams.models import Team, TeamMember
from server.teams.queries import lock_team, submitted, team_of, teams_in

_NO_TEAM = "No team of this assignment has this code. Compare it with the code on your teammate’s page."


def make_team(session: Session, assignment: Assignment, student: Person, now: datetime | None = None) -> Team:
    """Make a team of one, with a code for the others; raises CourseError."""
    _hold(session, assignment, student)
    known = {one.name for one in teams_in(session, assignment)}
    name = next(str(number) for number in range(1, len(known) + 2) if str(number) not in known)
    made = add_team(session, assignment, name, [student.id], now or datetime.now(UTC))
    _note(session, assignment, student, "team.made", made)
    return made


def join_team(
    session: Session, assignment: Assignment, student: Person, code: str, now: datetime | None = None
) -> Team:
    """Join the team with this code, in any spelling; raises CourseError."""
    _hold(session, assignment, student)
    theirs = Team.assignment_id == assignment.id, Team.code == typed_code(code)
    found = session.scalar(select(Team).where(*theirs))
    if found is None:
        raise CourseError(_NO_TEAM, ["code"])
    lock_team(session, found.id)
    # Also after a wait for a member who was submitting.
    view = next(iter(teams_in(session, assignment, found.id)), None)
    if view is None:
        raise CourseError(_NO_TEAM, ["code"])
    if view.submitted:
        raise CourseError("This team has submitted, so only course staff can add you.", ["code"])
    if len(view.members) >= assignment.team_size:
        raise CourseError(f"This team is full. A team has at most {assignment.team_size} students.", ["code"])
    add_member(session, found, student.id, now or datetime.now(UTC))
    _note(session, assignment, student, "team.joined", found)
    return found


def leave_team(session: Session, assignment: Assignment, student: Person) -> bool:
    """Leave the present team; False without one. Raises CourseError once the team has submitted."""
    hold_active_course(session, assignment.course_id)
    view = team_of(session, assignment, student.id)
    if view is None:
        return False
    lock_team(session, view.team_id)
    team = session.get_one(Team, view.team_id)
    if session.scalar(select(submitted(team.id))):
        raise CourseError("Your team has submitted, so only course staff can change it.", ["team"])
    _note(session, assignment, student, "team.left", team)
    remove_members(session, team, [student.id])
    return True


def _hold(session: Session, assignment: Assignment, student: Person) -> None:
    """Raise CourseError if this person can't be in another team now."""
    hold_active_course(session, assignment.course_id)
    session.refresh(assignment)
    if assignment.team_size == 1:
        raise CourseError("This assignment has no teams.", ["team"])
    if role_in(session, student.id, assignment.course_id) is not Role.STUDENT:
        raise CourseError("Only students of the course form teams.", ["team"])
    if team_of(session, assignment, student.id) is not None:
        raise CourseError("You are in a team already. Leave it first.", ["team"])


def add_team(session: Session, assignment: Assignment, name: str, people: Iterable[int], now: datetime) -> Team:
    """Store a new team with these members."""
    made = Team(assignment_id=assignment.id, name=name, code=new_code(2), created_at=now)
    session.add(made)
    session.flush()
    for person in people:
        add_member(session, made, person, now)
    return made


def add_member(session: Session, team: Team, person: int, now: datetime) -> None:
    session.add(TeamMember(team_id=team.id, person_id=person, assignment_id=team.assignment_id, joined_at=now))
    session.flush()


def remove_members(session: Session, team: Team, people: Iterable[int]) -> None:
    """Remove members of a team that hasn't submitted, with their checks. The last one takes the team along."""
    gone = list(people)
    session.execute(delete(TeamMember).where(TeamMember.team_id == team.id, TeamMember.person_id.in_(gone)))
    last = session.scalar(select(TeamMember.person_id).where(TeamMember.team_id == team.id).limit(1)) is None
    checks = update(Submission).where(Submission.team_id == team.id)
    theirs = checks if last else checks.where(Submission.person_id.in_(gone))
    session.execute(theirs.values(team_id=None, team_due_at=None))
    if last:
        session.delete(team)
    session.flush()


def leave_open_teams(session: Session, person: int) -> None:
    """Remove a person from all teams that haven't submitted, so that others can have the place."""
    query = select(Team).join(TeamMember, TeamMember.team_id == Team.id)
    open_ones = query.where(TeamMember.person_id == person, TeamMember.left_at.is_(None), ~submitted(Team.id))
    for team in session.scalars(open_ones.order_by(Team.id).with_for_update(key_share=True, of=Team)).all():
        remove_members(session, team, [person])


def _note(session: Session, assignment: Assignment, student: Person, action: str, team: Team) -> None:
    subject = f"assignment {assignment.name}"
    note(session, student, action, subject, course_id=assignment.course_id, team=team.name)
