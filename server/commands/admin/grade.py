"""`tilelab admin grade`: one student's grade for an assignment, and its correction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from sqlalchemy.orm import Session

from kernels.wording import rounded_points
from server.accounts.models import Person
from server.acts.act import Target, assignment_target
from server.commands.acts import STUDENT, verb
from server.commands.database import in_session
from server.commands.names import assignment_named, person_named
from server.commands.options import even_if_lower, file_preview
from server.commands.student_file import import_student_file
from server.grades.corrections import CORRECTION, CORRECTIONS_FILE
from server.grades.grade import Grade
from server.grades.losses import students_grades
from worker.commands.answer import Answer, answering


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
    """


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
    """
    return _answer(session, assignment_target(assignment_named(session, name), person_named(session, email).id))


@verb(grade, CORRECTION, STUDENT, "score", "reason", name="set", excused=False)
def set_points(session: Session, on: Target, _: bool) -> Answer:
    """Give a student these points, whatever was submitted. Late penalties and regrades don't change them.

    \b
    Example:
      tilelab admin grade set cs483/tiled ada@university.edu 8 --reason "shown in the lab"
    """
    return _answer(session, on)


@verb(grade, CORRECTION, STUDENT, "reason", score=None, excused=True)
def excuse(session: Session, on: Target, _: bool) -> Answer:
    """Excuse a student: the assignment doesn't count in the total.

    \b
    Example:
      tilelab admin grade excuse cs483/tiled ada@university.edu --reason "was ill"
    """
    return _answer(session, on)


@verb(grade, CORRECTION, STUDENT, lowers=False, held=True)
def hold(session: Session, on: Target, _: bool) -> Answer:
    """Hide a student's points from the student, until you release them.

    To hide the points of all students, use `tilelab admin assignment change COURSE/ASSIGNMENT --hold-grades`.

    \b
    Example:
      tilelab admin grade hold cs483/tiled ada@university.edu
    """
    return _answer(session, on)


@verb(grade, CORRECTION, STUDENT, lowers=False, held=False)
def release(session: Session, on: Target, _: bool) -> Answer:
    """Show a student's points to the student again.

    \b
    Example:
      tilelab admin grade release cs483/tiled ada@university.edu
    """
    return _answer(session, on)


@verb(grade, CORRECTION, STUDENT, score=None, excused=False, held=False, reason="")
def reset(session: Session, on: Target, _: bool) -> Answer:
    """Remove a student's correction: the computed points count again, and the student sees them.

    \b
    Example:
      tilelab admin grade reset cs483/tiled ada@university.edu
    """
    return _answer(session, on)


@grade.command("correct-many")
@click.argument("name", metavar="COURSE/ASSIGNMENT")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True))
@file_preview
@even_if_lower
@answering()
def correct_many(name: str, file: Path, preview: bool, confirmed: str) -> Answer:
    """Correct the grades of the students in FILE, all of them or none. `-` reads standard input.

    The first line names the columns: email,points,excused,held,reason. You can leave out all but the email. A line
    replaces the student's correction, and a line with only an email removes it.

    To undo an import, export the corrections before it, and import that file.

    \b
    Example:
      tilelab admin export corrections cs483/tiled > before.csv
      tilelab admin grade correct-many cs483/tiled corrections.csv --preview
    """
    return import_student_file(CORRECTIONS_FILE, name, file, confirmed, preview=preview)


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


def _answer(session: Session, on: Target) -> Answer:
    assignment, person = on.assignment, session.get_one(Person, on.person)
    found = students_grades(session, assignment, person.id).get(person.id, Grade(held=assignment.grades_held))
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
        {"assignment": assignment.name, "email": person.email, "grade": grade_shown(found)},
        f"{assignment.name}, {person.email}: {words}.{held}",
    )
