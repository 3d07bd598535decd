"""Teams and their members, read or held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Exists, Select, exists, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from server.accounts.models import Person
from server.courses.models import Assignment
from server.submissions.models import Mode, Submission
from server.teams.models import Team, TeamMember


@dataclass(frozen=True, slots=True)
class TeamView:
    """A team with present members.

    members: by name
    submitted: whether it has submitted, so that only course staff change it
    """

    team_id: int
    name: str
    code: str
    members: tuple[Person, ...]
    submitted: bool

    def mates(self, person: int) -> list[str]:
        """The names of the others."""
        return [one.name for one in self.members if one.id != person]


def teams_in(session: Session, assignment: Assignment, only: int | None = None) -> Sequence[TeamView]:
    """The teams with present members, by name; numbers in their order. only: the ID of a team."""
    query = (
        select(Team, Person, submitted(Team.id))
        .join(TeamMember, TeamMember.team_id == Team.id)
        .join(Person, Person.id == TeamMember.person_id)
        .where(Team.assignment_id == assignment.id, TeamMember.left_at.is_(None))
        .order_by(Team.id, Person.name, Person.id)
    )
    found: dict[int, TeamView] = {}
    for team, person, has_submitted in session.execute(query if only is None else query.where(Team.id == only)):
        known = found.get(team.id)
        members = () if known is None else known.members
        found[team.id] = TeamView(team.id, team.name, team.code, (*members, person), has_submitted)
    return sorted(found.values(), key=lambda one: (not one.name.isdecimal(), len(one.name), one.name.casefold()))


def team_of(session: Session, assignment: Assignment, person: int) -> TeamView | None:
    """A person's present team."""
    team = None if assignment.team_size == 1 else session.scalar(_present(assignment.id, person))
    return None if team is None else next(iter(teams_in(session, assignment, team)), None)


def hold_team(session: Session, assignment: Assignment, person: int) -> int | None:
    """The ID of a person's present team, locked until the end of the transaction; None for none.

    A team's members change only under this lock. So a student joins before a submission, which then counts for them,
    or after it, which is refused.
    """
    mine = _present(assignment.id, person)
    found = None if assignment.team_size == 1 else session.scalar(mine)
    while found is not None:
        lock_team(session, found)
        if (now := session.scalar(mine)) == found:
            return found
        found = now
    return None


def lock_team(session: Session, team: int) -> None:
    session.execute(select(Team.id).where(Team.id == team).with_for_update(key_share=True))


def has_submitted_teams(session: Session, assignment: Assignment) -> bool:
    """Whether a team has submitted to the assignment, also an earlier one."""
    query = select(Team.id).where(Team.assignment_id == assignment.id, submitted(Team.id)).limit(1)
    return session.scalar(query) is not None


def submitted(team: int | InstrumentedAttribute[int]) -> Exists:
    """Whether a team has submitted. Checks don't count."""
    return exists().where(Submission.team_id == team, Submission.mode == Mode.RANK)


def _present(assignment: int, person: int) -> Select[int]:
    return select(TeamMember.team_id).where(
        TeamMember.assignment_id == assignment, TeamMember.person_id == person, TeamMember.left_at.is_(None)
    )
