"""Create courses in the portal, and decide who may."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.audit.service import note
from server.courses.models import Course, Role
from server.courses.service import CourseError, create_course, enrol
from server.enrolment.email_confirmation import secure_before_promotion
from server.staff.course_settings import check_zone


def creators(session: Session) -> Sequence[Person]:
    """People who may create courses without being operators, by name."""
    query = select(Person).where(Person.creates_courses, Person.erased_at.is_(None))
    return session.scalars(query.order_by(Person.name, Person.email)).all()


def allow(session: Session, person: Person, actor: Person | None, now: datetime | None = None) -> None:
    """Let a person create courses. Writes an audit entry if that is new; raises CourseError."""
    if person.erased_at is not None:
        raise CourseError("This person was erased.")
    if not person.creates_courses:
        secure_before_promotion(session, person, actor, now=now)
        person.creates_courses = True
        note(session, actor, "course.creator_added", f"person {person.id}", now=now)
        session.flush()


def disallow(session: Session, person: Person, actor: Person | None, now: datetime | None = None) -> None:
    """End the right to create courses. The person's courses stay."""
    if person.creates_courses:
        person.creates_courses = False
        note(session, actor, "course.creator_removed", f"person {person.id}", now=now)
        session.flush()


def found_course(
    session: Session, actor: Person, slug: str, title: str, zone: str, now: datetime | None = None
) -> Course:
    """Create a course with the actor as its instructor; raises CourseError."""
    check_zone(zone)
    made = create_course(session, slug, title, now)
    made.time_zone = zone
    enrol(session, made, actor, Role.INSTRUCTOR, now)
    note(session, actor, "course.created", f"course {made.slug}", now=now, course_id=made.id, title=made.title)
    return made
