"""Pages of courses and assignments, for their members."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from functools import partial

from flask import Blueprint, Response, render_template, request
from markupsafe import Markup

from kernels.rendering.page.links import linked
from kernels.wording import plural
from server.accounts import limits
from server.accounts.access import nothing_here, viewer
from server.assignments.extension_request_views import request_state
from server.assignments.form import Sent, read_sent
from server.assignments.page import assignment_page
from server.assignments.tasks import course_progress, practice_levels, read_activity, tasks_in
from server.courses.access import Reader, assignment_for, member_of, reader_of
from server.exercises.stored import figure_of, material_of
from server.experiments.views import pinned_experiments
from server.http.arrival import LARGEST_FORM
from server.http.figures import figure_answer
from server.http.numbers import zone_of
from server.http.site import site
from server.submissions.models import Mode
from server.submissions.new_submission import submit
from server.submissions.refusals import DiskFull, NotAccepted, SpendsLateDays, TooOften
from server.submissions.service import SubmissionInput
from server.talk.announcement_views import read_announcements
from server.talk.comments import news_in
from server.teams.queries import team_of

courses = Blueprint("courses", __name__, url_prefix="/courses")

_HAND_IN = "courses.hand_in"
_MOST_NEWS = 5
_STATUS: dict[type, int] = {TooOften: 429, DiskFull: 503, SpendsLateDays: 409}
logger = logging.getLogger(__name__)


@courses.app_template_filter("in_code")
def in_code(text: str) -> Markup:
    """Mark up a sentence's `code` as code."""
    return linked(text, 0)


@courses.url_value_preprocessor
def _take_large_forms(endpoint: str | None, values: dict[str, str] | None) -> None:
    """Raise the size limit before anything reads the form."""
    if endpoint == _HAND_IN:
        request.max_content_length = request.max_form_memory_size = LARGEST_FORM


@courses.get("/<course>/")
def show_course(course: str) -> str:
    """Show a course with its assignments."""
    who, here, now = viewer(), member_of(course), datetime.now(UTC)
    with site().readers.begin() as session:
        tasks = tasks_in(session, here.course_id, here.role, who.id, now)
        news = news_in(session, who.id, here.course_id, _MOST_NEWS)
        announced = read_announcements(session, here)
        activity = None if here.is_staff else read_activity(session, tasks, who.id, now, zone_of(here.time_zone))
    progress = None if here.is_staff else course_progress(tasks)
    return render_template(
        "assignments/course.html", course=here, tasks=[task for task in tasks if not task.practice], now=now,
        progress=progress, activity=activity, news=news, part=announced, practice=practice_levels(tasks),
    )  # fmt: skip


@courses.get("/<course>/<name>/")
def show_assignment(course: str, name: str) -> str:
    """Show an assignment: the handout, the rules, and the form to check and submit."""
    return _page(reader_of(course, name), came_from=request.args.get("from"))


@courses.post("/<course>/<name>/submissions")
def hand_in(course: str, name: str) -> Response:
    """Check or submit. A refused form comes back on the same page with its text."""
    who = viewer()
    reader = partial(reader_of, course, name)
    sent = read_sent(lambda: _need_to_see(reader()))
    if sent.source is None:
        return _again(reader(), sent)
    submitted = SubmissionInput(
        who.id, f"{course}/{name}", sent.source, sent.mode, key=sent.request_key, late_days=sent.late_days
    )
    try:
        accepted = submit(submitted, positioned=False)
    except limits.TooOften as error:
        often = TooOften(
            f"You checked or submitted {error.limit.count} times within a minute, which is the limit. Try again in "
            f"{plural(error.seconds, 'second')}.",
            error.seconds,
        )
        return _again(reader(), sent, often)
    except NotAccepted as error:
        return _again(reader(), sent, error)
    logger.info("accepted submission %s", accepted.submission.public_id)
    return Response(status=303, headers={"Location": f"/submissions/{accepted.submission.public_id}"})


@courses.get("/<course>/<name>/starter.cu")
def starter(course: str, name: str) -> Response:
    """Download the starter file."""
    reader = reader_of(course, name)
    with site().readers.begin() as session:
        given = material_of(session, assignment_for(session, reader).exercise)
    if given is None or given.starter is None:
        raise nothing_here()
    response = Response(given.starter, mimetype="text/plain")
    response.headers["Content-Disposition"] = f'attachment; filename="{name}.cu"'
    return response


@courses.get("/<course>/<name>/figures/<file>")
def figure(course: str, name: str, file: str) -> Response:
    """Serve a figure of the handout, but no other file of the exercise."""
    reader = reader_of(course, name)
    with site().readers.begin() as session:
        found = figure_of(session, assignment_for(session, reader).exercise, file)
    if found is None:
        raise nothing_here()
    response = figure_answer(found, file)
    response.headers["Cache-Control"] = "private, max-age=3600"
    return response


def _page(
    reader: Reader, *, came_from: str | None = None, sent: Sent | None = None, refused: NotAccepted | None = None
) -> str:
    """Render the assignment's page. refused: why the form was refused, if no field has a mistake."""
    with site().readers.begin() as session:
        assignment = assignment_for(session, reader)
        found = assignment_page(
            session, reader, assignment, came_from=came_from, sent=sent, most_under_way=site().settings.under_way
        )
        asked = None if reader.course.is_staff else request_state(session, reader, assignment)
        team = None if reader.course.is_staff else team_of(session, assignment, reader.viewer.id)
        pinned = pinned_experiments(session, assignment)
        announced = read_announcements(session, reader.course, assignment=assignment.slug)
    mistake = sent.mistake if sent else None
    return render_template(
        "assignments/assignment.html",
        page=found,
        mistake=mistake,
        changes=sent.changes if sent else None,
        refused=refused,
        checks=sent is not None and sent.mode is Mode.CHECK,
        told=partial(_told, reader=reader),
        asked=asked,
        team_size=assignment.team_size,
        team=team,
        pinned=pinned,
        part=announced,
        course=reader.course,
    )


def _need_to_see(reader: Reader) -> None:
    """Raise Refused if the reader may not see the assignment."""
    with site().readers.begin() as session:
        assignment_for(session, reader)


def _again(reader: Reader, sent: Sent, refused: NotAccepted | None = None) -> Response:
    status = 200 if sent.changes is not None else _STATUS.get(type(refused), 422)
    response = Response(_page(reader, sent=sent, refused=refused), status)
    if refused is not None and refused.seconds:
        response.headers["Retry-After"] = str(refused.seconds)
    return response


def _told(error: NotAccepted, reader: Reader) -> str:
    zone = zone_of(reader.course.time_zone)
    return error.told(lambda at: f"{at.astimezone(zone):%H:%M on %a %d %b (%Z)}")
