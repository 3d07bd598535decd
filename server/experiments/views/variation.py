"""The page behind "Vary the tile" and "Vary the size": one axis of a submission, within the quota."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from flask import Response, render_template, request, url_for
from sqlalchemy.orm import Session

from kernels.experiment.axes import AxisError
from server.accounts import limits
from server.accounts.access import nothing_here, viewer
from server.courses.access import Membership, membership
from server.courses.service import is_staff, role_in
from server.experiments.access import STARTS, quota_text
from server.experiments.plans import UnfitExperiment, checked_plan
from server.experiments.quota import EXPERIMENTS_A_DAY, POINTS_A_DAY, Quota, quota_of
from server.experiments.service import NewExperiment, QuotaUsed, TooManyRunning, check_room, start
from server.experiments.variations import SIZE, TILE, WHAT, NoVariation, variation_of
from server.experiments.views.blueprint import experiments_pages
from server.http.forms import Form, filled, sent
from server.http.problems import Refused
from server.http.site import site
from server.submissions.models import Submission
from server.submissions.queries import visible_submission


@dataclass(frozen=True, slots=True)
class VaryPage:
    """A variation to start.

    tiles: the values to choose from; () for a size, which has many
    quota: None for course staff, who have none
    why_not: why it can't start; "" if it can
    """

    course: Membership
    assignment: str
    assignment_title: str
    submission: str
    what: str
    form: Form
    names: list[tuple[str, str]]
    tiles: tuple[int, ...]
    quota: Quota | None
    why_not: str

    @property
    def per_day(self) -> tuple[int, int]:
        return EXPERIMENTS_A_DAY, POINTS_A_DAY

    @property
    def title(self) -> str:
        return {TILE: "Vary the tile", SIZE: "Vary the size"}[self.what]


@experiments_pages.get("/submissions/<public_id>/vary")
def show_variation(public_id: str) -> str:
    """Show what would be varied."""
    what = request.args.get("what", TILE)
    if what not in WHAT:
        raise nothing_here()
    with site().readers.begin() as session:
        page = _page(session, public_id, what, None, datetime.now(UTC))
    return render_template("experiments/vary.html", page=page)


@experiments_pages.post("/submissions/<public_id>/vary")
def vary(public_id: str) -> Response | tuple[str, int]:
    """Start the experiment."""
    who, now = viewer(), datetime.now(UTC)
    form = sent("what", "axis", "values")
    what = form["what"] if form["what"] in WHAT else TILE
    with site().readers.begin() as session:
        _submission(session, public_id)
    try:
        limits.count(site().sessions, STARTS, f"person {who.id}")
        return _started(public_id, what, form, now)
    except limits.TooOften as often:
        form.mistake("values", f"Too many requests. Try again in {often.seconds} s.")
    except AxisError as error:
        form.mistake("values", f"{error}.")
    except QuotaUsed as error:
        form.mistake("values", quota_text(error))
    except (UnfitExperiment, NoVariation, TooManyRunning) as error:
        form.mistake("values", str(error))
    with site().readers.begin() as session:
        page = _page(session, public_id, what, form, now)
    return render_template("experiments/vary.html", page=page), 422


def _started(public_id: str, what: str, form: Form, now: datetime) -> Response:
    with site().readers.begin() as session:
        found, course = _submission(session, public_id)
        variation, assignment = variation_of(found, what), found.assignment
        exercise, student = assignment.exercise, not is_staff(course.role)
        check_room(session, viewer().id, assignment.id if student else None, now)
    if course.archived:
        raise Refused(403, "not_open", "The course is archived", "You can't start experiments in it.")
    definition = variation.definition(form["axis"] or variation.names[0], form["values"])
    kernels = {variation.kernel: variation.text}
    plan = checked_plan(exercise, definition, kernels, student=student)
    new = NewExperiment(
        course=course.course_id,
        person=viewer().id,
        exercise=exercise.id,
        definition=definition,
        kernels=kernels,
        points=len(plan.points),
        arch=assignment.arch,
        device_class=assignment.device_class,
        assignment=assignment.id if student else None,
        submission=found.id,
    )
    with site().sessions.begin() as session:
        made = start(session, new, now)
    address = url_for("experiments_pages.show", public_id=made.public_id, notice="experiment-started")
    return Response(status=303, headers={"Location": address})


def _page(session: Session, public_id: str, what: str, form: Form | None, now: datetime) -> VaryPage:
    found, course = _submission(session, public_id)
    assignment, names, why_not = found.assignment, [], ""
    tiles: tuple[int, ...] = ()
    given = {"what": what}
    try:
        variation = variation_of(found, what)
    except NoVariation as error:
        why_not = str(error)
    else:
        names = [(name, name) for name in variation.names]
        tiles = variation.exercise.tiles if what == TILE else ()
        given |= {"axis": variation.names[0], "values": variation.suggested[0]}
    student = not is_staff(course.role)
    quota = quota_of(session, viewer().id, assignment.id, now) if student else None
    if course.archived:
        why_not = "This course is archived."
    elif quota is not None and not quota.points_left:
        why_not = quota_text(QuotaUsed("Your quota for this assignment is used.", quota))
    return VaryPage(
        course,
        assignment.slug,
        assignment.title,
        found.public_id,
        what,
        form or filled(given),
        names,
        tiles,
        quota,
        why_not,
    )


def _submission(session: Session, public_id: str) -> tuple[Submission, Membership]:
    who = viewer()
    found = visible_submission(session, who.id, public_id)
    if found is None:
        raise nothing_here()
    role = role_in(session, who.id, found.assignment.course_id)
    assert role is not None
    return found, membership(found.assignment.course, role)
