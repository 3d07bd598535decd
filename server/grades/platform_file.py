"""Fill grades into a gradebook file of another platform: only the filled cells change, every other byte stays."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import islice

from server.courses.models import Assignment
from server.grades.grade import Grade
from server.grades.gradebook import Cell as StudentCell
from server.grades.gradebook import Gradebook, Line, number
from server.roster.csv_file import PERSON, cell_at, email_of, left_out
from server.roster.service import Member
from server.table_file import Cell, Problem, Record, Source, Table, Unreadable, named, read_table

_FIRST = 100
_NOTHING = frozenset({"", "-"})
_MAX = " - max points"
_COMMA = re.compile(r"\d++,\d++")
_POINT = re.compile(r"\d++\.\d++")


@dataclass(frozen=True, slots=True)
class Platform:
    """How a platform writes gradebooks.

    mark: in a heading that only this platform has
    suffix: what follows the title in an assignment's heading, perhaps with the `most` points
    prefix: what comes before it
    excused: its word for an excused student; "" if its files have none
    """

    name: str
    mark: re.Pattern[str]
    suffix: re.Pattern[str]
    prefix: re.Pattern[str] = re.compile(r"\A")
    excused: str = ""

    def title_in(self, heading: str) -> tuple[str, str] | None:
        """The title and the most points in an assignment's heading; None for another column."""
        found = self.suffix.search(heading)
        if found is None:
            return None
        title = self.prefix.sub("", heading[: found.start()], count=1)
        return (title, found.groupdict().get("most") or "") if title else None


_END = re.compile(r"\Z")
_BLACKBOARD = re.compile(r" \[Total Pts: (?P<most>[\d.,]*+)[^\[\]]*+\]")
_MOODLE = re.compile(r" \((?:Real|Punkte)\)\Z")
PLATFORMS = (
    Platform("Blackboard", _BLACKBOARD, _BLACKBOARD),
    Platform("Gradescope", re.compile(rf"{_MAX}\Z", re.IGNORECASE), _END),
    Platform("Canvas", re.compile(r"\AStudent\Z"), re.compile(r" \(\d++\)\Z"), excused="EX"),
    Platform("Moodle", _MOODLE, _MOODLE, re.compile(r"\A[^:]++: ?(?=.)")),
)
_OTHER = Platform("", _END, _END, excused="excused")


@dataclass(frozen=True, slots=True)
class Column:
    """A column that may be an assignment.

    place: from 0
    title: its heading without what the platform adds
    most: the most points possible there; None if the file doesn't say
    """

    place: int
    heading: str
    title: str
    most: float | None


@dataclass(frozen=True, slots=True)
class PlatformFile:
    """A gradebook file. columns: those that can be filled; matched: the assignments' places, found by title."""

    source: Source
    table: Table
    platform: Platform
    people: Mapping[str, int]
    columns: tuple[Column, ...]

    def matched(self, assignments: Sequence[Assignment]) -> Mapping[int, int]:
        """The columns with the assignments' titles or short names, by the assignments' IDs."""
        places: dict[str, list[int]] = {}
        for column in self.columns:
            places.setdefault(_plain(column.title), []).append(column.place)
        found = {one.id: places.get(_plain(one.title)) or places.get(one.slug, []) for one in assignments}
        return {one: at[0] for one, at in found.items() if len(at) == 1}

    def other_maxima(
        self, assignments: Sequence[Assignment], chosen: Mapping[int, int]
    ) -> Sequence[tuple[str, float, float]]:
        """Assignments whose chosen columns have another maximum: title, most points here and there."""
        there = {column.place: column.most for column in self.columns}
        found = ((one, there.get(chosen.get(one.id, -1))) for one in assignments)
        return [(one.title, one.most_points, most) for one, most in found if most not in {None, one.most_points}]


class Outcome(StrEnum):
    """What happens to a student's cell.

    filled: was empty; changed: the file has another value; by_hand: excused, which the platform's files can't say
    missed: closed without a submission, and gets 0 points
    no_grade, held: stays as it is, like by_hand
    """

    FILLED = "filled"
    CHANGED = "changed"
    MISSED = "missed"
    SAME = "same"
    NO_GRADE = "no grade yet"
    HELD = "held back"
    BY_HAND = "excused"


@dataclass(frozen=True, slots=True)
class FilledCell:
    """A student's cell. was, now: its text before and after."""

    line: int
    member: Member
    assignment: Assignment
    outcome: Outcome
    was: str
    now: str


@dataclass(frozen=True, slots=True)
class Filled:
    """A filled file.

    unknown: lines whose person isn't a student here, with what the file calls them
    absent: students who aren't in the file
    """

    content: bytes
    cells: tuple[FilledCell, ...]
    unknown: tuple[tuple[int, str], ...]
    absent: tuple[Member, ...]
    problems: tuple[Problem, ...]

    @property
    def counts(self) -> Mapping[str, int]:
        found = Counter(cell.outcome for cell in self.cells)
        return {outcome.value: found[outcome] for outcome in Outcome}

    @property
    def digest(self) -> str:
        """Of the file, so that what is downloaded is what was shown."""
        return hashlib.sha256(self.content).hexdigest()


def read_platform_file(source: Source) -> PlatformFile:
    """Find the people and the columns of a gradebook file; raises Unreadable."""
    table = read_table(source.text, {name for names in PERSON.values() for name in names})
    people = table.places(PERSON)
    if not people.keys() & {"email", "login", "student_id"}:
        text = f"No column has an email, a login or a student ID. The file has {named(table.header)}."
        raise Unreadable("no_person", text)
    platform = next((one for one in PLATFORMS if any(map(one.mark.search, table.header))), _OTHER)
    columns = tuple(_columns(table, platform, frozenset(people.values())))
    if not columns:
        raise Unreadable("no_column", f"No column is an assignment’s. The file has {named(table.header)}.")
    return PlatformFile(source, table, platform, people, columns)


def fill(
    file: PlatformFile,
    book: Gradebook,
    chosen: Mapping[int, int],
    *,
    domain: str = "",
    held: bool = False,
    missed_at: datetime | None = None,
) -> Filled:
    """Fill in the grades.

    chosen: columns by the assignments' IDs
    domain: of the emails that begin with a login; "" for none
    held: whether to fill in grades that are held back, too
    missed_at: now, to fill in 0 if the assignment closed for a student without a submission; None to leave these cells
    """
    filling = _Filling(file, chosen, held, missed_at)
    lines = {line.member.person_id: line for line in book.lines}
    find = _finder([line.member for line in book.lines], domain)
    try:
        filling.comma = _decimal_comma(file)
        for record in file.table.rows():
            given = {key: cell_at(record.cells, place) for key, place in file.people.items()}
            if not left_out(given):
                found = find(given)
                filling.take(record, given, book.assignments, lines[found.person_id] if found else None)
    except Unreadable as error:
        filling.problems.append(Problem(error.line, str(error), code=error.code))
    absent = tuple(line.member for person, line in lines.items() if person not in filling.seen)
    content = file.source.encoded(_edited(file.table, filling.edits))
    return Filled(content, tuple(filling.cells), tuple(filling.unknown), absent, tuple(filling.problems))


@dataclass(slots=True)
class _Filling:
    """What was filled in so far. comma: whether the file writes 7,5; seen: people with their lines."""

    file: PlatformFile
    chosen: Mapping[int, int]
    held: bool
    missed_at: datetime | None
    comma: bool = False
    cells: list[FilledCell] = field(default_factory=list)
    edits: list[tuple[Cell, str]] = field(default_factory=list)
    unknown: list[tuple[int, str]] = field(default_factory=list)
    seen: dict[int, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def take(
        self, record: Record, given: Mapping[str, str], assignments: Sequence[Assignment], line: Line | None
    ) -> None:
        """Fill in a row. line: of the gradebook; None if the person isn't a student here."""
        if line is None:
            self.unknown.append((record.line, next(filter(None, given.values()), "")))
            return
        first = self.seen.setdefault(line.member.person_id, record.line)
        if first != record.line:
            self.problems.append(Problem(record.line, f"{line.member.name} is already in line {first}.", code="twice"))
            return
        for one, cell in zip(assignments, line.cells, strict=True):
            if one.id in self.chosen:
                self._fill(record, self.chosen[one.id], one, line.member, cell)

    def _fill(self, record: Record, place: int, one: Assignment, member: Member, student: StudentCell) -> None:
        if place >= len(record.cells):
            heading = self.file.table.header[place]
            text = f"The line ends before the column “{heading}”."
            self.problems.append(Problem(record.line, text, heading, "cells"))
            return
        was = record.cells[place].value.strip()
        open_grades = self.held or not one.grades_held
        missed = self.missed_at is not None and open_grades and student.missed(self.missed_at)
        outcome, now = _outcome(student.grade, was, self.file.platform, held=self.held, missed=missed)
        if outcome in _WRITTEN:
            now = now.replace(".", ",") if self.comma else now
            self.edits.append((record.cells[place], now))
        self.cells.append(FilledCell(record.line, member, one, outcome, was, now))


_WRITTEN = frozenset({Outcome.FILLED, Outcome.CHANGED, Outcome.MISSED})


def _outcome(grade: Grade, was: str, platform: Platform, *, held: bool, missed: bool) -> tuple[Outcome, str]:
    """What happens to a cell, and its text then. missed: whether to write 0."""
    if grade.held and not held:
        return Outcome.HELD, was
    if grade.excused and not platform.excused:
        return Outcome.BY_HAND, was
    if missed and was in _NOTHING:
        return Outcome.MISSED, "0"
    if grade.points is None and not grade.excused:
        return Outcome.NO_GRADE, was
    now = platform.excused if grade.excused else str(number(grade.points or 0.0))
    if _value(was) == _value(now):
        return Outcome.SAME, was
    return Outcome.FILLED if was in _NOTHING else Outcome.CHANGED, now


def _value(text: str) -> float | str:
    number = _number(text)
    return text.casefold() if number is None else number


def _columns(table: Table, platform: Platform, people: frozenset[int]) -> Iterator[Column]:
    points = _points_row(table) if platform.name == "Canvas" else {}
    header = [heading.lower() for heading in table.header]
    for place, heading in enumerate(table.header):
        found = platform.title_in(heading)
        most = points.get(place, "")
        if found is None or place in people or most == "(read only)":
            continue
        if platform.name == "Gradescope":
            if f"{heading.lower()}{_MAX}" not in header:
                continue
            most = cell_at(next(table.rows(), Record(0, [])).cells, header.index(f"{heading.lower()}{_MAX}"))
        title, named_most = found
        yield Column(place, heading, title, _number(named_most or most))


def _points_row(table: Table) -> Mapping[int, str]:
    """Canvas's row with the points possible, by place; its totals are "(read only)" there."""
    for _, row in islice(table.rows(), _FIRST):
        texts = {place: cell.value.strip() for place, cell in enumerate(row)}
        if "points possible" in map(str.casefold, texts.values()):
            return texts
    return {}


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None


def _finder(members: Sequence[Member], domain: str) -> Callable[[Mapping[str, str]], Member | None]:
    by_email = {member.email: member for member in members}
    by_id = {member.student_id: member for member in members if member.student_id}

    def find(given: Mapping[str, str]) -> Member | None:
        try:
            email = email_of(given, domain)
        except ValueError:
            email = ""
        emails = (email.lower(), given.get("login", "").lower())
        known = (by_email.get(one) for one in emails)
        return next(filter(None, known), None) or by_id.get(given.get("student_id", ""))

    return find


def _decimal_comma(file: PlatformFile) -> bool:
    """Whether the file writes 7,5: some of its first grades do, and none has a decimal point."""
    comma = False
    for _, row in islice(file.table.rows(), _FIRST):
        texts = [row[column.place].value.strip() for column in file.columns if column.place < len(row)]
        if any(map(_POINT.fullmatch, texts)):
            return False
        comma = comma or any(map(_COMMA.fullmatch, texts))
    return comma


def _edited(table: Table, edits: Sequence[tuple[Cell, str]]) -> str:
    """The text with other cells in place of these. A quoted cell stays quoted."""
    parts, position = [], 0
    for cell, text in sorted(edits):
        quoted = table.text[cell.start : cell.start + 1] == '"' or table.delimiter in text
        parts += [table.text[position : cell.start], f'"{text}"' if quoted else text]
        position = cell.end
    return "".join([*parts, table.text[position:]])


def _plain(title: str) -> str:
    return " ".join(title.casefold().split())
