"""Read a roster from a CSV file of any origin, and report mistakes by line."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from kernels.csv_tables import as_typed, written
from server.accounts.limits import LONGEST_EMAIL
from server.accounts.service import AccountError, normal_email
from server.courses.models import Role
from server.text import composed

COLUMNS = ("email", "name", "role", "section")
MOST_BYTES = 128 * 2**10
MOST_LINES = 3_000
LONGEST_SECTION = 60
_LONGEST_NAME = 200
_DELIMITERS = ",;\t"
_BLANK = f'{_DELIMITERS} "'
_MOST_PROBLEMS = 100
_SHOWN = 12

_Wrong = list[tuple[str, str]]
"""A line's mistakes: column and text."""


class Unreadable(ValueError):
    """The file isn't a roster; the text says why."""


@dataclass(frozen=True, slots=True)
class Row:
    """A person in the file. role, section: None if the file doesn't state them."""

    line: int
    email: str
    name: str
    role: Role | None
    section: str | None


@dataclass(frozen=True, slots=True)
class Problem:
    """A mistake in a line.

    line: 0 for the whole file
    column: the column with the mistake, if known
    """

    line: int
    text: str
    column: str = ""


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a file, each with its number and its cells by column. problems: unreadable lines."""

    header: Sequence[str]
    lines: Sequence[tuple[int, dict[str, str]]]
    problems: Sequence[Problem]


@dataclass(frozen=True, slots=True)
class Read:
    """The content of a file. ignored: columns that a roster doesn't use."""

    rows: tuple[Row, ...]
    problems: tuple[Problem, ...]
    ignored: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The same roster, in a compact text for a form."""
        columns = [name for name in COLUMNS if name in {"email", "name"} or self._says(name)]
        return written(columns, ([_cell(row, name) for name in columns] for row in self.rows))

    def _says(self, column: str) -> bool:
        return any(getattr(row, column) is not None for row in self.rows)


def decoded(content: bytes) -> str:
    """The text of a file; raises Unreadable."""
    if len(content) > MOST_BYTES:
        raise Unreadable(f"The file is too large. The limit is {MOST_BYTES:,} bytes. Import it in parts.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable(
            "The file isn’t UTF-8 text. In a spreadsheet, save it as “CSV UTF-8 (comma delimited)”."
        ) from None


def read_roster(text: str) -> Read:
    """Read a whole file; raises Unreadable if the header is missing or invalid."""
    table = read_lines(text, COLUMNS, ("email", "name"))
    rows: list[Row] = []
    problems = list(table.problems)
    seen: dict[str, int] = {}
    for line, given in table.lines:
        wrong: _Wrong = []
        row = _row(line, given, wrong)
        if row.email in seen:
            wrong.append(("email", f"{row.email} is already in line {seen[row.email]}."))
        elif row.email:
            seen[row.email] = line
        problems += [Problem(line, text, column) for column, text in wrong]
        if not wrong:
            rows.append(row)
    problems.sort(key=lambda problem: problem.line)
    ignored = tuple(name for name in table.header if name and name not in COLUMNS)
    return Read(tuple(rows), tuple(problems[:_MOST_PROBLEMS]), ignored)


def read_lines(text: str, columns: Sequence[str], needed: Sequence[str]) -> Lines:
    """The cells of a file; raises Unreadable if the header is missing or invalid."""
    source = text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")
    header, delimiter = _read_header(source, columns, needed)
    reader = csv.reader(io.StringIO(source, newline=""), delimiter=delimiter, strict=True)
    lines: list[tuple[int, dict[str, str]]] = []
    problems: list[Problem] = []
    began, filled = 1, 0
    try:
        for cells in reader:
            line, began = began, reader.line_num + 1
            filled += any(cell.strip() for cell in cells)
            if filled < 2 or not any(cell.strip() for cell in cells):  # the header, or an empty line
                continue
            if filled > MOST_LINES + 1:
                problems.append(Problem(line, f"Too many people. Import at most {MOST_LINES:,} at once."))
                break
            if len(cells) > len(header):
                text = f"This line has {len(cells)} cells, but the first line has {len(header)}."
                problems.append(Problem(line, f"{text} Put a cell with a comma in quotation marks."))
                continue
            # People leave out empty cells at the end of a line.
            lines.append((line, {n: as_typed(cell.strip()) for n, cell in zip_longest(header, cells, fillvalue="")}))
    except csv.Error:
        problems.append(Problem(began, "A quotation mark isn’t closed, or is inside a cell without quotation marks."))
    return Lines(header, lines, problems)


def one_line(text: str) -> str:
    """The text with single spaces."""
    return composed(" ".join(text.split()), LONGEST_EMAIL)


def _read_header(text: str, columns: Sequence[str], needed: Sequence[str]) -> tuple[list[str], str]:
    """The columns of a table, and what separates its cells; raises Unreadable."""
    if len(text.encode("utf-8", "replace")) > MOST_BYTES:
        raise Unreadable(f"The text is too large. The limit is {MOST_BYTES:,} bytes. Import it in parts.")
    first = next((line for line in text.splitlines() if line.strip(_BLANK)), None)
    if first is None:
        raise Unreadable("The file is empty.")
    for delimiter in _DELIMITERS:
        names = [name.strip().strip('"').strip().lower() for name in first.split(delimiter)]
        if "email" in names:
            break
    else:
        raise Unreadable(f"The first line must name the columns, such as {','.join(columns)}.")
    missing = [name for name in needed if name not in names]
    if missing:
        seen = ", ".join(f"“{_short(name)}”" for name in names[:_SHOWN])
        raise Unreadable(
            f"There is no column “{missing[0]}”. The file has {seen}. "
            f"The first line must name the columns, such as {','.join(needed)}."
        )
    twice = next((name for name in columns if names.count(name) > 1), None)
    if twice:
        raise Unreadable(f"The column {twice} occurs twice.")
    return names, delimiter


def _row(line: int, given: dict[str, str], wrong: _Wrong) -> Row:
    """Read a line; adds its mistakes to `wrong`, and then the row must not be used."""
    email = _email(given["email"], wrong)
    name = _name(given["name"], f"The name of {email}" if email else "The name", wrong)
    return Row(line, email, name, _role(given.get("role", ""), wrong), _section(given.get("section"), wrong))


def read_row(line: int, email: str, name: str) -> tuple[Row, Sequence[Problem]]:
    """A person from elsewhere than a file, and what is wrong with the values. role, section: they stay as they are."""
    wrong: _Wrong = []
    row = _row(line, {"email": email.strip(), "name": name}, wrong)
    return row, [Problem(line, text, column) for column, text in wrong]


def _email(text: str, wrong: _Wrong) -> str:
    if not text:
        wrong.append(("email", "The email is missing."))
        return ""
    try:
        return normal_email(text)
    except AccountError:
        wrong.append(("email", f"“{_short(text)}” is not a valid email address."))
        return ""


def _name(text: str, what: str, wrong: _Wrong) -> str:
    name = one_line(text)
    if not name:
        wrong.append(("name", f"{what} is missing."))
    elif len(name) > _LONGEST_NAME or not name.isprintable():
        text = f"{what} must be one line of at most {_LONGEST_NAME} printable characters."
        wrong.append(("name", text))
    return name


def _role(text: str, wrong: _Wrong) -> Role | None:
    if not text:
        return None
    try:
        return Role(text.lower())
    except ValueError:
        known = ", ".join(role.value for role in Role)
        wrong.append(("role", f"“{_short(text)}” is not a role. Use {known}."))
        return None


def _section(text: str | None, wrong: _Wrong) -> str | None:
    if text is None:
        return None
    section = one_line(text)
    if len(section) > LONGEST_SECTION or not section.isprintable():
        text = f"A section must be one line of at most {LONGEST_SECTION} printable characters."
        wrong.append(("section", text))
    return section


def _cell(row: Row, name: str) -> str:
    value = getattr(row, name)
    return "" if value is None else str(value)


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}…"
