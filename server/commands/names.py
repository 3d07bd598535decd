"""Courses, assignments, people and submissions by the names that commands take."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import click
from sqlalchemy import select
from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.accounts.service import find_person
from server.commands.database import in_session
from server.commands.options import together
from server.courses.models import Assignment, Course
from server.courses.service import find_assignment, find_course
from server.submissions.models import Submission
from worker.commands.answer import Answer, answering
from worker.commands.root import WrongUse


def course_named(session: Session, slug: str) -> Course:
    """The course with this short name. Raises WrongUse."""
    found = find_course(session, slug)
    if found is None:
        raise WrongUse(f"no course {slug}. `tilelab admin course list` shows all courses.")
    return found


def assignment_named(session: Session, name: str) -> Assignment:
    """The assignment COURSE/ASSIGNMENT. Raises WrongUse."""
    found = find_assignment(session, name)
    if found is None:
        raise WrongUse(f"no assignment {name}. Write COURSE/ASSIGNMENT, such as demo/tiled.")
    return found


def person_named(session: Session, email: str) -> Person:
    """The person with this email. Raises WrongUse."""
    found = find_person(session, email)
    if found is None:
        raise WrongUse(f"no person with the email {email}. `tilelab admin user list` shows everyone.")
    return found


def submission_named(session: Session, public_id: str) -> Submission:
    """The submission with this ID. Raises WrongUse."""
    found = session.scalar(select(Submission).where(Submission.public_id == public_id))
    if found is None:
        raise WrongUse(f"no submission {public_id}. `tilelab admin submissions COURSE` lists them.")
    return found


def on(metavar: str, find: Callable[[Session, str], Any], *more: Callable[[Any], Any]) -> Callable[..., Any]:
    """Make a command from a function of a session and the row that the first argument names.

    more: its further arguments and options
    """

    def made(command: Callable[..., Answer]) -> Any:
        @wraps(command)
        def run(session: Session, named: str, **given: Any) -> Answer:
            return command(session, find(session, named), **given)

        return together(click.argument("named", metavar=metavar), *more)(answering()(in_session(run)))

    return made


on_person = partial(on, "EMAIL", person_named)
on_course = partial(on, "COURSE", course_named)
on_assignment = partial(on, "COURSE/ASSIGNMENT", assignment_named)
on_submission = partial(on, "SUBMISSION", submission_named)
