"""How people come into a course by themselves: with its enrolment code."""

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
"""Without letters that are read as others, or as digits."""
_GROUPS, _GROUP = 3, 4
_LONGEST = 40


class CannotJoin(ValueError):
    """The code lets this person into no course; the text says why, to them."""


def new_code() -> str:
    """A code that nobody guesses, such as "k7qf-m2xp-9d4t"."""
    return _grouped("".join(secrets.choice(_ALPHABET) for _ in range(_GROUPS * _GROUP)))


def course_to_join(session: Session, code: str) -> Course:
    """The course with that code, however it is spelt; raises CannotJoin."""
    typed = "".join(letter for letter in code if letter.isprintable()).strip()[:_LONGEST]
    ours = _grouped(re.sub(r"[^0-9a-z]", "", typed.lower()))
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
    """Take the person in as a student; False for one who is in it, who stays what they are. Raises CannotJoin.

    A code undoes no decision of the staff: whom they took off the course comes back by them alone.
    """
    found = session.scalar(
        select(Membership).where(Membership.course_id == course.id, Membership.person_id == person.id)
    )
    if found is not None and found.dropped_at is not None:
        raise CannotJoin("You were removed from this course. Ask its staff to add you again.")
    if found is not None:
        return False
    enrol(session, course, person, Role.STUDENT, now)
    note(
        session,
        person,
        "course.joined",
        f"person {person.id}",
        now=now,
        course_id=course.id,
        course=course.slug,
    )
    return True


def _grouped(letters: str) -> str:
    return "-".join(letters[start : start + _GROUP] for start in range(0, len(letters), _GROUP))
