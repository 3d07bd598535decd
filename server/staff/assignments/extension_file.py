"""Extensions for many students from a CSV file: all of them, or none with the mistakes by line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from zoneinfo import ZoneInfo

from sqlalchemy.orm import Session

from server.accounts.service import AccountError, normal_email
from server.courses.local_time import MomentError, read_moment, zone_named
from server.courses.models import Assignment
from server.staff.assignments.service import Grant, grant, wrong_grant
from server.staff.csv_tables import as_typed
from server.staff.roster.csv_file import MOST_LINES, Problem, read_header
from server.staff.roster.service import Wanted, roster

COLUMNS = ("email", "due", "closes", "attempts", "reason")


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


def read_extensions(text: str, time_zone: str) -> ExtensionFile:
    """Read a whole file; raises Unreadable if its header is missing or invalid.

    time_zone: the course's, for times that name none
    """
    header, delimiter = read_header(text, COLUMNS, ("email",))
    rows: dict[str, Row] = {}
    problems: list[Problem] = []
    for line, cells in _lines(text, delimiter, problems):
        try:
            row = _row(line, _cells(header, cells), zone_named(time_zone))
        except ValueError as error:
            problems.append(Problem(line, str(error)))
            continue
        if row.email in rows:
            problems.append(Problem(line, f"{row.email} is already in line {rows[row.email].line}."))
        rows.setdefault(row.email, row)
    if len(rows) > MOST_LINES:
        problems.append(Problem(0, f"Too many people. Use at most {MOST_LINES:,} at once."))
    return ExtensionFile(tuple(rows.values()), tuple(problems))


def wrong_rows(session: Session, assignment: Assignment, rows: tuple[Row, ...]) -> tuple[Problem, ...]:
    """Mistakes that only the course shows, by line: unknown students, and extensions that give nothing."""
    students = _students(session, assignment)
    found = []
    for row in rows:
        if row.email not in students:
            found.append(Problem(row.line, f"No student of this course has the email {row.email}."))
        found += [Problem(row.line, text) for text in wrong_grant(assignment, row.given).values()]
    return tuple(found)


def grant_rows(session: Session, assignment: Assignment, rows: tuple[Row, ...]) -> None:
    """Grant all extensions of a file without mistakes, at the command line."""
    students = _students(session, assignment)
    for row in rows:
        grant(session, assignment.course, assignment, None, students[row.email], row.given)


def _students(session: Session, assignment: Assignment) -> dict[str, int]:
    return {one.email: one.person_id for one in roster(session, assignment.course_id, Wanted(role="student"))}


def _lines(text: str, delimiter: str, problems: list[Problem]) -> Iterator[tuple[int, list[str]]]:
    """The lines after the header, with their numbers."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    filled = ((reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells))
    try:
        next(filled)
        yield from filled
    except csv.Error:
        problems.append(Problem(reader.line_num, "A quotation mark isn’t closed, or a character isn’t text."))


def _cells(header: list[str], cells: list[str]) -> dict[str, str]:
    if len(cells) > len(header):
        raise ValueError(f"This line has {len(cells)} cells, but the first line has {len(header)}.")
    # People leave out empty cells at the end of a line.
    return {name: as_typed(cell.strip()) for name, cell in zip_longest(header, cells, fillvalue="")}


def _row(line: int, given: dict[str, str], zone: ZoneInfo) -> Row:
    """Read a line; raises ValueError with the mistake."""
    try:
        email = normal_email(given["email"])
    except AccountError:
        raise ValueError(f"“{given['email'][:60]}” is not a valid email address.") from None
    attempts = given.get("attempts", "")
    if attempts and not (attempts.isdecimal() and len(attempts) < 7):
        raise ValueError(f"attempts: “{attempts[:60]}” is not a whole number.")
    return Row(
        line,
        email,
        Grant(
            due_at=_moment(given, "due", zone),
            closes_at=_moment(given, "closes", zone),
            extra_attempts=int(attempts or 0),
            reason=" ".join(given.get("reason", "").split()),
        ),
    )


def _moment(given: dict[str, str], name: str, zone: ZoneInfo) -> datetime | None:
    try:
        return read_moment(given.get(name, ""), zone)
    except MomentError as error:
        raise ValueError(f"{name}: {error}") from None
