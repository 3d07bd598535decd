"""A zip file with the sources of an assignment, and an index of them."""

from __future__ import annotations

import io
import re
import unicodedata
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from sqlalchemy import select
from sqlalchemy.orm import Session

from kernels.csv_tables import written
from server.courses.models import Assignment, Role
from server.courses.service import CourseError
from server.fields import Text
from server.grades.grade import Grade
from server.grades.losses import students_grades
from server.grading.models import NO_SOURCE, Source
from server.roster.service import Member, Wanted, roster
from server.submissions.models import Mode, Submission
from server.teams.credit import people_of

MOST_BYTES = 64 * 2**20
"""Of sources in one file."""

INDEX = (
    "file", "email", "name", "section", "student_id", "submission", "submitted_at", "mode", "verdict", "counts",
)  # fmt: skip
_AT_ONCE = 100
_UNSAFE = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class SourcesQuery:
    """Which sources. which: `counted` for the submission that counts of each student, or `all`, with checks."""

    which: Annotated[str, Text("counted|all")] = "counted"


def source_archive(session: Session, assignment: Assignment, which: str) -> bytes:
    """A zip file of the present students' sources; raises CourseError if they are too large."""
    made = io.BytesIO()
    students = {one.person_id: one for one in roster(session, assignment.course_id, Wanted(role=Role.STUDENT))}
    grades = students_grades(session, assignment)
    index, size = [], 0
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for submission, content in _sources(session, _wanted(session, assignment, grades, which)):
            for student in _whose(session, submission, students, grades, which):
                size += len(content)
                if size > MOST_BYTES:
                    raise CourseError(f"The sources have more than {MOST_BYTES // 2**20} MiB. Choose the counted ones.")
                name = file_name(student, submission.public_id if which == "all" else "")
                _add(archive, f"{assignment.slug}/{name}", content)
                index.append(_line(name, student, submission, grades))
        table = written(INDEX, sorted(index, key=lambda row: (row[2], row[6])))
        _add(archive, f"{assignment.slug}/index.csv", table.encode())
    return made.getvalue()


def file_name(student: Member, submission: str = "") -> str:
    """A name that is safe on every system, and of this student only.

    submission: the public ID; "" if the student has one file
    """
    plain = unicodedata.normalize("NFKD", student.name[:_LONGEST_NAME]).encode("ascii", "ignore").decode().lower()
    name = f"{_UNSAFE.sub('-', plain).strip('-') or 'student'}-{student.person_id}"
    return f"{name}/{submission}.cu" if submission else f"{name}.cu"


def _wanted(session: Session, assignment: Assignment, grades: Mapping[int, Grade], which: str) -> Sequence[int]:
    """The IDs of the submissions, the first first."""
    if which == "all":
        query = select(Submission.id).where(Submission.assignment_id == assignment.id)
        return session.scalars(query.order_by(Submission.id)).all()
    return sorted(grade.counted.entry.submission_id for grade in grades.values() if grade.counted is not None)


def _whose(
    session: Session, submission: Submission, students: Mapping[int, Member], grades: Mapping[int, Grade], which: str
) -> list[Member]:
    """The students whose folder has it: all of a team for whom it counts; among all submissions, its author."""
    people = [submission.person_id] if which == "all" else people_of(session, submission)
    found = [students[person] for person in people if person in students]
    if len(people) == 1:
        return found
    counted = {person: grade.counted for person, grade in grades.items()}
    return [one for one in found if (own := counted.get(one.person_id)) and own.entry.submission_id == submission.id]


def _sources(session: Session, numbers: Sequence[int]) -> Iterator[tuple[Submission, bytes]]:
    """Submissions with their sources. Those that were removed are left out."""
    for start in range(0, len(numbers), _AT_ONCE):
        query = (
            select(Submission, Source.content)
            .join(Source, Source.digest == Submission.source_digest)
            .where(Submission.id.in_(numbers[start : start + _AT_ONCE]), Submission.source_digest != NO_SOURCE)
            .order_by(Submission.id)
        )
        yield from ((submission, content) for submission, content in session.execute(query))


def _line(name: str, student: Member, submission: Submission, grades: Mapping[int, Grade]) -> tuple[str, ...]:
    counted = grades[student.person_id].counted if student.person_id in grades else None
    return (
        name, student.email, student.name, student.section, student.student_id, submission.public_id,
        submission.created_at.isoformat(), "submission" if submission.mode is Mode.RANK else "check",
        submission.verdict.value if submission.verdict else "",
        "yes" if counted is not None and counted.entry.public_id == submission.public_id else "",
    )  # fmt: skip


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
