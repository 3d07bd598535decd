"""A submission's source, line by line, with the findings and the comments at each line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kernels.rendering.page.listing.syntax import Piece, coloured
from server.acts.by_form import shown_form
from server.courses.access import Membership
from server.http.forms import Form
from server.submissions.line_marks import LineMark
from server.talk.comments import Thread

_MOST_LINES = 2_000
_AROUND = 5


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of the source. skipped: how many lines before it aren't shown."""

    number: int
    pieces: Sequence[Piece]
    marks: Sequence[LineMark]
    threads: Sequence[Thread]
    skipped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The lines of a source, and what can be written there.

    whole: threads about the whole submission; after: how many lines aren't shown at the end
    address: of the forms
    owner: the student as the page names them; reader: the reader's ID
    form: of a new comment or a reply; its fields `thread` and `line` say which
    saved: comments to use again, with their IDs; None where there are none
    answerers: emails and names of who can answer questions; none where they can't be given to anyone
    stamp: sent along, where the address doesn't name the submission
    """

    lines: Sequence[SourceLine]
    after: int
    whole: Sequence[Thread]
    address: str
    owner: str
    reader: int
    own: bool
    course: Membership
    form: Form
    saved: Sequence[tuple[int, str]] | None = None
    answerers: Sequence[tuple[str, str]] = ()
    stamp: str = ""

    def giving(self, thread: Thread) -> Form:
        """The form that says who answers a question."""
        person = thread.first.answerer
        return shown_form({"answerer": "" if person is None else person.email})

    def who_can_answer(self, thread: Thread) -> Sequence[tuple[str, str]]:
        """The choices of that form, with its present value."""
        person = thread.first.answerer
        known = dict(self.answerers) if person is None else {person.email: person.name} | dict(self.answerers)
        return [("", "none"), *known.items()]

    @property
    def staff(self) -> bool:
        return self.course.is_staff

    @property
    def writable(self) -> bool:
        return not self.course.archived

    @property
    def time_zone(self) -> str:
        return self.course.time_zone

    @property
    def threads(self) -> Sequence[Thread]:
        return [*self.whole, *(thread for line in self.lines for thread in line.threads)]

    @property
    def writes_at(self) -> int | None:
        """The line with the open form; None for none."""
        return _line_in(self.form)


def listing_of(
    source: bytes, threads: Sequence[Thread], marks: Sequence[LineMark], form: Form, **about: Any
) -> Listing:
    """Make a listing. about: its other fields."""
    whole = [thread for thread in threads if thread.line is None]
    lines, after = _lines_with(source.decode("utf-8", "replace"), threads, marks, _line_in(form))
    return Listing(lines=lines, after=after, whole=whole, form=form, **about)


def _line_in(form: Form) -> int | None:
    line = form["line"]
    return int(line) if line.isascii() and line.isdecimal() and len(line) <= 9 else None


def _lines_with(
    source: str, threads: Sequence[Thread], marks: Sequence[LineMark], open_line: int | None
) -> tuple[Sequence[SourceLine], int]:
    """The lines of the source; of a very long one, those around comments and marks. Also how many follow."""
    by_line: dict[int, list[Thread]] = defaultdict(list)
    marks_by_line: dict[int, list[LineMark]] = defaultdict(list)
    for thread in threads:
        by_line[thread.line or 0].append(thread)
    for mark in marks:
        marks_by_line[mark.line].append(mark)
    pieces = coloured(source)
    numbers: Sequence[int] = range(1, len(pieces) + 1)
    if len(pieces) > _MOST_LINES:
        kept = {1, open_line or 1, *by_line, *marks_by_line}
        near = {number + step for number in kept for step in range(-_AROUND, _AROUND + 1)}
        numbers = [number for number in numbers if number in near]
    shown, last = [], 0
    for number in numbers:
        skipped = number - last - 1
        shown.append(
            SourceLine(number, pieces[number - 1], marks_by_line.get(number, ()), by_line.get(number, ()), skipped)
        )
        last = number
    return shown, len(pieces) - last
