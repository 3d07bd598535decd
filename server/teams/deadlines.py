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
    known = {one.id: one for one in assignments if one.team_size > 1}
    if not known:
        return {}
    own = aliased(TeamMember)
    query = (
        select(TeamMember.assignment_id, Extension, Accommodation)
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
        .where(own.person_id == person, own.left_at.is_(None), own.assignment_id.in_(known))
    )
    found: dict[int, list[Deadlines]] = {}
    for number, extension, accommodation in session.execute(query):
        found.setdefault(number, []).append(due_for(known[number], extension, accommodation))
    return {number: reduce(Deadlines.latest, each) for number, each in found.items()}
