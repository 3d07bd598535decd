"""Which scores platforms shall have. They are read from the tables, so nothing else has to report a change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import Select, select
from sqlalchemy.orm import Session, joinedload

from server.accounts.models import Identity, Person
from server.courses.models import Assignment, Course, Membership, Role
from server.grades.grade import Grade, grades, own_grades
from server.lti.models import LtiContext, LtiLink, LtiScore


def note_scores(session: Session, now: datetime) -> None:
    """Queue each score that differs from the one that its platform has, or will have."""
    query = (
        select(LtiLink)
        .join(LtiLink.context)
        .join(LtiContext.course)
        .where(LtiContext.sends_grades, LtiLink.line_item != "", Course.archived_at.is_(None))
        .options(joinedload(LtiLink.context).joinedload(LtiContext.platform), joinedload(LtiLink.assignment))
        .order_by(LtiLink.id)
    )
    for link in session.scalars(query).all():
        if link.assignment.most_points > 0:
            _note_column(session, link, now)


def _note_column(session: Session, link: LtiLink, now: datetime) -> None:
    found = grades(session, [link.assignment], _launched(link))[link.assignment_id]
    known = {each.person_id: each for each in session.scalars(select(LtiScore).where(LtiScore.link_id == link.id))}
    for person in found.keys() | known.keys():
        row, grade = known.get(person), found.get(person)
        if row is None and grade is not None and not grade.held and grade.points is not None:
            row = LtiScore(link_id=link.id, person_id=person, points=None, most=0.0, made_at=now)
            session.add(row)
        if row is not None and grade is not None:
            update(row, grade, link.assignment, now)
    session.flush()


def update(row: LtiScore, grade: Grade, assignment: Assignment, now: datetime) -> None:
    """Queue a score if it changed. What is held back leaves the queue, and stays on the platform as it is."""
    if grade.held:
        if row.next_at is not None:
            row.next_at = row.sent_at = None
        return
    wanted = grade.points, assignment.most_points
    if (row.points, row.most) == wanted and (row.next_at is not None or row.sent_at is not None):
        return
    row.points, row.most = wanted
    row.made_at, row.sent_at = now, None
    # A try may be under way. The next one waits for its end, so that the newer score arrives later.
    row.next_at = row.next_at or now


def refresh(session: Session, row: LtiScore, now: datetime) -> None:
    """The same for one score that is about to be sent."""
    assignment = row.link.assignment
    update(row, own_grades(session, [assignment], row.person_id)[assignment.id], assignment, now)
    if not row.link.context.sends_grades:
        row.next_at = row.sent_at = None


def user_of(session: Session, row: LtiScore) -> str:
    """The platform's name for the student; "" if no identity is left."""
    query = select(Identity.subject).where(
        Identity.person_id == row.person_id, Identity.issuer == row.link.context.platform.people
    )
    return session.scalar(query.order_by(Identity.used_at.desc()).limit(1)) or ""


def _launched(link: LtiLink) -> Select[int]:
    """The course's students whom the platform knows."""
    return (
        select(Membership.person_id)
        .join(Membership.person)
        .join(Identity, Identity.person_id == Person.id)
        .where(
            Membership.course_id == link.context.course_id, Membership.role == Role.STUDENT,
            Membership.dropped_at.is_(None), Person.erased_at.is_(None),
            Identity.issuer == link.context.platform.people,
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
