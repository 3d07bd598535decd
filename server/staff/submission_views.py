"""Submissions of the whole course, and having them graded again."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from urllib.parse import urlencode

from flask import Response, jsonify, render_template, request, url_for

from kernels.verdict import Verdict
from server.courses.models import Role
from server.courses.service import assignments_for
from server.grading.models import JobState
from server.staff import regrading
from server.staff.desk import Desk, acting, asked, back, desk_of, printable, staff
from server.staff.regrading import Planned, Run, Turned, begin, cancel_waiting, plan, runs, turned
from server.staff.submissions import Asked, Part, listing, newest
from server.submissions.cancelling import revoke
from server.submissions.models import Mode
from server.web.access import Membership, nothing_here, staff_of, viewer
from server.web.forms import Form, filled
from server.web.problems import Refused
from server.web.site import site

_FIELDS = ("assignment", "student", "verdict", "state", "mode", "late", "one")
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
    """What would be graded again. until: the number of the last submission that is meant."""

    desk: Desk
    form: Form
    planned: Planned
    words: list[str]
    until: int
    most: int


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
    with site().readers.begin() as session:
        until = newest(session)
        planned = plan(session, course.course_id, _asked(form), until)
    desk = desk_of(course, "submission")
    page = ConfirmPage(desk, form, planned, _words(form), until, regrading.MOST)
    return render_template("staff/confirm_regrade.html", page=page)


@staff.post("/regrade")
def regrade_all(slug: str) -> Response:
    """Do it."""
    course = staff_of(slug)
    form = filled({name: printable(request.form.get(name, ""))[:200] for name in _FIELDS})
    until = request.form.get("until", "")
    if not until.isdecimal() or len(until) > 18:
        raise Refused(
            422, "invalid", "This form is incomplete", "Go back, reload the page, and send it again."
        )
    with site().sessions.begin() as session:
        planned = plan(session, course.course_id, _asked(form), int(until))
        if planned.count:
            begin(session, planned, acting(session), datetime.now(UTC))
    if not planned.count:
        return back("staff.show_submissions", slug)
    with site().readers.begin() as session:
        made = runs(session, course.course_id, 2)
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
    with site().readers.begin() as session:
        part = listing(session, course.course_id, _asked(form), after)
        found = assignments_for(session, course.course_id, Role.INSTRUCTOR)
        names = [("", "All assignments"), *((one.slug, one.title) for one in found)]
    given = {name: form[name] for name in _FIELDS if form[name]}
    query = urlencode(given)
    state = "" if after else f"{url_for('staff.submissions_state', slug=course.slug)}?{query}"
    return SubmissionsPage(
        desk_of(course, "submission"), form, part, names, query, state, bool(given) or bool(after)
    )


def _asked(form: Form) -> Asked:
    """What an address asks for; a word that is no choice asks for nothing in particular."""
    for name, choices in _CHOICES.items():
        if form[name] not in {value for value, _ in choices}:
            form.values[name] = ""
    return Asked(**{name: form[name] for name in _FIELDS})


def _words(form: Form) -> list[str]:
    """The filter in words."""
    given = asdict(_asked(form))
    labels = {"one": "submission", "late": "late"}
    return [f"{labels.get(name, name)}: {value.replace('_', ' ')}" for name, value in given.items() if value]
