"""Which scores platforms shall have. They are read from the tables, so nothing else has to report a change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from sqlalchemy import Select, select
from sqlalchemy.orm import Session, joinedload

from server.accounts.models import Identity, Person
from server.courses.models import Assignment, Course, Membership, Role
from server.courses.service import role_in
from server.grades.grade import Grade, grades, own_grades
from server.lti.models import LtiContext, LtiLink, LtiScore


def changes(session: Session) -> list[tuple[int, int]]:
    """Links and people whose scores differ from those that their platforms have, or will have. Writes nothing."""
    query = (
        select(LtiLink)
        .join(LtiLink.context)
        .join(LtiContext.course)
        .where(LtiContext.sends_grades, LtiLink.line_item != "", Course.archived_at.is_(None))
        .options(joinedload(LtiLink.context).joinedload(LtiContext.platform), joinedload(LtiLink.assignment))
        .order_by(LtiLink.id)
    )
    links = [each for each in session.scalars(query) if each.assignment.most_points > 0]
    return [(link.id, person) for link in links for person in _changed(session, link)]


def _changed(session: Session, link: LtiLink) -> Iterator[int]:
    assignment = link.assignment
    found = grades(session, [assignment], _launched(link))[assignment.id]
    none = Grade(held=assignment.grades_held)
    rows = session.scalars(select(LtiScore).where(LtiScore.link_id == link.id))
    known = {row.person_id: row for row in rows}
    for person in session.scalars(_launched(link)):
        if _differs(known.get(person), found.get(person, none), assignment):
            yield person


def _differs(row: LtiScore | None, grade: Grade, assignment: Assignment) -> bool:
    """Whether the platform shall have another score. What is held back leaves the queue, and no more."""
    if grade.held:
        return row is not None and row.next_at is not None
    if row is None:
        return grade.points is not None
    known = row.next_at is not None or row.sent_at is not None
    if not known:
        return grade.points is not None or row.points is not None
    return (row.points, row.most) != (grade.points, assignment.most_points)


def note_change(session: Session, link_id: int, person_id: int, now: datetime) -> None:
    """Queue a score that changed, as it is now."""
    link = session.get_one(LtiLink, link_id)
    query = select(LtiScore).where(LtiScore.link_id == link_id, LtiScore.person_id == person_id)
    row = session.scalar(query.with_for_update())
    if row is None:
        row = LtiScore(link=link, person_id=person_id, points=None, most=0.0, made_at=now)
        session.add(row)
    refresh(session, row, now)


def refresh(session: Session, row: LtiScore, now: datetime) -> None:
    """Queue a score as it is now, or take it out of the queue if it may not be sent."""
    assignment = row.link.assignment
    grade = own_grades(session, [assignment], row.person_id)[assignment.id]
    here = role_in(session, row.person_id, row.link.context.course_id) is Role.STUDENT
    if grade.held or not here or not row.link.context.sends_grades:
        row.next_at = row.sent_at = None
    elif _differs(row, grade, assignment):
        row.points, row.most = grade.points, assignment.most_points
        row.made_at, row.sent_at = now, None
        # A try may be under way. The next one waits for its end, so that the newer score arrives later.
        row.next_at = row.next_at or now


def user_of(session: Session, row: LtiScore) -> str:
    """The platform's name for the student; "" if no identity is left."""
    query = select(Identity.subject).where(
        Identity.person_id == row.person_id, Identity.issuer == row.link.context.platform.people
    )
    return session.scalar(query.order_by(Identity.used_at.desc()).limit(1)) or ""


def _launched(link: LtiLink) -> Select[int]:
    """The course's students who opened a link of the same context."""
    theirs = select(LtiScore.person_id).join(LtiScore.link).where(LtiLink.context_id == link.context_id)
    return (
        select(Membership.person_id)
        .join(Membership.person)
        .join(Identity, Identity.person_id == Person.id)
        .where(
            Membership.course_id == link.context.course_id, Membership.role == Role.STUDENT,
            Membership.dropped_at.is_(None), Person.erased_at.is_(None),
            Identity.issuer == link.context.platform.people, Membership.person_id.in_(theirs),
        )
    )  # fmt: skip


def links_of(session: Session, course_id: int) -> Sequence[LtiLink]:
    """The links to a course's assignments, the oldest first."""
    query = select(LtiLink).join(LtiLink.context).where(LtiContext.course_id == course_id).order_by(LtiLink.id)
    return session.scalars(query.options(joinedload(LtiLink.assignment))).all()


def faults(session: Session, course_id: int, limit: int) -> Sequence[LtiScore]:
    """Scores of a course that couldn't be sent, the oldest first."""
    query = (
        _of_course(course_id)
        .where(LtiScore.next_at.is_not(None), LtiScore.fault != "")
        .options(joinedload(LtiScore.person), joinedload(LtiScore.link).joinedload(LtiLink.assignment))
        .order_by(LtiScore.made_at, LtiScore.id)
    )
    return session.scalars(query.limit(limit)).all()


def counts(session: Session, course_id: int) -> Mapping[str, int]:
    """How many scores of a course the platforms have, wait, and couldn't be sent."""
    found = session.execute(_of_course(course_id).with_only_columns(LtiScore.next_at, LtiScore.sent_at, LtiScore.fault))
    states = [
        "failing" if next_at and fault else "waiting" if next_at else "sent" if sent_at else ""
        for next_at, sent_at, fault in found
    ]
    return {state: states.count(state) for state in ("sent", "waiting", "failing")}


def send_again(session: Session, course_id: int, now: datetime) -> int:
    """Let all scores of a course that wait be tried at once; returns their number."""
    waiting = session.scalars(_of_course(course_id).where(LtiScore.next_at.is_not(None))).all()
    for row in waiting:
        row.next_at, row.tries = now, 0
    return len(waiting)


def _of_course(course_id: int) -> Select[LtiScore]:
    return select(LtiScore).join(LtiScore.link).join(LtiLink.context).where(LtiContext.course_id == course_id)
