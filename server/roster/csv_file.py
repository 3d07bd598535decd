"""Read a roster from a CSV file, also of Canvas, Moodle, Blackboard or Gradescope; report mistakes by line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kernels.csv_tables import as_typed, written
from server.accounts.limits import LONGEST_EMAIL
from server.accounts.service import AccountError, normal_email
from server.courses.models import LONGEST_STUDENT_ID, Role
from server.table_file import Cell, Problem, Table, Unreadable, named, read_table, short
from server.text import composed

COLUMNS = ("email", "name", "role", "section", "student_id")
MOST_LINES = 3_000
LONGEST_SECTION = 60
_LONGEST_NAME = 200
_MOST_PROBLEMS = 100
_MOST_CHOICES = 100

PERSON: Mapping[str, Sequence[str]] = {
    "email": ("email", "email address", "e-mail", "e-mail address", "e-mail-adresse", "mail"),
    "name": ("name", "full name", "full_name", "names", "vollständiger name"),
    "sorted": ("student", "student name", "sortable_name", "sortable name"),
    "first": ("first name", "first_name", "given name", "vorname"),
    "last": ("last name", "last_name", "surname", "family name", "nachname"),
    "login": ("sis login id", "login id", "login_id", "username", "user name", "anmeldename"),
    "student_id": ("student_id", "student id", "sis user id", "sis id", "sid", "user_id", "id number", "id-nummer"),
    "role": ("role", "roles", "rolle", "rollen"),
    "section": ("section", "sections", "section_name", "groups", "group", "gruppen"),
}
"""The names of a person's columns in rosters and gradebooks, in small letters. sorted: "Last, First" in Canvas."""

_ROLES = {role.value: role for role in Role} | {
    "studentenrollment": Role.STUDENT,
    "learner": Role.STUDENT,
    "teilnehmer/in": Role.STUDENT,
    "ta": Role.ASSISTANT,
    "taenrollment": Role.ASSISTANT,
    "teaching assistant": Role.ASSISTANT,
    "reader": Role.ASSISTANT,
    "grader": Role.ASSISTANT,
    "non-editing teacher": Role.ASSISTANT,
    "teacher": Role.INSTRUCTOR,
    "teacherenrollment": Role.INSTRUCTOR,
}
_NO_MEMBERS = frozenset(
    {"observer", "observerenrollment", "designer", "designerenrollment", "studentviewenrollment", "guest"}
)

_TEST_STUDENTS = frozenset({"student, test", "test student"})
_DOMAIN = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)+")
_PREVIEW = "_previewuser"
"""The end of a login that Blackboard makes for an instructor's preview."""

NOTHING_CHOSEN: Mapping[str, str] = {}

_Wrong = list[tuple[str, str, str]]
"""A line's mistakes: column, code and text."""


class UnknownColumns(Unreadable):
    """The header doesn't show who the people are. columns: the header's, to choose from; none if it is no header."""

    def __init__(self, code: str, text: str, header: Sequence[str]) -> None:
        super().__init__(code, text)
        names = [name for name in header if 0 < len(name) <= _LONGEST_NAME]
        self.columns = [] if any("@" in name for name in header) else names[:_MOST_CHOICES]


@dataclass(frozen=True, slots=True)
class Row:
    """A person in the file.

    email: "" if the file has none for this person
    role, section, student_id: None if the file doesn't state them
    """

    line: int
    email: str
    name: str
    role: Role | None
    section: str | None
    student_id: str | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A line that isn't a person of the course. why: points, test, role."""

    line: int
    why: str


@dataclass(frozen=True, slots=True)
class Read:
    """The content of a file.

    ignored: columns that a roster doesn't use
    has_emails: whether each person has an email, as typed or from the login and its domain
    """

    rows: tuple[Row, ...]
    problems: tuple[Problem, ...]
    ignored: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    has_emails: bool = True

    @property
    def text(self) -> str:
        """The same roster, in a compact text for a form."""
        columns = [name for name in COLUMNS if name in {"email", "name"} or self._says(name)]
        return written(columns, ([_cell(row, name) for name in columns] for row in self.rows))

    def _says(self, column: str) -> bool:
        return any(getattr(row, column) is not None for row in self.rows)


@dataclass(frozen=True, slots=True)
class Lines:
    """The rows of a table, each with its line and its cells by column. problems: unreadable lines."""

    lines: Sequence[tuple[int, dict[str, str]]]
    problems: Sequence[Problem]


def read_roster(text: str, domain: str = "", chosen: Mapping[str, str] = NOTHING_CHOSEN) -> Read:
    """Read a whole file; raises Unreadable if the header is missing or invalid.

    domain: of the emails that begin with a login, as from `domain_of`; "" for none
    chosen: the names of columns that a person chose, by their keys in PERSON
    """
    columns = {**PERSON, **{key: (name.lower(),) for key, name in chosen.items()}}
    table = read_table(text, {name for names in columns.values() for name in names})
    places = table.places(columns)
    _check_header(table, places)
    found = read_lines(table, places)
    has_emails = "email" in places or ("login" in places and bool(domain))
    reader = _Reader(domain, has_emails)
    for line, given in found.lines:
        reader.take(line, given)
    problems = sorted([*found.problems, *reader.problems], key=lambda problem: problem.line)
    ignored = tuple(name for at, name in enumerate(table.header) if name and at not in places.values())
    return Read(tuple(reader.rows), tuple(problems[:_MOST_PROBLEMS]), ignored, tuple(reader.left_out), has_emails)


def read_lines(table: Table, places: Mapping[str, int]) -> Lines:
    """The cells in these places."""
    lines: list[tuple[int, dict[str, str]]] = []
    problems: list[Problem] = []
    try:
        for line, cells in table.rows():
            if len(lines) + len(problems) >= MOST_LINES:
                text = f"Too many people. Import at most {MOST_LINES:,} at once."
                problems.append(Problem(line, text, code="too_many"))
                break
            if len(cells) > len(table.header):
                text = f"This line has {len(cells)} cells, but the first line has {len(table.header)}."
                text += " Put a cell with a comma in quotation marks."
                problems.append(Problem(line, text, code="cells"))
                continue
            # People leave out empty cells at the end of a line.
            lines.append((line, {key: cell_at(cells, place) for key, place in places.items()}))
    except Unreadable as error:
        problems.append(Problem(error.line, str(error), code=error.code))
    return Lines(lines, problems)


def cell_at(cells: Sequence[Cell], place: int) -> str:
    """A row's text there, without the apostrophe that protects spreadsheets; "" if the row is too short."""
    return as_typed(cells[place].value.strip()) if place < len(cells) else ""


def left_out(given: Mapping[str, str]) -> str:
    """Why a line isn't a person of the course: points, test, role; "" if it is one."""
    words = {key: given.get(key, "").casefold() for key in PERSON}
    if words["sorted"] == "points possible":
        return "points"
    if "sorted" in given and not any(words[key] for key in ("sorted", "email", "login", "student_id")):
        return "points"  # Canvas says in this row how each column is posted
    if words["sorted"] in _TEST_STUDENTS and not words["student_id"] and not words["email"]:
        return "test"
    if words["login"].endswith(_PREVIEW) or words["last"].endswith(_PREVIEW):
        return "test"
    return "role" if words["role"] in _NO_MEMBERS else ""


def email_of(given: Mapping[str, str], domain: str) -> str:
    """The email as typed, or the login at its domain; "" for none. Raises ValueError for a login of another domain."""
    login = given.get("login", "")
    if given.get("email") or not login or not domain:
        return given.get("email", "")
    if "@" in login and not login.lower().endswith(f"@{domain}"):
        raise ValueError(f"The login “{short(login)}” doesn’t end with @{domain}.")
    return login if "@" in login else f"{login}@{domain}"


def domain_of(text: str) -> str:
    """The domain that a person typed for logins; "" for none. Raises Unreadable."""
    domain = text.strip().removeprefix("@").lower()
    if domain and not _DOMAIN.fullmatch(domain):
        raise Unreadable("domain", f"“{short(domain)}” is not a domain. Write one such as university.edu.")
    return domain


def one_line(text: str) -> str:
    """The text with single spaces."""
    return composed(" ".join(text.split()), LONGEST_EMAIL)


def _check_header(table: Table, places: Mapping[str, int]) -> None:
    if not places.keys() & {"email", "login", "student_id"}:
        text = f"The first line must name the columns, such as {','.join(COLUMNS)}."
        raise UnknownColumns("no_person", text, table.header)
    if not places.keys() & {"name", "sorted", "first", "last"}:
        text = f"There is no column “name”. The file has {named(table.header)}. "
        text += "The first line must name the columns, such as email,name."
        raise UnknownColumns("no_name", text, table.header)


@dataclass(slots=True)
class _Reader:
    """What was read so far. has_emails: as in Read; seen: emails and student IDs with their first lines."""

    domain: str
    has_emails: bool
    rows: list[Row] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)

    def take(self, line: int, given: Mapping[str, str]) -> None:
        """Read a line."""
        if why := left_out(given):
            self.left_out.append(LeftOut(line, why))
            return
        wrong: _Wrong = []
        email = self._email(given, wrong)
        name = _name(given, f"The name of {email}" if email else "The name", wrong)
        role = _role(given.get("role", ""), wrong)
        section = _text(given.get("section"), "section", LONGEST_SECTION, wrong)
        student_id = _text(given.get("student_id") or None, "student_id", LONGEST_STUDENT_ID, wrong)
        row = Row(line, email, name, role, section, student_id)
        for column, value in (("email", email), ("student_id", student_id)):
            if value and self.seen.setdefault(f"{column} {value}", line) != line:
                wrong.append((column, "twice", f"{value} is already in line {self.seen[f'{column} {value}']}."))
        self.problems += [Problem(line, text, column, code) for column, code, text in wrong]
        if not wrong:
            self.rows.append(row)

    def _email(self, given: Mapping[str, str], wrong: _Wrong) -> str:
        try:
            text = email_of(given, self.domain)
            if text:
                return normal_email(text)
        except AccountError:
            wrong.append(("email", "email", f"“{short(text)}” is not a valid email address."))
        except ValueError as error:
            wrong.append(("login", "domain", str(error)))
        else:
            if self.has_emails and not given.get("student_id"):
                wrong.append(("email", "missing", "The email is missing."))
        return ""


def _name(given: Mapping[str, str], what: str, wrong: _Wrong) -> str:
    last, comma, first = given.get("sorted", "").partition(",")
    apart = f"{given.get('first', '')} {given.get('last', '')}".strip()
    name = one_line(given.get("name") or apart or (f"{first} {last}" if comma else last))
    if not name:
        wrong.append(("name", "missing", f"{what} is missing."))
    elif len(name) > _LONGEST_NAME or not name.isprintable():
        text = f"{what} must be one line of at most {_LONGEST_NAME} printable characters."
        wrong.append(("name", "name", text))
    return name


def _role(text: str, wrong: _Wrong) -> Role | None:
    if text and text.lower() not in _ROLES:
        known = ", ".join(role.value for role in Role)
        wrong.append(("role", "role", f"“{short(text)}” is not a role. Use {known}."))
    return _ROLES.get(text.lower())


def _text(text: str | None, column: str, longest: int, wrong: _Wrong) -> str | None:
    if text is None:
        return None
    line = one_line(text)
    if len(line) > longest or not line.isprintable():
        what = "A section" if column == "section" else "A student ID"
        wrong.append((column, column, f"{what} must be one line of at most {longest} printable characters."))
    return line


def _cell(row: Row, name: str) -> str:
    value = getattr(row, name)
    return "" if value is None else str(value)
