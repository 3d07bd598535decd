"""Course staff put students into teams, one by one or by a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from sqlalchemy import update
from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.acts.act import Act, Target
from server.acts.by_file import StudentFile
from server.acts.field import Asked
from server.courses.models import Assignment, Role
from server.courses.service import CourseError
from server.fields import Text
from server.roster.service import membership_of
from server.teams.models import LONGEST_NAME, Team, TeamMember
from server.teams.queries import TeamView, lock_team, teams_in
from server.teams.service import add_member, add_team, remove_members


# fmt: off
@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A student's team in an assignment.

    team: the team's name; a new one makes a team, and an empty one removes the student
    """

    team: Annotated[str, Text(longest=LONGEST_NAME), Asked(
        "Team", "Its name, such as 7. A new name makes a team. Empty: no team.",
        help="Name of the team; empty for none.",
    )] = ""
# fmt: on


def placements(session: Session, assignment: Assignment) -> Mapping[int, Placement]:
    """The present teams of students, by the student's ID."""
    return {one.id: Placement(team=team.name) for team in teams_in(session, assignment) for one in team.members}


def _present(session: Session, on: Target) -> Placement:
    """None yet for a form without a student."""
    found = placements(session, on.assignment)
    return next((found[person] for person in on.people if person in found), Placement())


def _wrong(session: Session, on: Target, given: Placement) -> dict[str, str]:
    if on.assignment.team_size == 1:
        return {"team": "This assignment has no teams. Choose a team size in its settings first."}
    wrong = _too_large(session, on.assignment, dict.fromkeys(on.people, given))
    return {"team": next(iter(wrong.values()))} if wrong else {}


def _too_large(session: Session, assignment: Assignment, given: Mapping[int, Placement]) -> dict[int, str]:
    """The students whose team would have too many members, each with why."""
    known = {person: one.team for person, one in ({**placements(session, assignment), **given}).items()}
    sizes: dict[str, int] = {}
    for name in known.values():
        sizes[name.casefold()] = sizes.get(name.casefold(), 0) + 1
    most = assignment.team_size
    return {
        person: f"Team {one.team} would have {sizes[one.team.casefold()]} students. The limit is {most}."
        for person, one in given.items()
        if one.team and sizes[one.team.casefold()] > most
    }


def _place(session: Session, on: Target, actor: Person | None, given: Placement) -> bool:
    """Put a student into the team of this name, or into none; False if that changes nothing. Raises CourseError."""
    if membership_of(session, on.course, on.person).role is not Role.STUDENT and given.team:
        raise CourseError("Only students are in teams.", ["person"])
    was, goal = _around(session, on, given.team)
    if (was and was.team_id) == (goal and goal.team_id) and (was is not None or not given.team):
        return False
    for team in sorted(one.team_id for one in (was, goal) if one is not None):
        lock_team(session, team)
    was, goal = _around(session, on, given.team)  # with what was submitted meanwhile
    if was is not None:
        _set_members(session, on.assignment, was, [one.id for one in was.members if one.id != on.person])
    if goal is not None:
        _set_members(session, on.assignment, goal, [*(one.id for one in goal.members), on.person])
    elif given.team:
        add_team(session, on.assignment, given.team, [on.person], datetime.now(UTC))
    return True


def _around(session: Session, on: Target, name: str) -> tuple[TeamView | None, TeamView | None]:
    """The student's present team, and the team of this name."""
    teams = teams_in(session, on.assignment)
    return (
        next((one for one in teams if any(member.id == on.person for member in one.members)), None),
        next((one for one in teams if one.name.casefold() == name.casefold()), None),
    )


def _set_members(session: Session, assignment: Assignment, was: TeamView, people: Sequence[int]) -> None:
    """Change a team's members. Submissions of a team that has submitted stay with the members of that time."""
    team, now = session.get_one(Team, was.team_id), datetime.now(UTC)
    if was.submitted:
        left = update(TeamMember).where(TeamMember.team_id == team.id, TeamMember.left_at.is_(None))
        session.execute(left.values(left_at=now))
        if people:
            add_team(session, assignment, was.name, people, now)
        return
    before = {one.id for one in was.members}
    for person in people:
        if person not in before:
            add_member(session, team, person, now)
    if gone := before.difference(people):
        remove_members(session, team, gone)


PLACEMENT = Act(asks=Placement, do=_place, audit="team.changed", present=_present, wrong=_wrong)
TEAMS_FILE = StudentFile("teams", PLACEMENT, placements, _too_large)
