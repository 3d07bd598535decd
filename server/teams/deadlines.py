"""The deadlines of teams: the latest ones of their members."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce

from sqlalchemy import and_, select
from sqlalchemy.orm import Session, aliased

from server.courses.models import Accommodation, Assignment, Extension
from server.submissions.counted_submission import Deadlines, due_for
from server.teams.models import TeamMember


def shared_deadlines(session: Session, assignments: Iterable[Assignment], person: int) -> Mapping[int, Deadlines]:
    """The deadlines of a person's present teams, by the assignments' IDs. No statement if there are no teams."""
    found = team_deadlines(session, assignments, person)
    return {number: deadlines for (number, _), deadlines in found.items()}


def team_deadlines(
    session: Session, assignments: Iterable[Assignment], person: int | None = None
) -> Mapping[tuple[int, int], Deadlines]:
    """The deadlines of present teams, by the IDs of assignment and member. person: only this one's."""
    known = {one.id: one for one in assignments if one.team_size > 1}
    if not known:
        return {}
    own = aliased(TeamMember)
    query = (
        select(own.assignment_id, own.person_id, Extension, Accommodation)
        .select_from(own)
        .join(TeamMember, TeamMember.team_id == own.team_id)
        .join(Assignment, Assignment.id == own.assignment_id)
        .outerjoin(
            Extension, and_(Extension.assignment_id == Assignment.id, Extension.person_id == TeamMember.person_id)
        )
        .outerjoin(
            Accommodation,
            and_(Accommodation.course_id == Assignment.course_id, Accommodation.person_id == TeamMember.person_id),
        )
        .where(own.left_at.is_(None), own.assignment_id.in_(known))
    )
    found: dict[tuple[int, int], list[Deadlines]] = {}
    for number, whose, extension, accommodation in session.execute(
        query if person is None else query.where(own.person_id == person)
    ):
        found.setdefault((number, whose), []).append(due_for(known[number], extension, accommodation))
    return {key: reduce(Deadlines.latest, each) for key, each in found.items()}
