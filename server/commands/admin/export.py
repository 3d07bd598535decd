"""`tilelab admin export`: a course's grades for other programs."""

from __future__ import annotations

from typing import Any

import click
from sqlalchemy.orm import Session

from server.audit.service import note
from server.commands.admin.grade import grade_shown
from server.commands.database import in_session
from server.commands.names import course_named
from server.grades.gradebook import Gradebook, GradesCriteria, gradebook, grades_csv
from server.roster.service import roster
from worker.commands.answer import Answer, answering


@click.group()
def export() -> None:
    """Export a course's grades.

    \b
    Example:
      tilelab admin export grades cs483 > grades.csv
    """


@export.command()
@click.argument("course")
@click.option("--section", default="", help="Only students of this section.")
@click.option("--dropped", is_flag=True, help="Include dropped students.")
@answering()
@in_session
def grades(session: Session, course: str, section: str, dropped: bool) -> Answer:
    """Write the grades of COURSE to standard output, with a row per student and a column per assignment.

    An empty cell means that no submission counts. 0 means that the submission that counts has no points. A student who
    is excused has the word "excused".

    \b
    Example:
      tilelab admin export grades cs483 > grades.csv
    """
    found = course_named(session, course)
    criteria = GradesCriteria(section=section, dropped="yes" if dropped else "no")
    book = gradebook(session, found.id, roster(session, found.id, criteria.students))
    note(session, None, "grades.exported", f"course {found.slug}", course_id=found.id, students=len(book.lines))
    return Answer(_shown(book), grades_csv(book).replace("\r\n", "\n"))


def _shown(book: Gradebook) -> list[dict[str, Any]]:
    return [
        {
            "email": line.member.email,
            "name": line.member.name,
            "section": line.member.section,
            "student_id": line.member.student_id,
            "grades": {
                assignment.slug: grade_shown(cell.grade)
                for assignment, cell in zip(book.assignments, line.cells, strict=True)
            },
            "total": line.total,
        }
        for line in book.lines
    ]
