"""The pages of progress: all assignments, and what happens at one of them."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import quote
from zoneinfo import ZoneInfo

from flask import Response, render_template, request
from sqlalchemy import Select, and_, func, literal, select, union_all
from sqlalchemy.orm import Session

from kernels.exercise.model import Metric
from kernels.rendering.page.experiment_page import PlotView
from server.assignments.staff_views import assignment_of
from server.audit.service import note
from server.class_progress.failures import Failing, failures
from server.class_progress.forecast import forecast
from server.class_progress.listed import PARTS, Listed, ProgressLine, listed, students_csv
from server.class_progress.scores import Scores, scores
from server.class_progress.states import Bar, bars, states_of, stuck, students_in
from server.courses.access import Membership, staff_of
from server.courses.models import Assignment, Role
from server.courses.staff_pages import Desk, acting, asked, desk_of, looked_for, staff
from server.grades.grade import Grade
from server.grades.gradebook import gradebook
from server.grades.points import measured_rungs
from server.grading.metric import UNITS, metric_of
from server.http.forms import Form
from server.http.numbers import zone_of
from server.http.problems import Refused
from server.http.site import site
from server.roster.service import Wanted, roster
from server.roster.views import Part, csv_answer, part_of, sections_of
from server.standings.class_speeds import Bin, Mark, bins, histogram
from server.standings.models import Standing
from server.submissions.models import Submission


@dataclass(frozen=True, slots=True)
class Speeds:
    """Each student's best accepted kernel on the assignment's device class. marked: whether it has a ladder."""

    device_class: str
    unit: str
    students: int
    median: str
    best: str
    bins: tuple[Bin, ...]
    marked: bool
    plot: PlotView


def speeds(session: Session, assignment: Assignment, students: Select[int]) -> Speeds | None:
    """The distribution among these students; None if nothing was measured."""
    if not assignment.device_class:
        return None
    metric = metric_of(assignment.exercise)
    scores = session.scalars(
        select(Standing.score).where(
            Standing.assignment_id == assignment.id, Standing.device_class == assignment.device_class,
            Standing.before_freeze.is_(False), Standing.person_id.in_(students),
        )
    )  # fmt: skip
    values = sorted(abs(score) for score in scores if score)
    if not values:
        return None
    marks = _marks(assignment) if metric is Metric.GFLOPS else []
    found = bins(values, marks)
    unit = UNITS[metric]
    rows = [(one.label, one.students) for one in found]
    plot = histogram("speeds", "Students by speed", f"Best accepted kernel, {unit}", "Students", rows)
    best = values[0] if metric is Metric.TIME else values[-1]
    middle = statistics.median(values)
    return Speeds(
        assignment.device_class, unit, len(values), f"{_edge(middle)} {unit}", f"{_edge(best)} {unit}", found,
        bool(marks), plot,
    )  # fmt: skip


def _edge(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or not value else f"{value:.3g}"


def _marks(assignment: Assignment) -> list[Mark]:
    """The measured rungs at the ranking size; none for a course's own exercise."""
    exercise = assignment.exercise
    shipped = exercise.course_id is None
    rungs = measured_rungs(exercise.name, exercise.definition, assignment.device_class, shipped=shipped)
    return [(f"rung {rung.number}, {rung.title}", speed) for rung, speed in rungs]


_DAYS = 21
_AFTER = timedelta(days=3)


@dataclass(frozen=True, slots=True)
class Activity:
    """The last days with their number of submissions and checks. more: whether there were earlier ones."""

    plot: PlotView
    total: int
    more: bool


def activity(
    session: Session, assignment: Assignment, students: Select[int], zone: ZoneInfo, now: datetime
) -> Activity | None:
    """The last three weeks, up to today or a few days after the deadline; None without any submission."""
    mine = and_(Submission.assignment_id == assignment.id, Submission.person_id.in_(students))
    first = session.scalar(select(func.min(Submission.created_at)).where(mine))
    if first is None:
        return None
    due_at = assignment.due_at
    last = min(now, max(first, due_at) + _AFTER) if due_at is not None else now
    end = last.astimezone(zone).date()
    begin = max(first.astimezone(zone).date(), end - timedelta(days=_DAYS - 1))
    days = [begin + timedelta(days=number) for number in range((end - begin).days + 1)]
    edges = [datetime(day.year, day.month, day.day, tzinfo=zone) for day in [*days, end + timedelta(days=1)]]
    # One range of an index for each day.
    counts = union_all(*(
        select(literal(place).label("place"), func.count().label("count"))
        .select_from(Submission)
        .where(mine, Submission.created_at >= start, Submission.created_at < stop)
        for place, (start, stop) in enumerate(itertools.pairwise(edges))
    ))  # fmt: skip
    found = {place: count for place, count in session.execute(counts)}  # noqa: C416 - typed so
    due = None if due_at is None else due_at.astimezone(zone).date()
    labels = [f"{day:%d %b}{', due' if day == due else ''}" for day in days]
    rows = [(label, found[place]) for place, label in enumerate(labels)]
    plot = histogram("activity", "Submissions and checks by day", "Day", "Submissions and checks", rows)
    return Activity(plot, sum(found.values()), first.astimezone(zone).date() < begin)


@dataclass(frozen=True, slots=True)
class AllProgressPage:
    """The bars of all assignments that students can see."""

    desk: Desk
    bars: list[Bar]


@dataclass(frozen=True, slots=True)
class ProgressPage:
    """One assignment. stuck: the number of students who seem stuck; forecast: "" without a deadline ahead."""

    desk: Desk
    form: Form
    sections: Sequence[tuple[str, str]]
    bar: Bar
    stuck: int
    failures: tuple[Failing, ...]
    scores: Scores
    speeds: Speeds | None
    activity: Activity | None
    forecast: str

    @property
    def assignment(self) -> Assignment:
        return self.bar.assignment


@staff.get("/progress")
def show_all_progress(slug: str) -> str:
    course = staff_of(slug)
    with site().readers.begin() as session:
        page = AllProgressPage(desk_of(course, "progress"), bars(session, course.course_id, datetime.now(UTC)))
    return render_template("class_progress/progress.html", page=page)


@staff.get("/progress/<assignment>")
def show_progress(slug: str, assignment: str) -> str | tuple[str, int]:
    """Show the whole class or one section. An unknown section is a mistake, and the class is shown."""
    course = staff_of(slug)
    form, now = looked_for(request.args, "section"), datetime.now(UTC)
    with site().readers.begin() as session:
        one = assignment_of(session, course, assignment)
        there_are = sections_of(session, course.course_id)
        form.choose("section", there_are)
        section = form["section"] if form.right else ""
        members = roster(session, course.course_id, Wanted("", Role.STUDENT, section))
        here = {member.person_id for member in members}
        states = [each for each in states_of(session, course.course_id, [one])[one.id] if each.person_id in here]
        bar, students = Bar.of(one, states), students_in(course.course_id, section)
        page = ProgressPage(
            desk_of(course, "progress"), form, there_are, bar,
            len(stuck(session, one, states, now)), failures(session, one, students), scores(session, one, members),
            speeds(session, one, students), activity(session, one, students, zone_of(course.time_zone), now),
            forecast(session, bar, now),
        )  # fmt: skip
    html = render_template("class_progress/progress_assignment.html", page=page)
    return html if form.right else (html, 422)


_MAILTO_CHARACTERS = 1_800
"""Longer addresses are cut off by some browsers and mail programs."""

_MOST_MESSAGES = 12
"""With more, the addresses are copied."""


@dataclass(frozen=True, slots=True)
class Message:
    """An e-mail to some students as hidden recipients. first, last: their numbers in the list."""

    address: str
    first: int
    last: int


def messages_to(emails: Sequence[str]) -> tuple[Message, ...]:
    """E-mails to all of them, each with as many recipients as fit into an address."""
    made: list[Message] = []
    for number, email in enumerate(emails, start=1):
        written = quote(email, safe="@")
        if made and len(longer := f"{made[-1].address},{written}") <= _MAILTO_CHARACTERS:
            made[-1] = Message(longer, made[-1].first, number)
        else:
            made.append(Message(f"mailto:?bcc={written}", number, number))
    return tuple(made)


@dataclass(frozen=True, slots=True)
class StudentsPage:
    """A page of the students of a part.

    grades: of the page's students, by the person's ID
    emails: of all students of the part; messages: to all of them, empty if these are too many
    """

    desk: Desk
    assignment: Assignment
    form: Form
    sections: Sequence[tuple[str, str]]
    found: Listed
    part: Part
    lines: Sequence[ProgressLine]
    grades: Mapping[int, Grade]
    emails: str
    messages: Sequence[Message]

    @property
    def title(self) -> str:
        return dict(PARTS).get(self.form["part"], "")


@staff.get("/progress/<assignment>/students")
def show_progress_students(slug: str, assignment: str) -> str | tuple[str, int]:
    course = staff_of(slug)
    form = _asked()
    with site().readers.begin() as session:
        one = assignment_of(session, course, assignment)
        there_are = sections_of(session, course.course_id)
        form.choose("section", there_are)
        found = _listed(session, course, one, form) if form.right else Listed(one, [], {}, {})
        part = part_of(found.members, asked("page", 6))
        lines = tuple(found.lines(session, part.members))
        book = gradebook(session, course.course_id, part.members, slugs=[one.slug])
        grades = {line.member.person_id: cell.grade for line in book.lines for cell in line.cells}
        emails = [member.email for member in found.members]
        messages = messages_to(emails)
        page = StudentsPage(
            desk_of(course, "progress"), one, form, there_are, found, part, lines, grades, ", ".join(emails),
            messages if len(messages) <= _MOST_MESSAGES else (),
        )  # fmt: skip
        html = render_template("class_progress/progress_students.html", page=page, parts_offered=PARTS)
    return html if form.right else (html, 422)


@staff.get("/progress/<assignment>/students.csv")
def export_progress_students(slug: str, assignment: str) -> Response:
    course = staff_of(slug)
    form = _asked()
    with site().readers.begin() as session:
        one = assignment_of(session, course, assignment)
        form.choose("section", sections_of(session, course.course_id))
        if not form.right:
            raise Refused(422, "invalid", "Invalid filter", " ".join(form.mistakes.values()))
        found = _listed(session, course, one, form)
        text = students_csv(session, found)
    with site().sessions.begin() as session:
        note(
            session, acting(session), "roster.exported", f"assignment {course.slug}/{one.slug}",
            course_id=course.course_id, people=len(found.members),
        )  # fmt: skip
    return csv_answer(text, f"{course.slug}-{one.slug}-{form['part'] or 'students'}.csv")


def _asked() -> Form:
    form = looked_for(request.args, "part", "text", "section")
    form.choose("part", PARTS)
    return form


def _listed(session: Session, course: Membership, assignment: Assignment, form: Form) -> Listed:
    wanted = Wanted(form["text"], Role.STUDENT, form["section"])
    return listed(session, course.course_id, assignment, form["part"], wanted, datetime.now(UTC))
