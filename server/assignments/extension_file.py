"""Extensions for many students from a CSV file: plan the changes, to preview them and then apply exactly these."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy.orm import Session

from kernels.csv_tables import written
from server.accounts.models import Person
from server.accounts.service import AccountError, normal_email
from server.acts.act import assignment_target
from server.acts.field import Field, cleaned, stored
from server.acts.field import read as read_value
from server.assignments.extensions import EXTENSION, Grant, extensions
from server.courses.local_time import zone_named
from server.courses.models import Assignment, Role
from server.roster.csv_file import PERSON, read_lines
from server.roster.service import Wanted, roster
from server.table_file import Problem, Unreadable, named, read_table

COLUMNS = ("email", *(field.word for field in EXTENSION.fields))


@dataclass(frozen=True, slots=True)
class Row:
    """A student's extension in the file."""

    line: int
    email: str
    given: Grant


@dataclass(frozen=True, slots=True)
class ExtensionFile:
    """The content of a file. With problems, it grants nothing."""

    rows: tuple[Row, ...]
    problems: tuple[Problem, ...]


class Change(StrEnum):
    """A student's change."""

    NEW = "new"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Entry:
    """The plan for one student. was: the present extension; None for none."""

    person_id: int
    name: str
    row: Row
    was: Grant | None

    @property
    def change(self) -> Change:
        if self.was is None:
            return Change.NEW
        return Change.UNCHANGED if self.was == self.row.given else Change.REPLACED


@dataclass(frozen=True, slots=True)
class Plan:
    """All changes of a file. With problems, it can't be applied."""

    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...]

    @property
    def changes(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if entry.change is not Change.UNCHANGED)

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of students with each change, in the page's order."""
        found = Counter(entry.change for entry in self.entries)
        return {change.value: found[change] for change in Change}

    @property
    def digest(self) -> str:
        """Of the changes, so that what is applied is what was shown."""
        return hashlib.sha256(repr(self.entries).encode()).hexdigest()


def read_extensions(text: str, time_zone: str) -> ExtensionFile:
    """Read a whole file; raises Unreadable if its header is missing or invalid.

    time_zone: the course's, for times that name none
    """
    columns = {column: (column,) for column in COLUMNS} | {"email": PERSON["email"]}
    table = read_table(text, {name for names in columns.values() for name in names})
    places = table.places(columns)
    if "email" not in places:
        found = named(table.header)
        raise Unreadable("no_person", f"There is no column “email”. The file has {found}. The first line names them.")
    read = read_lines(table, places)
    rows: dict[str, Row] = {}
    problems = list(read.problems)
    for line, cells in read.lines:
        try:
            row = _row(line, cells, zone_named(time_zone))
        except ValueError as error:
            problems.append(Problem(line, str(error)))
            continue
        if row.email in rows:
            problems.append(Problem(line, f"{row.email} is already in line {rows[row.email].line}."))
        rows.setdefault(row.email, row)
    return ExtensionFile(tuple(rows.values()), tuple(problems))


def make_plan(session: Session, assignment: Assignment, read: ExtensionFile) -> Plan:
    """Compare a file with the course. Writes nothing."""
    students = {one.email: one for one in roster(session, assignment.course_id, Wanted(role=Role.STUDENT))}
    present = {each.person_id: stored(Grant, each) for each in extensions(session, assignment)}
    problems = list(read.problems)
    entries = []
    for row in read.rows:
        student = students.get(row.email)
        if student is None:
            problems.append(Problem(row.line, f"No student of this course has the email {row.email}."))
        else:
            entries.append(Entry(student.person_id, student.name, row, present.get(student.person_id)))
        # An extension that was exported may no longer give anything; nothing changes if it comes back.
        unchanged = student is not None and present.get(student.person_id) == row.given
        wrong = {} if unchanged else EXTENSION.mistakes(session, assignment_target(assignment), row.given)
        problems += [Problem(row.line, text) for text in wrong.values()]
    return Plan(tuple(entries), tuple(sorted(problems, key=lambda problem: problem.line)))


def extensions_csv(session: Session, assignment: Assignment) -> str:
    """The extensions of an assignment, for importing them again. Times have their zone and seconds."""
    zone = zone_named(assignment.course.time_zone)
    fields = [field.name for field in EXTENSION.fields]
    rows = (
        [one.person.email, *(_text(getattr(one, name), zone) for name in fields)]
        for one in extensions(session, assignment)
    )
    return written(COLUMNS, rows)


def carry_out(session: Session, assignment: Assignment, plan: Plan, actor: Person | None) -> None:
    """Grant the extensions of a plan, in the caller's transaction, which locked the course before planning."""
    assert not plan.problems, "a plan with problems can't be applied"
    for entry in plan.changes:
        EXTENSION.make(session, assignment_target(assignment, entry.person_id), actor, entry.row.given)


def _text(value: Any, zone: ZoneInfo) -> Any:
    return value.astimezone(zone).isoformat() if isinstance(value, datetime) else value


def _row(line: int, given: dict[str, str], zone: ZoneInfo) -> Row:
    """Read a line; raises ValueError with the mistake."""
    try:
        email = normal_email(given["email"])
    except AccountError:
        raise ValueError(f"“{given['email'][:60]}” is not a valid email address.") from None
    return Row(line, email, cleaned(Grant(**{field.name: _value(field, given, zone) for field in EXTENSION.fields})))


def _value(field: Field, given: dict[str, str], zone: ZoneInfo) -> Any:
    try:
        return read_value(field, given.get(field.word, ""), zone)
    except ValueError as error:
        raise ValueError(f"{field.word}: {error}") from None
