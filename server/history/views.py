"""Pages of a history: list all attempts, compare two, choose the submission that counts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from flask import Blueprint, Response, render_template, request
from markupsafe import Markup
from sqlalchemy import select
from sqlalchemy.orm import Session

from server.accounts.access import existing, nothing_here, viewer
from server.accounts.models import Person
from server.accounts.views import go
from server.assignments.tasks import CourseBar, course_bar, task_of
from server.courses.access import Reader, assignment_for, reader_of
from server.courses.models import Assignment
from server.history.chart import chart
from server.history.comparison import Compared, Figure, compared, figures
from server.history.queries import Asked, Attempt, History, history_of
from server.history.service import NotChoosable, choose
from server.history.source_diff import SourceDiff, in_colours, source_diff
from server.http.concurrency_limit import check_slow_work
from server.http.problems import Refused
from server.http.site import site
from server.submissions.models import Submission
from server.teams.credit import counts_for, teams_of

history_pages = Blueprint("history_pages", __name__)

_NUMBER = re.compile(r"[0-9]{1,12}")
_PAGE = re.compile(r"[0-9]{1,6}")
_NAME = re.compile(r"[0-9a-zA-Z]{1,32}")


@dataclass(frozen=True, slots=True)
class Place:
    """The assignment and student of a page.

    student, student_name: 0 and "" on the reader's own pages
    zone: the course's time zone
    """

    course: str
    course_title: str
    assignment: str
    title: str
    zone: str
    student: int
    student_name: str

    @property
    def address(self) -> str:
        return f"/courses/{self.course}/{self.assignment}/"

    def to(self, which: str, **query: object) -> str:
        given = {name: value for name, value in query.items() if value}
        asked = urlencode(given | ({"student": self.student} if self.student else {}))
        return f"{self.address}{which}{'?' if asked else ''}{asked}"


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """A page of a history.

    bar: None for course staff
    newer, older: the numbers of the pages before and after; 0 for none
    rows: the attempts on this page, the newest first
    charted: the number of attempts in the chart
    left, right: the picked attempts to compare
    picked: picked attempts that are on another page
    """

    place: Place
    bar: CourseBar | None
    history: History
    rows: tuple[Attempt, ...]
    chart: Markup | None
    charted: int
    left: str
    right: str
    picked: tuple[Attempt, ...]
    newer: int
    older: int


@dataclass(frozen=True, slots=True)
class ComparePage:
    """A comparison page.

    captions: whose each side is and of which assignment; "" if both sides are of one student and assignment
    whole: the address that shows all lines; "" if this page does
    turned: the address with the sides swapped
    """

    place: Place
    left: Compared
    right: Compared
    captions: tuple[str, str]
    figures: tuple[Figure, ...]
    diff: SourceDiff
    whole: str
    turned: str


@dataclass(frozen=True, slots=True)
class _Side:
    """An attempt to compare, with its assignment and student."""

    assignment: Assignment
    person: int
    attempt: Attempt


@history_pages.get("/courses/<slug>/<assignment>/history")
def show_history(slug: str, assignment: str) -> str:
    reader = reader_of(slug, assignment)
    with site().readers.begin() as session:
        found = assignment_for(session, reader)
        person = _whose(session, reader, found)
        place = _place(session, reader, found, person)
        bar = course_bar(session, reader)
        task = task_of(session, found, person) if bar is None else bar.task
        own = person == reader.viewer.id
        asked = Asked(own=own, staff=reader.course.is_staff, page=_page(), names=_names())
        history = history_of(session, found, person, task.deadlines, task.grade, asked)
    rows, charted = history.rows, history.charted
    known = {attempt.public_id: attempt for attempt in history.attempts}
    newest = [row.public_id for row in rows[:2]]
    left, right = _picked("left", known, newest[1:]), _picked("right", known, newest)
    on_page = {each.public_id for each in rows}
    page = HistoryPage(
        place=place,
        bar=bar,
        history=history,
        rows=rows,
        chart=chart(charted, history.best_before, history.metric, modelled=history.modelled),
        charted=len(charted),
        left=left,
        right=right,
        picked=tuple(known[name] for name in dict.fromkeys((right, left)) if name and name not in on_page),
        newer=history.page - 1,
        older=history.page + 1 if history.page < history.pages else 0,
    )
    return render_template("history/history.html", page=page)


@history_pages.get("/courses/<slug>/<assignment>/compare")
def show_comparison(slug: str, assignment: str) -> str:
    reader = reader_of(slug, assignment)
    names = request.args.get("left", ""), request.args.get("right", "")
    with site().readers.begin() as session:
        found = assignment_for(session, reader)
        left_of, right_of = (_side(session, reader, found, name) for name in names)
        place = _place(session, reader, left_of.assignment, left_of.person)
        check_slow_work()
        left, right = (compared(session, side.attempt, staff=reader.course.is_staff) for side in (left_of, right_of))
        alike = left_of.assignment.exercise.digest == right_of.assignment.exercise.digest
        metric = left_of.attempt.metric
        captions = _captions(session, left_of, right_of)
    whole = request.args.get("whole") == "yes"
    diff = source_diff(left.source, right.source, whole=whole, go_on=check_slow_work)
    diff = in_colours(diff, left.source, right.source)
    page = ComparePage(
        place=place,
        left=left,
        right=right,
        captions=captions,
        figures=figures(left, right, metric) if alike else (),
        diff=diff,
        whole=place.to("compare", left=names[0], right=names[1], whole="yes")
        if any(row.hidden for row in diff.rows)
        else "",
        turned=place.to("compare", left=names[1], right=names[0]),
    )
    return render_template("history/compare.html", page=page)


@history_pages.post("/submissions/<public_id>/choose")
def choose_one(public_id: str) -> Response:
    who = viewer()
    try:
        with site().sessions.begin() as session:
            assignment = existing(choose(session, who.id, public_id)).assignment
            address = f"/courses/{assignment.course.slug}/{assignment.slug}/history?notice=chosen"
    except NotChoosable as error:
        raise Refused(409, "not_choosable", "This submission can't be chosen", str(error)) from error
    return go(address)


def _page() -> int:
    asked = request.args.get("page", "1")
    return int(asked) if _PAGE.fullmatch(asked) else 1


def _names() -> tuple[str, ...]:
    """The attempts that the address picks."""
    return tuple(filter(_NAME.fullmatch, (request.args.get("left", ""), request.args.get("right", ""))))


def _picked(side: str, known: Mapping[str, Attempt], otherwise: Sequence[str]) -> str:
    """The attempt that the address picks for a side, otherwise the first of the others; "" for none."""
    asked = request.args.get(side, "")
    return asked if asked in known else next(iter(otherwise), "")


def _whose(session: Session, reader: Reader, assignment: Assignment) -> int:
    """The ID of the reader or, for course staff, of the named student if they have any submission here."""
    asked = request.args.get("student", "")
    if not asked:
        return reader.viewer.id
    if not _NUMBER.fullmatch(asked):
        raise nothing_here()
    number = int(asked)
    if number == reader.viewer.id:
        return number
    theirs = counts_for(number, teams_of(session, [assignment], number))
    submissions = select(Submission.id).where(Submission.assignment_id == assignment.id, theirs)
    if not reader.course.is_staff or session.scalar(submissions.limit(1)) is None:
        raise nothing_here()
    return number


def _side(session: Session, reader: Reader, assignment: Assignment, name: str) -> _Side:
    """The named attempt: the reader's own at this assignment or, for course staff, anyone's in the course."""
    wanted = select(Submission).join(Submission.assignment).where(Submission.public_id == name)
    if reader.course.is_staff:
        wanted = wanted.where(Assignment.course_id == reader.course.course_id)
    else:
        mine = counts_for(reader.viewer.id, teams_of(session, [assignment], reader.viewer.id))
        wanted = wanted.where(Assignment.id == assignment.id, mine)
    submission = session.scalar(wanted) if name.isascii() and name.isalnum() else None
    if submission is None:
        raise _not_two(_place(session, reader, assignment, reader.viewer.id))
    person = submission.person_id if reader.course.is_staff else reader.viewer.id
    task = task_of(session, submission.assignment, person)
    asked = Asked(own=False, page=None, names=(submission.public_id,))
    history = history_of(session, submission.assignment, person, task.deadlines, task.grade, asked)
    return _Side(submission.assignment, person, history.attempts[0])


def _captions(session: Session, left: _Side, right: _Side) -> tuple[str, str]:
    if (left.assignment.id, left.person) == (right.assignment.id, right.person):
        return "", ""
    return _caption(session, left), _caption(session, right)


def _caption(session: Session, side: _Side) -> str:
    person = session.get_one(Person, side.person)
    return f"{person.name} ({person.email}), {side.assignment.title}"


def _place(session: Session, reader: Reader, assignment: Assignment, person: int) -> Place:
    other = person != reader.viewer.id
    return Place(
        course=reader.course.slug,
        course_title=reader.course.title,
        assignment=assignment.slug,
        title=assignment.title,
        zone=reader.course.time_zone,
        student=person if other else 0,
        student_name=session.get_one(Person, person).name if other else "",
    )


def _not_two(place: Place) -> Refused:
    return Refused(
        404, "not_found", "These attempts can't be compared",
        "Open the list of submissions. Choose one left circle and one right circle.",
    )  # fmt: skip
