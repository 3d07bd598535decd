"""An act by a CSV file with a line for each student: plan the changes, to preview them and then apply exactly these."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy.orm import Session

from kernels.csv_tables import written
from server.accounts.models import Person
from server.accounts.service import AccountError, normal_email
from server.acts.act import Act, assignment_target
from server.acts.field import Field, cleaned
from server.acts.field import read as read_value
from server.courses.local_time import zone_named
from server.courses.models import Assignment, Role
from server.grades.losses import losses_confirmed
from server.roster.csv_file import PERSON, read_lines
from server.roster.service import Wanted, roster
from server.table_file import Problem, Unreadable, named, read_table
from server.text import typed_number


@dataclass(frozen=True, slots=True)
class StudentFile:
    """What the lines of a file change in an assignment.

    name: in addresses and texts, such as "extensions"
    present: the present values of students by ID, which an export has
    wrong: mistakes of the whole file by the student's ID, which no line has alone
    """

    name: str
    act: Act[Any]
    present: Callable[[Session, Assignment], Mapping[int, Any]]
    wrong: Callable[[Session, Assignment, Mapping[int, Any]], Mapping[int, str]] = lambda *_: {}

    @property
    def columns(self) -> tuple[str, ...]:
        return ("email", *map(column_of, self.act.fields))

    @property
    def exported(self) -> str:
        """The action of an export in the audit."""
        return f"{self.act.audit.partition('.')[0]}.exported"


def column_of(field: Field) -> str:
    return field.word.lower()


@dataclass(frozen=True, slots=True)
class Row:
    """A student's values in the file."""

    line: int
    email: str
    given: Any


@dataclass(frozen=True, slots=True)
class ReadFile:
    """The content of a file. With problems, it changes nothing. ignored: columns that it doesn't use."""

    rows: tuple[Row, ...]
    problems: tuple[Problem, ...]
    ignored: tuple[str, ...] = ()


class Change(StrEnum):
    """A student's change."""

    NEW = "new"
    REPLACED = "replaced"
    REMOVED = "removed"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Entry:
    """The plan for one student. was: the present values; None for none."""

    person_id: int
    name: str
    row: Row
    was: Any

    @property
    def change(self) -> Change:
        none = type(self.row.given)()
        if (self.was or none) == self.row.given:
            return Change.UNCHANGED
        if self.was in {None, none}:
            return Change.NEW
        return Change.REMOVED if self.row.given == none else Change.REPLACED


@dataclass(frozen=True, slots=True)
class Plan:
    """All changes of a file. With problems, it can't be applied. ignored: columns that it doesn't use."""

    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...]
    ignored: tuple[str, ...] = ()

    @property
    def changes(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if entry.change is not Change.UNCHANGED)

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of students with each change, in the page's order."""
        found = Counter(entry.change for entry in self.entries)
        return {change.value: found[change] for change in Change if found[change]}

    @property
    def digest(self) -> str:
        """Of the changes, so that what is applied is what was shown."""
        return hashlib.sha256(repr(self.entries).encode()).hexdigest()


def read_student_file(file: StudentFile, text: str, time_zone: str) -> ReadFile:
    """Read a whole file; raises Unreadable if its header is missing or invalid.

    time_zone: the course's, for times that name none
    """
    columns = {column: (column,) for column in file.columns} | {"email": PERSON["email"]}
    table = read_table(text, {name for names in columns.values() for name in names})
    places = table.places(columns)
    if "email" not in places:
        found = named(table.header)
        raise Unreadable("no_person", f"There is no column “email”. The file has {found}. The first line names them.")
    if len(places) == 1:
        # Else each line would take away what its student has.
        text = (
            f"The file has {named(table.header)}, and none of {', '.join(file.columns[1:])}. The first line names them."
        )
        raise Unreadable("no_value", text)
    read = read_lines(table, places)
    rows: dict[str, Row] = {}
    problems = list(read.problems)
    for line, cells in read.lines:
        try:
            row = _row(file.act, line, cells, zone_named(time_zone))
        except ValueError as error:
            problems.append(Problem(line, str(error)))
            continue
        if row.email in rows:
            problems.append(Problem(line, f"{row.email} is already in line {rows[row.email].line}."))
        rows.setdefault(row.email, row)
    ignored = tuple(name for at, name in enumerate(table.header) if name and at not in places.values())
    return ReadFile(tuple(rows.values()), tuple(problems), ignored)


def make_plan(session: Session, file: StudentFile, assignment: Assignment, read: ReadFile) -> Plan:
    """Compare a file with the course. Writes nothing."""
    students = {one.email: one for one in roster(session, assignment.course_id, Wanted(role=Role.STUDENT))}
    present = file.present(session, assignment)
    problems = list(read.problems)
    entries = []
    for row in read.rows:
        student = students.get(row.email)
        if student is None:
            problems.append(Problem(row.line, f"No student of this course has the email {row.email}."))
        else:
            entries.append(Entry(student.person_id, student.name, row, present.get(student.person_id)))
        # What was exported may no longer be valid; nothing changes if it comes back.
        unchanged = student is not None and entries[-1].was == row.given
        wrong = {} if unchanged else file.act.mistakes(session, assignment_target(assignment), row.given)
        problems += [Problem(row.line, text) for text in wrong.values()]
    together = file.wrong(session, assignment, {one.person_id: one.row.given for one in entries})
    problems += [Problem(one.row.line, together[one.person_id]) for one in entries if one.person_id in together]
    return Plan(tuple(entries), tuple(sorted(problems, key=lambda problem: problem.line)), read.ignored)


def student_file_csv(session: Session, file: StudentFile, assignment: Assignment) -> str:
    """The present values, for importing them again. Times have their zone and seconds."""
    zone = zone_named(assignment.course.time_zone)
    present = file.present(session, assignment)
    fields = [field.name for field in file.act.fields]
    rows = (
        [one.email, *(_text(getattr(present[one.person_id], name), zone) for name in fields)]
        for one in roster(session, assignment.course_id, Wanted(role=Role.STUDENT))
        if one.person_id in present
    )
    return written(file.columns, rows)


def apply_student_file(
    session: Session,
    file: StudentFile,
    assignment: Assignment,
    read: ReadFile,
    actor: Person | None,
    confirmed: str,
    digest: str | None = None,
) -> tuple[Plan, bool]:
    """Apply a file in the caller's transaction: all lines, or none. Returns the plan, and whether it was applied.

    digest: of the plan that was shown; None to apply the present one

    raise (UnconfirmedPoints): as for a change of one student
    """
    with losses_confirmed(session, assignment, confirmed):
        plan = make_plan(session, file, assignment, read)
        applies = not plan.problems and digest in {None, plan.digest}
        for entry in plan.changes if applies else ():
            file.act.make(session, assignment_target(assignment, entry.person_id), actor, entry.row.given)
    return plan, applies


def _text(value: Any, zone: ZoneInfo) -> Any:
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return typed_number(value)
    return value.astimezone(zone).isoformat() if isinstance(value, datetime) else value


def _row(act: Act[Any], line: int, given: dict[str, str], zone: ZoneInfo) -> Row:
    """Read a line; raises ValueError with the mistake."""
    try:
        email = normal_email(given["email"])
    except AccountError:
        raise ValueError(f"“{given['email'][:60]}” is not a valid email address.") from None
    return Row(line, email, cleaned(act.asks(**{field.name: _value(field, given, zone) for field in act.fields})))


def _value(field: Field, given: dict[str, str], zone: ZoneInfo) -> Any:
    try:
        return read_value(field, given.get(column_of(field), ""), zone)
    except ValueError as error:
        raise ValueError(f"{column_of(field)}: {error}") from None
