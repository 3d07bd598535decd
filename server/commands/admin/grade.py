"""`tilelab admin grade`: one student's grade for an assignment, and its correction."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click
from sqlalchemy.orm import Session

from kernels.wording import rounded_points
from server.commands.database import in_session
from server.commands.names import assignment_named, person_named
from server.commands.options import even_if_lower
from server.courses.models import Assignment
from server.staff.grades.corrections import Decision, correct, decision_of
from server.staff.losses import CONFIRMED, losses_confirmed, students_grades
from server.submissions.grades.grade import Grade
from worker.commands.answer import Answer, answering

_reason = click.option("--reason", required=True, help="Reason, for course staff only; not in the audit.")


@click.group()
def grade() -> None:
    """Show or correct a student's grade for an assignment.

    A correction survives regrades. If points fall, the command says so and changes nothing, until you add --yes.

    \b
    Example:
      tilelab admin grade set cs483/tiled ada@university.edu 8 --reason "shown in the lab"
      tilelab admin grade excuse cs483/tiled ada@university.edu --reason "was ill"
      tilelab admin grade hold cs483/tiled ada@university.edu
      tilelab admin grade reset cs483/tiled ada@university.edu
    """  # noqa: D301 - click reads the escape


@grade.command()
@click.argument("name", metavar="COURSE/ASSIGNMENT")
@click.argument("email")
@answering()
@in_session
def show(session: Session, name: str, email: str) -> Answer:
    """Show a student's grade and its correction.

    \b
    Example:
      tilelab admin grade show cs483/tiled ada@university.edu
    """  # noqa: D301 - click reads the escape
    return _answer(session, assignment_named(session, name), email)


@grade.command("set")
@click.argument("name", metavar="COURSE/ASSIGNMENT")
@click.argument("email")
@click.argument("points", type=float)
@_reason
@even_if_lower
@answering()
@in_session
def set_points(session: Session, name: str, email: str, points: float, reason: str, even_if_lower: bool) -> Answer:
    """Give a student these points, whatever was submitted. Late penalties and regrades don't change them.

    \b
    Example:
      tilelab admin grade set cs483/tiled ada@university.edu 8 --reason "shown in the lab"
    """  # noqa: D301 - click reads the escape
    changed = {"score": points, "excused": False, "reason": reason}
    return _change(session, name, email, changed, even_if_lower)


@grade.command()
@click.argument("name", metavar="COURSE/ASSIGNMENT")
@click.argument("email")
@_reason
@even_if_lower
@answering()
@in_session
def excuse(session: Session, name: str, email: str, reason: str, even_if_lower: bool) -> Answer:
    """Excuse a student: the assignment doesn't count in the total.

    \b
    Example:
      tilelab admin grade excuse cs483/tiled ada@university.edu --reason "was ill"
    """  # noqa: D301 - click reads the escape
    changed = {"score": None, "excused": True, "reason": reason}
    return _change(session, name, email, changed, even_if_lower)


@grade.command()
@click.argument("name", metavar="COURSE/ASSIGNMENT")
@click.argument("email")
@answering()
@in_session
def hold(session: Session, name: str, email: str) -> Answer:
    """Hide a student's points from the student, until you release them.

    To hide the points of all students, use `tilelab admin assignment change COURSE/ASSIGNMENT --hold-grades`.

    \b
    Example:
      tilelab admin grade hold cs483/tiled ada@university.edu
    """  # noqa: D301 - click reads the escape
    return _change(session, name, email, {"held": True})


@grade.command()
@click.argument("name", metavar="COURSE/ASSIGNMENT")
@click.argument("email")
@answering()
@in_session
def release(session: Session, name: str, email: str) -> Answer:
    """Show a student's points to the student again.

    \b
    Example:
      tilelab admin grade release cs483/tiled ada@university.edu
    """  # noqa: D301 - click reads the escape
    return _change(session, name, email, {"held": False})


@grade.command()
@click.argument("name", metavar="COURSE/ASSIGNMENT")
@click.argument("email")
@even_if_lower
@answering()
@in_session
def reset(session: Session, name: str, email: str, even_if_lower: bool) -> Answer:
    """Remove a student's correction: the computed points count again, and the student sees them.

    \b
    Example:
      tilelab admin grade reset cs483/tiled ada@university.edu
    """  # noqa: D301 - click reads the escape
    nothing = {"score": None, "excused": False, "held": False, "reason": ""}
    return _change(session, name, email, nothing, even_if_lower)


def grade_shown(grade: Grade) -> dict[str, Any] | None:
    """A grade for programs; None if nothing counts and staff changed nothing."""
    if grade.counted is None and grade.score is None and not grade.excused:
        return None
    return {
        "points": grade.points,
        "why": list(grade.why),
        "late_days": grade.late_days,
        "submission": None if grade.counted is None else grade.counted.entry.public_id,
        "corrected": grade.score is not None,
        "excused": grade.excused,
        "held": grade.held,
    }


def _change(session: Session, name: str, email: str, changed: dict[str, Any], even_if_lower: bool = False) -> Answer:
    found = assignment_named(session, name)
    person = person_named(session, email)
    with losses_confirmed(session, found, CONFIRMED if even_if_lower else "", person.id):
        given: Decision = replace(decision_of(session, found, person.id), **changed)
        correct(session, found, None, person.id, given)
    return _answer(session, found, email)


def _answer(session: Session, assignment: Assignment, email: str) -> Answer:
    person = person_named(session, email)
    found = students_grades(session, assignment, person.id).get(person.id, Grade(held=assignment.grades_held))
    name = f"{assignment.course.slug}/{assignment.slug}"
    if found.excused:
        words = "excused"
    elif found.points is None:
        words = "nothing counts yet"
    else:
        words = f"{rounded_points(found.points)} of {rounded_points(assignment.most_points)} points"
        if found.score is not None:
            words += f", set by course staff instead of {rounded_points(found.computed or 0)}"
        elif found.why:
            words += f": {'; '.join(found.why)}"
    held = " Hidden from the student." if found.held else ""
    return Answer(
        {"assignment": name, "email": person.email, "grade": grade_shown(found)},
        f"{name}, {person.email}: {words}.{held}",
    )
