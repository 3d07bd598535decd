"""The page of one student."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from flask import Response, render_template
from markupsafe import Markup
from sqlalchemy.orm import Session

from server.accounts.access import nothing_here, viewer
from server.acts.act import Target
from server.acts.by_form import change_by_form, form_now
from server.assignments.accommodations import ACCOMMODATION
from server.courses.access import Membership, staff_of
from server.courses.local_time import zone_named
from server.courses.models import StaffNote
from server.courses.staff_pages import Desk, acting, asked, back, desk_of, mistakes_noted, staff, the_course
from server.http.forms import Form, filled, sent
from server.http.site import site
from server.roster.service import Member, find_member
from server.roster.students import Student, add_staff_note, read_notes, read_student, remove_staff_note
from server.roster.timeline import Event, Kind, Lane, read_timeline
from server.roster.timeline_chart import LEGEND, Span, axis_plot, lane_plot, legend_mark, span_of, ticks_of
from server.roster.view_as import begin_view, end_view
from server.submissions.course_submissions import Part, listing
from server.submissions.criteria import SubmissionCriteria


@dataclass(frozen=True, slots=True)
class StudentPage:
    """A student's page. part: the newest attempts at all assignments; form: for a note; time_form: for more time."""

    desk: Desk
    student: Student
    part: Part
    notes: Sequence[StaffNote]
    form: Form
    time_form: Form


MOST_EVENTS = 500
"""Events in the table of a timeline."""


@dataclass(frozen=True, slots=True)
class TimelinePage:
    """A student's timeline. events: the newest first; more: how many are left out."""

    desk: Desk
    member: Member
    lanes: Sequence[Lane]
    span: Span | None
    plots: Sequence[tuple[Lane, Markup]]
    axis: Markup
    events: Sequence[tuple[Lane, Event]]
    more: int
    legend: Sequence[tuple[Kind, str]] = LEGEND


@staff.get("/students/<int(max=9007199254740991):person>")
def show_student(slug: str, person: int) -> str:
    """Show a student's points, extensions, attempts and notes."""
    return _page(staff_of(slug), person, filled({}))


@staff.get("/students/<int(max=9007199254740991):person>/timeline")
def show_timeline(slug: str, person: int) -> str:
    """Show all that happened to a student, on one time axis."""
    course, now = staff_of(slug), datetime.now(UTC)
    with site().readers.begin() as session:
        member = _member(session, course, person)
        lanes = read_timeline(session, course.course_id, person)
        span = span_of(lanes)
        ticks = [] if span is None else ticks_of(span, zone_named(course.time_zone))
        events = sorted(((lane, each) for lane in lanes for each in lane.events), key=lambda one: one[1].at)[::-1]
        page = TimelinePage(
            desk_of(course, "roster"), member, lanes, span,
            [] if span is None else [(lane, lane_plot(lane, span, ticks, now)) for lane in lanes],
            axis_plot(ticks), events[:MOST_EVENTS], max(0, len(events) - MOST_EVENTS),
        )  # fmt: skip
        return render_template("roster/timeline.html", page=page, legend_mark=legend_mark)


@staff.post("/students/<int(max=9007199254740991):person>/notes")
def add_note(slug: str, person: int) -> Response | tuple[str, int]:
    """Add a note about a student."""
    course = staff_of(slug)
    form = sent("note")
    with mistakes_noted(form, "note"), site().sessions.begin() as session:
        _member(session, course, person)
        add_staff_note(session, course.course_id, person, acting(session), form["note"])
    if form.right:
        return back("staff.show_student", slug, "note-added", person=person)
    return _page(course, person, form), 422


@staff.post("/students/<int(max=9007199254740991):person>/notes/<int(max=9007199254740991):number>/remove")
def remove_note(slug: str, person: int, number: int) -> Response:
    """Remove a note."""
    course = staff_of(slug)
    with site().sessions.begin() as session:
        _member(session, course, person)
        remove_staff_note(session, course.course_id, person, number, acting(session))
    return back("staff.show_student", slug, "note-removed", person=person)


@staff.post("/students/<int(max=9007199254740991):person>/more-time")
def change_more_time(slug: str, person: int) -> Response | tuple[str, int]:
    """Change a student's accommodation."""

    def find(session: Session, course: Membership, _: Form) -> Target:
        return Target(the_course(session, course), people=(_member(session, course, person).person_id,))

    done = partial(back, "staff.show_student", slug, "more-time-changed", person=person)
    return change_by_form(
        ACCOMMODATION, slug, find, done,
        lambda _session, course, _on, form: _page(course, person, filled({}), form),
    )  # fmt: skip


@staff.post("/students/<int(max=9007199254740991):person>/view")
def view_as_student(slug: str, person: int) -> Response:
    """Look at the course as this student."""
    course = staff_of(slug)
    with site().sessions.begin() as session:
        begin_view(session, course.course_id, acting(session), viewer().session_id, person)
    return Response(status=303, headers={"Location": f"/courses/{slug}/"})


@staff.post("/students/stop-viewing")
def stop_viewing(slug: str) -> Response:
    """End the view as a student."""
    course = staff_of(slug)
    with site().sessions.begin() as session:
        person = end_view(session, course.course_id, acting(session), viewer().session_id)
    if person is None:
        return back("staff.show_roster", slug, "view-ended")
    return back("staff.show_student", slug, "view-ended", person=person)


def _page(course: Membership, person: int, form: Form, time_form: Form | None = None) -> str:
    with site().readers.begin() as session:
        member = _member(session, course, person)
        on = Target(the_course(session, course), people=(person,))
        page = StudentPage(
            desk_of(course, "roster"), read_student(session, course.course_id, member),
            listing(session, course.course_id, SubmissionCriteria(person=person), asked("after", 40)),
            read_notes(session, course.course_id, person), form,
            time_form or form_now(ACCOMMODATION, session, on),
        )  # fmt: skip
        return render_template("roster/student.html", page=page, fields=ACCOMMODATION.by_name)


def _member(session: Session, course: Membership, person: int) -> Member:
    found = find_member(session, course.course_id, person)
    if found is None:
        raise nothing_here()
    return found
