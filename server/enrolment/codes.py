"""Enrolment codes, with which people join a course by themselves."""

from __future__ import annotations

import re
import secrets
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.audit.service import note
from server.courses.models import Course, Membership, Role
from server.courses.service import enrol

_ALPHABET = "23456789abcdefghjkmnpqrstvwxyz"
"""Without letters that look like other letters or digits."""
_GROUPS, _GROUP = 3, 4
_LONGEST = 40


class CannotJoin(ValueError):
    """The person can't join with this code; the text says why."""


def new_code(groups: int = _GROUPS) -> str:
    """An unguessable code, such as "k7qf-m2xp-9d4t"."""
    return _grouped("".join(secrets.choice(_ALPHABET) for _ in range(groups * _GROUP)))


def typed_code(text: str) -> str:
    """A new code as it is stored, typed in any spelling."""
    return _grouped(re.sub(r"[^0-9a-z]", "", text.lower())[:_LONGEST])


def course_to_join(session: Session, code: str) -> Course:
    """The course with this code, in any spelling; raises CannotJoin."""
    typed = "".join(letter for letter in code if letter.isprintable()).strip()[:_LONGEST]
    ours = typed_code(typed)
    found = session.scalars(
        select(Course)
        .where(Course.enrolment_code.in_({typed, ours} - {""}))
        .order_by(Course.enrolment_code == typed, Course.id)
    ).first()
    if found is None:
        raise CannotJoin("No course has this code. Compare it with the code from your course staff.")
    if found.archived_at is not None:
        raise CannotJoin("This course is archived. You can't join it any more.")
    return found


def join(session: Session, person: Person, course: Course, now: datetime | None = None) -> bool:
    """Add the person as a student; False if already a member, whose role stays. Raises CannotJoin.

    A code can't override staff: only they can add a removed person again.
    """
    membership = session.scalar(
        select(Membership).where(Membership.course_id == course.id, Membership.person_id == person.id)
    )
    if membership is not None and membership.dropped_at is not None:
        raise CannotJoin("You were removed from this course. Ask its staff to add you again.")
    if membership is not None:
        return False
    enrol(session, course, person, Role.STUDENT, now)
    note(session, person, "course.joined", f"person {person.id}", now=now, course_id=course.id, course=course.slug)
    return True


def _grouped(letters: str) -> str:
    return "-".join(letters[start : start + _GROUP] for start in range(0, len(letters), _GROUP))
