"""Read tables from files of any origin: UTF-8, UTF-16 or Windows-1252; commas, semicolons or tabs.

A cell knows its place in the text. So a cell can be replaced, and every other byte of the file stays.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

MOST_BYTES = 900_000
MOST_COLUMNS = 1_000
MOST_ROWS = 10_000
MOST_CELLS = 300_000
LONGEST_CELL = 32_767
_SHOWN = 12
_ENDS = r"\r\n|\r|\n"
_END = re.compile(_ENDS)
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
# Quoted, or plain up to the next delimiter; then what ends it. Possessive, so that no text takes quadratic time.
_CELL = r'(?:"([^"]*+(?:""[^"]*+)*+)"|(?!")('
_COMMAS = re.compile(rf"{_CELL}[^,\r\n]*+))(,|{_ENDS}|\Z)")
_SEMICOLONS = re.compile(rf"{_CELL}[^;\r\n]*+))(;|{_ENDS}|\Z)")
_TABS = re.compile(rf"{_CELL}[^\t\r\n]*+))(\t|{_ENDS}|\Z)")
_CELLS = {",": _COMMAS.match, ";": _SEMICOLONS.match, "\t": _TABS.match}
_BEFORE = re.compile(rf"\N{{ZERO WIDTH NO-BREAK SPACE}}*+(?:(sep=)(.)(?:{_ENDS}))?", re.IGNORECASE)
"""What stands before the header: a spreadsheet may name the delimiter there."""


class Unreadable(ValueError):
    """The file can't be read further. code: for programs; line: 0 for the whole file."""

    def __init__(self, code: str, text: str, line: int = 0) -> None:
        super().__init__(text)
        self.code, self.line = code, line


@dataclass(frozen=True, slots=True)
class Problem:
    """A mistake in a line.

    line: 0 for the whole file
    column: the column with the mistake, if known
    code: for programs
    """

    line: int
    text: str
    column: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """A file as text. mark: the bytes before the text; encoding: of the others."""

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""

    def encoded(self, text: str) -> bytes:
        """Another text, in the bytes of this file."""
        return self.mark + text.encode(self.encoding)


class Cell(NamedTuple):
    """start, end: in the text, with quotation marks."""

    value: str
    start: int
    end: int


class Record(NamedTuple):
    """The cells of a row. line: where it begins; a quoted cell may span several lines."""

    line: int
    cells: list[Cell]


@dataclass(frozen=True, slots=True)
class Table:
    """A text with a header. header: trimmed, as written."""

    text: str
    delimiter: str
    header: tuple[str, ...]

    def rows(self) -> Iterator[Record]:
        """The rows below the header that aren't empty; raises Unreadable at the first broken one."""
        return islice(filled(records(self.text, self.delimiter)), 1, None)

    def place(self, names: Iterable[str]) -> int | None:
        """The column with the first of these names that the header has, in small letters; raises Unreadable."""
        header = [name.lower() for name in self.header]
        for name in names:
            if header.count(name) > 1:
                raise Unreadable("column_twice", f"The column {name} occurs twice.")
            if name in header:
                return header.index(name)
        return None

    def places(self, columns: Mapping[str, Sequence[str]]) -> dict[str, int]:
        """The places of these columns, without missing ones. columns: their names by key."""
        found = {key: self.place(names) for key, names in columns.items()}
        return {key: place for key, place in found.items() if place is not None}


def decoded(content: bytes) -> Source:
    """The text of a file; raises Unreadable."""
    if len(content) > MOST_BYTES:
        raise Unreadable("too_large", f"The file is too large. The limit is {MOST_BYTES:,} bytes. Import it in parts.")
    mark, encoding = next(((mark, name) for mark, name in _MARKS if content.startswith(mark)), (b"", "utf-8"))
    for name in (encoding, *(["cp1252"] if not mark else [])):
        try:
            text = content[len(mark) :].decode(name)
        except UnicodeDecodeError:
            continue
        if "\0" in text:
            break
        return Source(text, name, mark)
    raise Unreadable(
        "not_text", "The file isn’t a text table. In a spreadsheet, save it as “CSV UTF-8 (comma delimited)”."
    )


def read_table(text: str, known: Collection[str]) -> Table:
    """Find the header and the delimiter; raises Unreadable.

    known: names of columns, in small letters; the delimiter that shows most of them is the file's
    """
    if len(text.encode("utf-8", "replace")) > MOST_BYTES:
        raise Unreadable("too_large", f"The text is too large. The limit is {MOST_BYTES:,} bytes. Import it in parts.")
    tables: list[Table] = []
    broken: list[Unreadable] = []
    says = _before(text)[2]
    for delimiter in (says,) if says in _CELLS else _CELLS:
        try:
            first = next(filled(records(text, delimiter)), None)
        except Unreadable as error:
            broken.append(error)
            continue
        if first is not None:
            tables.append(Table(text, delimiter, tuple(" ".join(cell.value.split()) for cell in first.cells)))
    if not tables:
        raise broken[0] if broken else Unreadable("empty", "The file is empty.")
    return max(tables, key=lambda table: (len({*map(str.lower, table.header)} & {*known}), len(table.header)))


def records(text: str, delimiter: str) -> Iterator[Record]:
    """All rows, also empty ones; raises Unreadable at the first broken one."""
    before = _before(text)
    cell_at, line, rows, count = _CELLS[delimiter], 2 if before[1] else 1, 0, 0
    position = before.end()
    while position < len(text):
        cells: list[Cell] = []
        end, first = delimiter, position
        while end == delimiter:
            found = cell_at(text, position)
            if found is None:
                what = "A quotation mark isn’t closed, or is inside a cell without quotation marks."
                raise Unreadable("quotation", what, line)
            quoted, plain, end = found.groups()
            cells.append(Cell(plain if quoted is None else quoted.replace('""', '"'), position, found.start(3)))
            position = found.end()
            if len(cells) > MOST_COLUMNS:
                raise Unreadable("too_wide", f"This line has more than {MOST_COLUMNS:,} cells.", line)
            if cells[-1].end - cells[-1].start > LONGEST_CELL:
                raise Unreadable("long_cell", f"A cell has more than {LONGEST_CELL:,} characters.", line)
        rows, count = rows + 1, count + len(cells)
        if rows > MOST_ROWS or count > MOST_CELLS:
            raise Unreadable("too_long", f"The file has more than {MOST_ROWS:,} lines or {MOST_CELLS:,} cells.", line)
        yield Record(line, cells)
        line += sum(1 for _ in _END.finditer(text, first, position))


def _before(text: str) -> re.Match[str]:
    found = _BEFORE.match(text)
    assert found is not None  # it may be empty
    return found


def filled(rows: Iterable[Record]) -> Iterator[Record]:
    """Without empty rows."""
    return (row for row in rows if any(cell.value.strip() for cell in row.cells))


def named(header: Iterable[str]) -> str:
    """The header's names, for a message."""
    return ", ".join(f"“{short(name)}”" for name in [*header][:_SHOWN])


def short(text: str) -> str:
    """The text, cut off for a message."""
    return text if len(text) <= 60 else f"{text[:57]}…"
