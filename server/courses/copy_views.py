"""The page that copies a course, with the dates of all assignments before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from datetime import date, datetime

from flask import Response, render_template, request
from sqlalchemy.orm import Session

from server.accounts.access import course_creator
from server.courses.access import Membership, instructor_of
from server.courses.creation import Dates, MovedDates, check_dates, copy_course, days_until, first_day, moved_dates
from server.courses.local_time import read_moment, typed, zone_named
from server.courses.models import Course
from server.courses.service import CourseError
from server.courses.staff_pages import Desk, acting, back, desk_of, mistakes_noted, staff, the_course
from server.http.forms import Form, filled, sent
from server.http.site import site


@dataclass(frozen=True, slots=True)
class CopyPage:
    """The form for a copy.

    first: the first day with a date in the course; None for none
    dates: each assignment's times before and after, with the names of their fields; None before they are asked for
    days: by how much they move
    weeks: the nearest shifts that keep the weekdays, in days; none if the present one does
    """

    desk: Desk
    form: Form
    first: date | None
    dates: Sequence[MovedDates] | None = None
    days: int = 0
    weeks: Sequence[int] = ()


@staff.get("/copy")
def new_copy(slug: str) -> str:
    """Show the form for a copy of the course."""
    course = _allowed(slug)
    return _copy_page(course, filled({"title": course.title}))


@staff.post("/copy")
def make_copy(slug: str) -> str | Response | tuple[str, int]:
    """Show the dates of the copy, or make it. The reader becomes its instructor."""
    course = _allowed(slug)
    form = sent("slug", "title", "starts", "days", "preview", "shown")
    if form["preview"] not in {"", "yes"}:
        form.values |= {"days": form["preview"], "starts": ""}
    days, made, found = 0, "", None
    with mistakes_noted(form, "slug"), site().sessions.begin() as session:
        source, actor = the_course(session, course), acting(session)
        days = _days(session, source, form)
        if form.right:
            found = moved_dates(session, source, days)
            dates = _shown_dates(form, found, source, days)
            if form.right and not form["preview"]:
                made = copy_course(
                    session, source, actor, form["slug"], form["title"], days=days, dates=dates, instructor=actor
                ).slug
    if made and form.right:
        return back("staff.show_assignments", made, "course-copied")
    shows = found is not None and bool(form["shown"] or form["preview"])
    page = _copy_page(course, form, days if shows else None)
    return page if form.right else (page, 422)


_TIMES = ("opens", "due", "closes")


def _shown_dates(form: Form, found: Sequence[MovedDates], source: Course, days: int) -> dict[str, Dates]:
    """The times in the table, if it was of the present shift. Otherwise fills in those of this shift."""
    if form["shown"] == str(days):
        return _sent_dates(form, found, source)
    if form["shown"] or form["preview"]:
        _fill_in(form, found, source)
    if form["shown"] and not form["preview"]:
        form.mistake("days", "The table had the dates of another shift. Look at the new ones, then copy.")
    return {}


def _fill_in(form: Form, found: Sequence[MovedDates], source: Course) -> None:
    """Add a field for each time of each assignment."""
    zone = zone_named(source.time_zone)
    for each in found:
        for name, at in zip(_TIMES, astuple(each.now), strict=True):
            form.values[f"{name}-{each.assignment.slug}"] = typed(at, zone)


def _sent_dates(form: Form, found: Sequence[MovedDates], source: Course) -> dict[str, Dates]:
    """The times in the table; adds mistakes to the form. The table may lack an assignment that was made meanwhile."""
    zone, made = zone_named(source.time_zone), {}
    for each in found:
        slug = each.assignment.slug
        if f"due-{slug}" not in request.form:
            continue
        given = sent(*(f"{name}-{slug}" for name in _TIMES))
        form.values |= given.values
        times: dict[str, datetime | None] = {}
        for name, was in zip(_TIMES, astuple(each.now), strict=True):
            with mistakes_noted(form, f"{name}-{slug}"):
                times[name] = read_moment(given[f"{name}-{slug}"], zone, was)
        if len(times) == len(_TIMES):
            made[slug] = Dates(*times.values())
            try:
                check_dates(made[slug])
            except CourseError as error:
                form.mistake(f"{error.fields[0]}-{slug}", f"{each.assignment.title}: {error}")
    return made


def _allowed(slug: str) -> Membership:
    course = instructor_of(slug)
    course_creator()
    return course


def _days(session: Session, source: Course, form: Form) -> int:
    """By how many days all dates move; adds mistakes to the form."""
    if form["days"] and form["starts"]:
        form.mistake("days", "Enter a first day or a number of days, not both.")
    elif form["starts"]:
        try:
            return days_until(session, source, date.fromisoformat(form["starts"]))
        except ValueError as error:
            text = str(error) if isinstance(error, CourseError) else "Write the day like 2027-01-18."
            form.mistake("starts", text)
    return form.whole("days")


def _copy_page(course: Membership, form: Form, days: int | None = None) -> str:
    """days: of the table with all dates; None for no table."""
    with site().readers.begin() as session:
        source = the_course(session, course)
        dates = None if days is None else moved_dates(session, source, days)
        weeks = [days - days % 7, days - days % 7 + 7] if days and days % 7 else []
        page = CopyPage(desk_of(course, "overview"), form, first_day(session, source), dates, days or 0, weeks)
        return render_template("courses/copy_course.html", page=page, times=_TIMES)
