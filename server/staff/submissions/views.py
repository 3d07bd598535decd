"""Staff pages for submissions and regrades."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from flask import Response, jsonify, render_template, request, url_for
from sqlalchemy.orm import Session

from server.accounts.access import nothing_here, viewer
from server.courses.access import Membership, staff_of
from server.http.forms import number_of
from server.http.problems import Refused
from server.http.site import site
from server.staff.desk import Desk, acting, asked, back, confirmed, desk_of, staff
from server.staff.submissions import regrades
from server.staff.submissions.filter import Filter, read_filter
from server.staff.submissions.queries import Part, listing, newest
from server.staff.submissions.regrade_risk import MayLowerPoints, Risk, regrade_risks, risk_digest
from server.staff.submissions.regrades import (
    ChangedVerdict,
    Planned,
    Regrade,
    begin,
    begin_staged,
    cancel_waiting,
    changed_verdicts,
    plan,
    runs,
)
from server.staff.submissions.staging import StagedRegradeAnswer, staged_in
from server.submissions.changes import NotPossible, revoke


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
    """The staged and the latest regrades."""

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
    """Return the current list, for an open page."""
    course = staff_of(slug)
    page = _listed(course, _filter(course, request.args))
    html = render_template("staff/submission_rows.html", page=page)
    return jsonify(html=html, final=not page.filter.form.right)


@staff.get("/regrade")
def confirm_regrade(slug: str) -> str | tuple[str, int]:
    """Preview a regrade."""
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
            planned = plan(session, course.course_id, wanted.asked, until, after=after or 0, most=regrades.MOST)
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
    if len({one.assignment_id for one in planned.submissions}) == 1 and made:
        return back("staff.show_regrade", slug, "regrade-begun", number=made[0].number)
    return back("staff.show_regrades", slug, "regrade-begun")


def _begin(session: Session, planned: Planned, *, staged: bool) -> None:
    try:
        if staged:
            begin_staged(session, planned, acting(session), datetime.now(UTC))
        else:
            begin(session, planned, acting(session), confirmed(), datetime.now(UTC))
    except NotPossible as error:
        raise Refused(409, "not_possible", "This isn’t possible", str(error)) from error


@staff.get("/regrades")
def show_regrades(slug: str) -> str:
    """List the latest regrades."""
    course = staff_of(slug)
    with site().readers.begin() as session:
        page = RegradesPage(
            desk_of(course, "submission"), staged_in(session, course.course_id), runs(session, course.course_id, 20)
        )
    return render_template("staff/regrades.html", page=page)


@staff.get("/regrades/<int(max=9007199254740991):number>")
def show_regrade(slug: str, number: int) -> str:
    """Show a regrade's progress."""
    return render_template("staff/regrade.html", page=_regrade(staff_of(slug), number))


@staff.get("/regrades/<int(max=9007199254740991):number>/state")
def regrade_state(slug: str, number: int) -> Response:
    """Return the progress, for an open page."""
    page = _regrade(staff_of(slug), number)
    return jsonify(html=render_template("staff/regrade_progress.html", page=page), final=page.run.over)


@staff.post("/regrades/<int(max=9007199254740991):number>/cancel")
def cancel_regrade(slug: str, number: int) -> Response:
    """Cancel the waiting part of a regrade."""
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
        planned = plan(session, course.course_id, wanted.asked, until, after=after or 0, most=regrades.MOST)
        risks = regrade_risks(session, planned.submissions)
    page = ConfirmPage(
        desk_of(course, "submission"), wanted, planned, after or 0, until, regrades.MOST,
        url_for("staff.confirm_regrade", slug=course.slug, **_rest(wanted, planned, until)), risks,
        risk_digest(risks), changed,
    )  # fmt: skip
    return render_template("staff/confirm_regrade.html", page=page)


def _filter(course: Membership, given: Mapping[str, str]) -> Filter:
    with site().readers.begin() as session:
        return read_filter(session, course, given, datetime.now(UTC))


def _list(course: Membership, wanted: Filter) -> str:
    return render_template("staff/submissions.html", page=_listed(course, wanted))


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
