"""A course's submissions on a page for its staff: filtered, regraded, cancelled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from flask import Response, jsonify, render_template, request, url_for
from sqlalchemy.orm import Session

from server.accounts.access import nothing_here, viewer
from server.acts.field import Field, read
from server.courses.access import Membership, staff_of
from server.courses.local_time import zone_named
from server.courses.models import Role
from server.courses.service import assignments_for, is_device_class
from server.courses.staff_pages import Desk, acting, asked, back, confirmed, desk_of, looked_for, staff
from server.fleet.service import device_classes
from server.http.forms import Form, number_of
from server.http.problems import Refused
from server.http.site import site
from server.regrades import service
from server.regrades.service import (
    ChangedVerdict,
    MayLowerPoints,
    Planned,
    Regrade,
    Risk,
    begin,
    begin_staged,
    cancel_waiting,
    changed_verdicts,
    plan,
    regrade_risks,
    risk_digest,
    runs,
)
from server.regrades.staging import StagedRegradeAnswer, staged_in
from server.submissions.changes import revoke
from server.submissions.course_submissions import Part, listing, newest
from server.submissions.criteria import FIELDS, SubmissionCriteria
from server.submissions.service import CPU

_LINKED = "submission"
Choices = Mapping[str, tuple[tuple[str, str], ...]]
"""The choices of each select field: values and titles."""


@dataclass(frozen=True, slots=True)
class Filter:
    """The form's values and the query. If the form has mistakes, the query must not be used."""

    form: Form
    asked: SubmissionCriteria
    choices: Choices

    @property
    def fields(self) -> list[Field]:
        """The fields to show. A single submission is only chosen by links."""
        return [
            field for field in FIELDS if field.name != _LINKED or self.form[_LINKED] or _LINKED in self.form.mistakes
        ]

    @property
    def given(self) -> dict[str, str]:
        return {field.name: self.form[field.name] for field in FIELDS if self.form[field.name]}

    @property
    def around(self) -> dict[str, str]:
        """The filter without a single submission: the list that contains it."""
        return {name: value for name, value in self.given.items() if name != _LINKED}

    @property
    def words(self) -> list[str]:
        return [
            f"{field.asked.label.lower()}: {dict(self.choices.get(field.name, ())).get(value, value)}"
            for field in FIELDS
            if (value := self.form[field.name])
        ]


def read_filter(session: Session, course: Membership, given: Mapping[str, str], now: datetime) -> Filter:
    """Read the filter; adds mistakes to the form."""
    form = looked_for(given, *(each.name for each in FIELDS))
    choices = _choices(session, course, form["device"], now)
    for name, offered in choices.items():
        form.choose(name, offered)
    values = {field.name: _value(form, field, course) for field in FIELDS}
    return Filter(form, SubmissionCriteria(**values), choices)


def _choices(session: Session, course: Membership, device: str, now: datetime) -> Choices:
    """device: the requested class, which may be gone from all assignments and workers."""
    assignments = assignments_for(session, course.course_id, Role.INSTRUCTOR)
    classes = {assignment.device_class for assignment in assignments} | set(device_classes(session, now))
    if is_device_class(device):
        classes.add(device)
    here = {
        "assignment": [(assignment.slug, assignment.title) for assignment in assignments],
        "device": [*((name, name) for name in sorted(classes - {"", CPU})), (CPU, "Not measured")],
    }
    return {
        field.name: (("", field.asked.any), *here.get(field.name, field.choices)) for field in FIELDS if field.asked.any
    }


def _value(form: Form, field: Field, course: Membership) -> Any:
    try:
        return read(field, form[field.name], zone_named(course.time_zone))
    except ValueError as error:
        # A browser shows a time's field empty, because it can only hold a time.
        form.mistake(field.name, f"{form[field.name]}: {error}")
        return None


@dataclass(frozen=True, slots=True)
class SubmissionsPage:
    """state: the address of updates; "" on later pages."""

    desk: Desk
    filter: Filter
    part: Part
    state: str
    filtered: bool


@dataclass(frozen=True, slots=True)
class ConfirmPage:
    """A regrade to confirm.

    after, newest: IDs between which its submissions are; rest: the address for the submissions after these
    risks: who may lose points if it applies at once; digest: of the risks
    changed: whether the risks changed since the reader confirmed them
    """

    desk: Desk
    filter: Filter
    planned: Planned
    after: int
    newest: int
    most: int
    rest: str
    risks: tuple[Risk, ...]
    digest: str
    changed: bool


@dataclass(frozen=True, slots=True)
class RegradePage:
    """A regrade's progress. changed: its changed verdicts."""

    desk: Desk
    run: Regrade
    changed: list[ChangedVerdict]


@dataclass(frozen=True, slots=True)
class RegradesPage:
    desk: Desk
    staged: list[StagedRegradeAnswer]
    runs: list[Regrade]


@staff.get("/submissions")
def show_submissions(slug: str) -> str | tuple[str, int]:
    """List submissions, newest first; none if the filter is invalid."""
    course = staff_of(slug)
    wanted = _filter(course, request.args)
    return _list(course, wanted) if wanted.form.right else (_list(course, wanted), 422)


@staff.get("/submissions/state")
def submissions_state(slug: str) -> Response:
    course = staff_of(slug)
    page = _listed(course, _filter(course, request.args))
    html = render_template("submissions/submission_rows.html", page=page)
    return jsonify(html=html, final=not page.filter.form.right)


@staff.get("/regrade")
def confirm_regrade(slug: str) -> str | tuple[str, int]:
    course = staff_of(slug)
    wanted = _filter(course, request.args)
    if not wanted.form.right:
        return _list(course, wanted), 422
    return _confirm(course, wanted, request.args)


@staff.post("/regrade")
def regrade_all(slug: str) -> Response | tuple[str, int]:
    """Start the regrade; if more submissions match than one request may regrade, go on to the rest."""
    course = staff_of(slug)
    wanted = _filter(course, request.form)
    if not wanted.form.right:
        return _list(course, wanted), 422
    after, until = (number_of(request.form, name) for name in ("after", "newest"))
    if until is None:
        raise Refused(422, "invalid", "This form is incomplete", "Go back, reload the page, and send it again.")
    staged = bool(request.form.get("stage"))
    try:
        with site().sessions.begin() as session:
            planned = plan(session, course.course_id, wanted.asked, until, after=after or 0, most=service.MOST)
            if planned.count:
                _begin(session, planned, staged=staged)
    except MayLowerPoints:
        return _confirm(course, wanted, request.form, changed=bool(confirmed())), 409
    if planned.more:
        notice = "regrade-staged" if staged else "regrade-begun"
        return back("staff.confirm_regrade", slug, notice, **_rest(wanted, planned, until))
    if not planned.count:
        return back("staff.show_submissions", slug)
    if staged:
        return back("staff.show_regrades", slug, "regrade-staged")
    with site().readers.begin() as session:
        made = runs(session, course.course_id, 1)
    if len({submission.assignment_id for submission in planned.submissions}) == 1 and made:
        return back("staff.show_regrade", slug, "regrade-begun", number=made[0].number)
    return back("staff.show_regrades", slug, "regrade-begun")


def _begin(session: Session, planned: Planned, *, staged: bool) -> None:
    if staged:
        begin_staged(session, planned, acting(session), datetime.now(UTC))
    else:
        begin(session, planned, acting(session), confirmed(), datetime.now(UTC))


@staff.get("/regrades")
def show_regrades(slug: str) -> str:
    course = staff_of(slug)
    with site().readers.begin() as session:
        page = RegradesPage(
            desk_of(course, "submission"), staged_in(session, course.course_id), runs(session, course.course_id, 20)
        )
    return render_template("regrades/regrades.html", page=page)


@staff.get("/regrades/<int(max=9007199254740991):number>")
def show_regrade(slug: str, number: int) -> str:
    return render_template("regrades/regrade.html", page=_regrade(staff_of(slug), number))


@staff.get("/regrades/<int(max=9007199254740991):number>/state")
def regrade_state(slug: str, number: int) -> Response:
    page = _regrade(staff_of(slug), number)
    return jsonify(html=render_template("regrades/regrade_progress.html", page=page), final=page.run.over)


@staff.post("/regrades/<int(max=9007199254740991):number>/cancel")
def cancel_regrade(slug: str, number: int) -> Response:
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
        return RegradePage(desk_of(course, "submission"), found[0], changed_verdicts(session, found[0]))


def _confirm(course: Membership, wanted: Filter, given: Mapping[str, str], *, changed: bool = False) -> str:
    after, until = (number_of(given, name) for name in ("after", "newest"))
    with site().readers.begin() as session:
        until = newest(session) if until is None else until
        planned = plan(session, course.course_id, wanted.asked, until, after=after or 0, most=service.MOST)
        risks = regrade_risks(session, planned.submissions)
    page = ConfirmPage(
        desk_of(course, "submission"), wanted, planned, after or 0, until, service.MOST,
        url_for("staff.confirm_regrade", slug=course.slug, **_rest(wanted, planned, until)), risks,
        risk_digest(risks), changed,
    )  # fmt: skip
    return render_template("regrades/confirm_regrade.html", page=page)


def _filter(course: Membership, given: Mapping[str, str]) -> Filter:
    with site().readers.begin() as session:
        return read_filter(session, course, given, datetime.now(UTC))


def _list(course: Membership, wanted: Filter) -> str:
    return render_template("submissions/course_submissions.html", page=_listed(course, wanted))


def _listed(course: Membership, wanted: Filter) -> SubmissionsPage:
    after = asked("after", 40)
    part = Part((), "")
    if wanted.form.right:
        with site().readers.begin() as session:
            part = listing(session, course.course_id, wanted.asked, after)
    query = wanted.form.query
    lives = wanted.form.right and not after
    state = f"{url_for('staff.submissions_state', slug=course.slug)}?{query}" if lives else ""
    filtered = bool(query or after) or not wanted.form.right
    return SubmissionsPage(desk_of(course, "submission"), wanted, part, state, filtered)


def _rest(wanted: Filter, planned: Planned, until: int) -> dict[str, Any]:
    """The filter for the submissions after the planned ones."""
    return {**wanted.given, "after": planned.last, "newest": until}
