"""`tilelab admin export`: a course's grades for other programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from sqlalchemy.orm import Session

from server.acts.by_file import StudentFile, student_file_csv
from server.audit.service import note
from server.commands.admin.grade import grade_shown
from server.commands.database import in_session
from server.commands.names import assignment_named, course_named
from server.commands.table_file import read_file
from server.grades.corrections import CORRECTIONS_FILE
from server.grades.gradebook import Gradebook, GradesCriteria, gradebook, grades_csv
from server.grades.platform_file import PlatformFile, read_platform_file
from server.grades.platform_file import fill as fill_in
from server.grades.source_archive import source_archive
from server.roster.csv_file import domain_of
from server.roster.service import roster
from server.table_file import Unreadable, named
from server.teams.placement import TEAMS_FILE
from worker.commands.answer import Answer, answering
from worker.commands.root import Exit, WrongUse


@click.group()
def export() -> None:
    """Export a course's grades, corrections, teams and sources.

    \b
    Example:
      tilelab admin export grades cs483 > grades.csv
      tilelab admin export fill cs483 canvas.csv filled.csv
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


@export.command()
@click.argument("name", metavar="COURSE/ASSIGNMENT")
@answering()
@in_session
def corrections(session: Session, name: str) -> Answer:
    """Write the corrections of an assignment's grades to standard output, with a row for each student.

    \b
    Example:
      tilelab admin export corrections cs483/tiled > corrections.csv
    """
    return _exported(session, CORRECTIONS_FILE, name)


@export.command()
@click.argument("name", metavar="COURSE/ASSIGNMENT")
@answering()
@in_session
def teams(session: Session, name: str) -> Answer:
    """Write the teams of an assignment to standard output, with a row for each student in a team.

    \b
    Example:
      tilelab admin export teams cs483/tiled > teams.csv
    """
    return _exported(session, TEAMS_FILE, name)


def _exported(session: Session, file: StudentFile, name: str) -> Answer:
    found = assignment_named(session, name)
    note(session, None, file.exported, f"assignment {found.name}", course_id=found.course_id)
    text = student_file_csv(session, file, found).replace("\r\n", "\n")
    return Answer({"csv": text}, text)


@export.command()
@click.argument("name", metavar="COURSE/ASSIGNMENT")
@click.argument("to", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--all", "every", is_flag=True, help="Not only what counts, but all, with checks.")
@answering()
@in_session
def sources(session: Session, name: str, to: Path, every: bool) -> Answer:
    """Write the sources of an assignment to TO, a zip file. Its index.csv says whose each file is.

    \b
    Example:
      tilelab admin export sources cs483/tiled sources.zip
    """
    found = assignment_named(session, name)
    file = source_archive(session, found, "all" if every else "counted")
    try:
        to.write_bytes(file)
    except OSError as error:
        raise WrongUse(f"{to}: cannot write the file ({error.strerror or error}).") from error
    note(session, None, "submission.exported", f"assignment {found.name}", course_id=found.course_id)
    return Answer({"file": str(to), "bytes": len(file)}, f"{to}: {len(file):,} bytes.")


@export.command()
@click.argument("course")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True))
@click.argument("to", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--column", "columns", multiple=True, metavar="ASSIGNMENT=HEADING", help="An assignment's column.")
@click.option("--domain", default="", help="Domain of the logins, for a file without emails.")
@click.option("--held", is_flag=True, help="Include grades that are held back.")
@click.option("--missed", is_flag=True, help="Write 0 for assignments that closed without a submission.")
@answering()
@in_session
def fill(
    session: Session, course: str, file: Path, to: Path, columns: tuple[str, ...], domain: str, held: bool, missed: bool
) -> Answer:
    """Fill the grades of COURSE into FILE, a gradebook that a learning platform exported, and write it to TO.

    Only the cells of assignments change. Without --column, these are the columns with an assignment's title or short
    name. Takes files of Canvas, Moodle, Blackboard and Gradescope.

    \b
    Example:
      tilelab admin export fill cs483 canvas.csv filled.csv --domain university.edu
      tilelab admin export fill cs483 gc.xls filled.xls --column "tiled=Lab 1 [Total Pts: 10 Score] |1281892"
    """
    found = course_named(session, course)
    book = gradebook(session, found.id)
    try:
        given = read_platform_file(read_file(file))
        filled = fill_in(
            given, book, _chosen(given, book, columns), domain=domain_of(domain), held=held,
            missed_at=datetime.now(UTC) if missed else None,
        )  # fmt: skip
    except Unreadable as error:
        raise WrongUse(f"{file}: {f'line {error.line}: ' if error.line else ''}{error}") from error
    if not filled.problems:
        try:
            to.write_bytes(filled.content)
        except OSError as error:
            raise WrongUse(f"{to}: cannot write the file ({error.strerror or error}).") from error
        students = {cell.member.person_id for cell in filled.cells}
        note(session, None, "grades.exported", f"course {found.slug}", course_id=found.id, students=len(students))
    counts = {**filled.counts, "no such student": len(filled.unknown), "not in the file": len(filled.absent)}
    return Answer(
        {
            "counts": counts,
            "unknown": [line for line, _ in filled.unknown],
            "problems": [*map(asdict, filled.problems)],
        },
        "" if filled.problems else f"{to}: {', '.join(f'{count} {name}' for name, count in counts.items() if count)}.",
        Exit.WRONG_USE if filled.problems else Exit.ACCEPTED,
        [f"line {one.line}: {one.text}" for one in filled.problems],
    )


def _chosen(file: PlatformFile, book: Gradebook, columns: tuple[str, ...]) -> Mapping[int, int]:
    """The columns by the assignments' IDs; without --column, those with the same titles. Raises WrongUse."""
    if not columns:
        matched = file.matched(book.assignments)
        if not matched:
            raise WrongUse("no column has the title of an assignment. Name them with --column.")
        return matched
    numbers = {one.slug: one.id for one in book.assignments}
    places = {column.heading: column.place for column in file.columns}
    chosen: dict[int, int] = {}
    for column in columns:
        slug, _, heading = column.partition("=")
        if slug not in numbers:
            raise WrongUse(f"--column {column!r}: there is no assignment {slug!r}.")
        if heading not in places:
            raise WrongUse(f"--column {column!r}: the file has {named(places)}.")
        chosen[numbers[slug]] = places[heading]
    return chosen


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
