"""Courses, assignments and people by the names that commands take."""

from __future__ import annotations

from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.accounts.service import find_person
from server.courses.models import Assignment, Course
from server.courses.service import find_assignment, find_course
from worker.commands.root import WrongUse


def course_named(session: Session, slug: str) -> Course:
    course = find_course(session, slug)
    if course is None:
        raise WrongUse(f"no course {slug}. `tilelab admin course list` shows all courses.")
    return course


def assignment_named(session: Session, name: str) -> Assignment:
    """The assignment COURSE/ASSIGNMENT. Raises WrongUse."""
    assignment = find_assignment(session, name)
    if assignment is None:
        raise WrongUse(f"no assignment {name}. Write COURSE/ASSIGNMENT, such as demo/tiled.")
    return assignment


def person_named(session: Session, email: str) -> Person:
    person = find_person(session, email)
    if person is None:
        raise WrongUse(f"no person with the email {email}. `tilelab admin user list` shows everyone.")
    return person
