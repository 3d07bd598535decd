"""For whom a submission counts: its author, and all members of its team."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import ColumnElement, CompoundSelect, func, literal, or_, select, union, union_all
from sqlalchemy.orm import Session, aliased

from server.courses.models import Assignment
from server.submissions.models import Submission
from server.teams.models import TeamMember


def teams_of(session: Session, assignments: Iterable[Assignment], person: int) -> Sequence[int]:
    """The IDs of a person's teams at these assignments, also of earlier ones. No statement if there are no teams."""
    numbers = [one.id for one in assignments if one.team_size > 1]
    query = select(TeamMember.team_id).where(TeamMember.person_id == person, TeamMember.assignment_id.in_(numbers))
    return session.scalars(query).all() if numbers else ()


def counts_for(person: int, teams: Sequence[int]) -> ColumnElement[bool]:
    """Whether a submission counts for a person. teams: from `teams_of`."""
    own = Submission.person_id == person
    return or_(own, Submission.team_id.in_(teams)) if teams else own


def in_teams(session: Session, person: int) -> bool:
    """Whether a person was ever in a team."""
    return session.scalar(select(TeamMember.team_id).where(TeamMember.person_id == person).limit(1)) is not None


def belongs_to(person: int) -> ColumnElement[bool]:
    """The same for submissions to any assignment. Another condition must leave few of them."""
    teams = select(TeamMember.team_id).where(TeamMember.person_id == person)
    return or_(Submission.person_id == person, Submission.team_id.in_(teams))


def chosen_by(person: int) -> ColumnElement[bool]:
    """Whether a person may choose a submission: an own one, or one of a present team."""
    teams = select(TeamMember.team_id).where(TeamMember.person_id == person, TeamMember.left_at.is_(None))
    return or_(Submission.person_id == person, Submission.team_id.in_(teams))


def credited(assignments: Iterable[Assignment]) -> type[Submission]:
    """The submissions to these assignments, once for each person for whom they count, as its `person_id`.

    Use it in a query in place of `Submission`. Without teams, it is just that.
    """
    numbers = [one.id for one in assignments if one.team_size > 1]
    if not numbers:
        return Submission
    columns = list(Submission.__table__.columns)
    mate = [TeamMember.person_id if column.key == "person_id" else column for column in columns]
    shared = (
        select(*mate)
        .join(TeamMember, TeamMember.team_id == Submission.team_id)
        .where(TeamMember.assignment_id.in_(numbers), TeamMember.person_id != Submission.person_id)
    )
    return aliased(Submission, union_all(select(*columns), shared).subquery())


def first_member(assignment: Assignment) -> ColumnElement[int]:
    """In a query of submissions, who has their line on a leaderboard: the author, or the first member of the team."""
    if assignment.team_size == 1:
        return Submission.person_id.expression
    first = select(func.min(TeamMember.person_id)).where(TeamMember.team_id == Submission.team_id)
    return func.coalesce(first.correlate(Submission).scalar_subquery(), Submission.person_id)


def first_member_of(session: Session, submission: Submission) -> int:
    """The same for one submission."""
    return min(people_of(session, submission)) if submission.team_id is not None else submission.person_id


def first_members(assignment: int, person: int) -> CompoundSelect[int]:
    """The person, and the first members of the person's teams at an assignment: who has their lines."""
    own = aliased(TeamMember)
    teams = select(own.team_id).where(own.assignment_id == assignment, own.person_id == person)
    firsts = select(func.min(TeamMember.person_id)).where(TeamMember.team_id.in_(teams)).group_by(TeamMember.team_id)
    return union(select(literal(person)), firsts)


def parties(session: Session, assignments: Iterable[Assignment]) -> Mapping[int, int]:
    """For each student who was in a team of these assignments, the least ID of all whom teams connect with them."""
    numbers = [one.id for one in assignments if one.team_size > 1]
    query = (
        select(TeamMember.team_id, TeamMember.person_id)
        .where(TeamMember.assignment_id.in_(numbers))
        .order_by(TeamMember.team_id)
    )
    of: dict[int, set[int]] = {}
    groups: dict[int, set[int]] = {}
    for team, person in session.execute(query) if numbers else ():
        joined = groups.get(team, set()) | of.get(person, set()) | {person}
        groups[team] = joined
        of.update(dict.fromkeys(joined, joined))
    return {person: min(group) for person, group in of.items()}


def is_for(session: Session, submission: Submission, person: int) -> bool:
    """Whether a submission is the person's own or of one of their teams."""
    if submission.person_id == person:
        return True
    team = submission.team_id
    return team is not None and session.get(TeamMember, (team, person)) is not None


def people_of(session: Session, submission: Submission) -> Sequence[int]:
    """The IDs of the people for whom a submission counts, its author's first."""
    query = select(TeamMember.person_id).where(
        TeamMember.team_id == submission.team_id, TeamMember.person_id != submission.person_id
    )
    mates = session.scalars(query.order_by(TeamMember.person_id)).all() if submission.team_id is not None else ()
    return (submission.person_id, *mates)
