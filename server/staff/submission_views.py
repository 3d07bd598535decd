"""Submissions of the whole course, and having them graded again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from flask import Response, jsonify, render_template, request, url_for

from kernels.verdict import Verdict
from server.courses.models import Role
from server.courses.service import assignments_for
from server.grading.models import JobState
from server.staff import regrading
from server.staff.desk import Desk, acting, asked, back, desk_of, printable, staff
from server.staff.local_time import MomentError, read_moment, zone_named
from server.staff.regrading import Planned, Run, Turned, begin, cancel_waiting, plan, runs, turned
from server.staff.submissions import Asked, Part, listing, newest
from server.submissions.cancelling import revoke
from server.submissions.models import Mode
from server.web.access import Membership, nothing_here, staff_of, viewer
from server.web.forms import Form, filled
from server.web.problems import Refused
from server.web.site import site

_FIELDS = ("assignment", "student", "verdict", "state", "mode", "late", "one", "worker", "since", "until")
_TIMES = ("since", "until")
_CHOICES: dict[str, tuple[tuple[str, str], ...]] = {
    "verdict": (("", "Any verdict"), *((one.value, one.value.replace("_", " ")) for one in Verdict)),
    "state": (("", "Any state"), *((one.value, one.value) for one in JobState)),
    "mode": (("", "Checks and rankings"), (Mode.RANK.value, "For the ranking"), (Mode.CHECK.value, "Checks")),
    "late": (("", "In time and late"), ("yes", "Late"), ("no", "In time")),
}


@dataclass(frozen=True, slots=True)
class SubmissionsPage:
    """query: the filter, for addresses; state: where the list is asked for again; "" on later pages."""

    desk: Desk
    form: Form
    part: Part
    assignments: list[tuple[str, str]]
    query: str
    state: str
    filtered: bool


@dataclass(frozen=True, slots=True)
class ConfirmPage:
    """What would be graded again.

    after, newest: numbers of submissions, between which those are that are meant; rest: where those are that come after
    """

    desk: Desk
    form: Form
    planned: Planned
    words: list[str]
    after: int
    newest: int
    most: int
    rest: str


@dataclass(frozen=True, slots=True)
class RegradePage:
    """How far a regrade is; turned: whose verdict came out otherwise."""

    desk: Desk
    run: Run
    turned: list[Turned]


@dataclass(frozen=True, slots=True)
class RegradesPage:
    """The last regrades."""

    desk: Desk
    runs: list[Run]


@staff.get("/submissions")
def show_submissions(slug: str) -> str:
    """The newest first."""
    course = staff_of(slug)
    page = _listed(course)
    return render_template("staff/submissions.html", page=page, choices=_CHOICES)


@staff.get("/submissions/state")
def submissions_state(slug: str) -> Response:
    """The list as it is now, for a page that stands open."""
    html = render_template("staff/submission_rows.html", page=_listed(staff_of(slug)))
    return jsonify(html=html, final=False)


@staff.get("/regrade")
def confirm_regrade(slug: str) -> str:
    """How many would be graded again, before any is."""
    course = staff_of(slug)
    form = filled({name: asked(name) for name in _FIELDS})
    after, until = _number(asked("after")) or 0, _number(asked("newest"))
    given = _asked(form, course)
    with site().readers.begin() as session:
        until = newest(session) if until is None else until
        planned = plan(session, course.course_id, given, until, after=after, most=regrading.MOST)
    page = ConfirmPage(
        desk_of(course, "submission"), form, planned, _words(form), after, until, regrading.MOST,
        url_for("staff.confirm_regrade", slug=slug, **_rest(form, planned, until)),
    )  # fmt: skip
    return render_template("staff/confirm_regrade.html", page=page)


@staff.post("/regrade")
def regrade_all(slug: str) -> Response:
    """Do it; where there is more than is done at once, on to the rest."""
    course = staff_of(slug)
    form = filled({name: printable(request.form.get(name, ""))[:200] for name in _FIELDS})
    after, until = (_number(request.form.get(name, "")) for name in ("after", "newest"))
    if until is None:
        raise Refused(
            422, "invalid", "This form is incomplete", "Go back, reload the page, and send it again."
        )
    given = _asked(form, course)
    with site().sessions.begin() as session:
        planned = plan(session, course.course_id, given, until, after=after or 0, most=regrading.MOST)
        if planned.count:
            begin(session, planned, acting(session), datetime.now(UTC))
    if planned.more:
        return back("staff.confirm_regrade", slug, "regrade-begun", **_rest(form, planned, until))
    if not planned.count:
        return back("staff.show_submissions", slug)
    with site().readers.begin() as session:
        made = runs(session, course.course_id, 1)
    if len({one.assignment_id for one in planned.submissions}) == 1 and made:
        return back("staff.show_regrade", slug, "regrade-begun", number=made[0].number)
    return back("staff.show_regrades", slug, "regrade-begun")


@staff.get("/regrades")
def show_regrades(slug: str) -> str:
    """The last ones."""
    course = staff_of(slug)
    with site().readers.begin() as session:
        page = RegradesPage(desk_of(course, "submission"), runs(session, course.course_id, 20))
    return render_template("staff/regrades.html", page=page)


@staff.get("/regrades/<int(max=9007199254740991):number>")
def show_regrade(slug: str, number: int) -> str:
    """How far one is."""
    return render_template("staff/regrade.html", page=_regrade(staff_of(slug), number))


@staff.get("/regrades/<int(max=9007199254740991):number>/state")
def regrade_state(slug: str, number: int) -> Response:
    """The same, for a page that stands open."""
    page = _regrade(staff_of(slug), number)
    return jsonify(html=render_template("staff/regrade_progress.html", page=page), final=page.run.over)


@staff.post("/regrades/<int(max=9007199254740991):number>/cancel")
def cancel_regrade(slug: str, number: int) -> Response:
    """End what still waits."""
    course = staff_of(slug)
    run = _regrade(course, number).run
    tickets = cancel_waiting(site().sessions, run, course.course_id, viewer().id)
    revoke(site().settings.redis_url, tickets)
    return back("staff.show_regrade", slug, "regrade-cancelled", number=number)


def _regrade(course: Membership, number: int) -> RegradePage:
    with site().readers.begin() as session:
        found = runs(session, course.course_id, 1, number)
        if not found:
            raise nothing_here()
        return RegradePage(desk_of(course, "submission"), found[0], turned(session, found[0]))


def _listed(course: Membership) -> SubmissionsPage:
    form = filled({name: asked(name) for name in _FIELDS})
    after = asked("after", 40)
    given = _asked(form, course)
    with site().readers.begin() as session:
        part = listing(session, course.course_id, given, after)
        found = assignments_for(session, course.course_id, Role.INSTRUCTOR)
        names = [("", "All assignments"), *((one.slug, one.title) for one in found)]
    filters = _filters(form)
    query = urlencode(filters)
    state = "" if after else f"{url_for('staff.submissions_state', slug=course.slug)}?{query}"
    return SubmissionsPage(
        desk_of(course, "submission"), form, part, names, query, state, bool(filters) or bool(after)
    )


def _asked(form: Form, course: Membership) -> Asked:
    """What an address asks for; a word that is no choice, and a time that is none, asks for nothing in particular."""
    for name, choices in _CHOICES.items():
        if form[name] not in {value for value, _ in choices}:
            form.values[name] = ""
    words = {name: form[name] for name in _FIELDS if name not in _TIMES}
    since, until = (_moment(form, name, course) for name in _TIMES)
    return Asked(**words, since=since, until=until)


def _moment(form: Form, name: str, course: Membership) -> datetime | None:
    try:
        return read_moment(form[name], zone_named(course.time_zone))
    except MomentError:
        form.values[name] = ""
        return None


def _filters(form: Form) -> dict[str, str]:
    return {name: form[name] for name in _FIELDS if form[name]}


def _rest(form: Form, planned: Planned, until: int) -> dict[str, Any]:
    """Which of a filter's submissions come after those that are planned."""
    return {**_filters(form), "after": planned.last, "newest": until}


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 19 else None


def _words(form: Form) -> list[str]:
    """The filter in words."""
    labels = {"one": "submission", "since": "handed in from", "until": "handed in until"}
    return [
        f"{labels.get(name, name)}: {value.replace('_', ' ') if name in _CHOICES else value}"
        for name, value in _filters(form).items()
    ]
