"""The API of experiments: start, read, fetch points, cancel, retry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from flask import Blueprint, Response, jsonify, request
from sqlalchemy.orm import Session

from kernels.experiment.export import to_csv
from kernels.experiment.model import MOST_POINTS
from server.accounts import limits
from server.accounts.identity import has_scope, need_staff_scope, person_asking, too_many_requests
from server.accounts.models import Scope
from server.courses.models import Role
from server.courses.service import DEVICE_CLASS, SHORT_NAME, course_and_role
from server.experiments.access import STARTS, refused
from server.experiments.answers import (
    ExperimentAnswer,
    ExperimentsAnswer,
    ExperimentsQuery,
    PointsAnswer,
    PointsQuery,
    experiment_answer,
    experiment_line,
    points_answer,
    shown_results,
)
from server.experiments.new_experiment import Sent, read_sent, start_sent
from server.experiments.plans import UnfitExperiment
from server.experiments.queries import Reads, Visible, visible_experiment, visible_experiments
from server.experiments.service import LargeExperiment, QuotaUsed, TooManyRunning, retry, stop
from server.fields import Text
from server.http.json_body import invalid, read_body, refuse_other_types
from server.http.operation import Header, operation
from server.http.problems import Refused
from server.http.query import next_url, read_query
from server.http.site import site
from server.submissions.changes import NotPossible, revoke
from server.submissions.queries import PUBLIC_ID
from server.text import storable

experiments = Blueprint("experiments", __name__)

_NONE = {404: "There is no such experiment, or you may not see it."}


@dataclass(frozen=True, slots=True)
class ExperimentRequest:
    """A new experiment.

    course: its name, such as demo
    definition: the text of the experiment's file. Its exercise is an assignment of the course or, for course staff, any
        exercise that comes with Tilelab
    kernels: the text of each kernel, by the name that the definition uses
    axes: more axes, such as TILE_WIDTH=8,16. Each replaces the definition's axis of that name
    device_class: the GPU to measure on, if not the assignment's own; cpu to measure nothing
    pause_before_deadlines: start no point in the 2 hours before a deadline of the course
    confirm: start it, even if it is large
    """

    course: Annotated[str, Text(SHORT_NAME)]
    definition: Annotated[str, Text(shortest=1, longest=100_000)]
    kernels: Mapping[str, str]
    axes: tuple[str, ...] = ()
    device_class: Annotated[str, Text(DEVICE_CLASS)] | None = None
    pause_before_deadlines: bool = False
    confirm: bool = False


@experiments.post("/experiments")
@operation(
    ExperimentAnswer,
    status=201,
    scope=Scope.SUBMIT,
    takes=ExperimentRequest,
    gives=(Header("Location", "Where to read the progress and the results.", required=True),),
    refuses={
        400: "The body isn't valid JSON.",
        403: "The course is archived, or your quota for the assignment is used.",
        404: "There is no such course, or you aren't in it.",
        409: "You have too many running experiments. A large one needs `confirm`; its code is `large_experiment`.",
        413: "The request has more than 256 KiB.",
        415: "The body's type isn't JSON.",
        422: "A field has an invalid value. The text names the line of the definition and the reason.",
        503: "The database is unavailable; nothing was stored. Send the same request again after `Retry-After`.",
    },
)
def begin() -> tuple[Response, int, dict[str, str]]:
    """Start an experiment, as course staff, or as a student within the assignment's quota."""
    person, now = person_asking().id, datetime.now(UTC)
    refuse_other_types()
    try:
        limits.count(site().sessions, STARTS, f"person {person}")
    except limits.TooOften as often:
        raise too_many_requests(STARTS, often) from often
    body = read_body(ExperimentRequest, request.get_data())
    device, pauses = body.device_class, body.pause_before_deadlines
    agreed = MOST_POINTS if body.confirm else 0
    sent = Sent(body.definition, body.kernels, body.axes, device, pauses, agreed)
    with site().readers.begin() as session:
        course, role = _course(session, person, body.course)
    texts = (sent.text, *sent.kernels, *sent.kernels.values())
    if any(storable(text) != text for text in texts):
        raise invalid("A text has a character that can't be stored.")
    try:
        public_id = start_sent(site().sessions, sent, read_sent(sent), course, person, role, now)
    except (UnfitExperiment, QuotaUsed, TooManyRunning, LargeExperiment) as error:
        raise refused(error) from error
    with site().readers.begin() as session:
        answer = _answer(session, person, public_id, now)
    return jsonify(answer), 201, {"Location": answer.url}


@experiments.get("/experiments")
@operation(
    ExperimentsAnswer,
    query=ExperimentsQuery,
    refuses={404: "There is no such course, or you aren't in it.", 422: "A parameter has an invalid value."},
)
def listed() -> Response:
    """List a course's experiments: your own and shared ones and, as course staff, all."""
    person, asked = person_asking().id, read_query(ExperimentsQuery)
    with site().readers.begin() as session:
        found = course_and_role(session, person, asked.course)
        if found is None:
            raise _no_course()
        course, role = found[0].id, found[1] if has_scope(Scope.STAFF) else Role.STUDENT
        visible, more = visible_experiments(session, person, course, role, asked.before or 0)
    following = next_url(asked, before=visible[-1].experiment.id) if more else None
    return jsonify(ExperimentsAnswer(tuple(map(experiment_line, visible)), following))


@experiments.get("/experiments/<public_id>")
@operation(ExperimentAnswer, path={"public_id": PUBLIC_ID}, refuses=_NONE)
def look_up(public_id: str) -> Response:
    """Read an experiment, as its owner or course staff. Members of the course read shared ones."""
    person = person_asking().id
    with site().readers.begin() as session:
        return jsonify(_answer(session, person, public_id, datetime.now(UTC)))


@experiments.get("/experiments/<public_id>/points")
@operation(
    PointsAnswer,
    path={"public_id": PUBLIC_ID},
    query=PointsQuery,
    refuses={**_NONE, 422: "A parameter has an invalid value."},
)
def points(public_id: str) -> Response:
    """Fetch results, page by page, while the experiment runs too."""
    person, asked = person_asking().id, read_query(PointsQuery)
    with site().readers.begin() as session:
        found = shown_results(session, _visible(session, person, public_id), _after(asked), asked.limit + 1)
    shown = found[: asked.limit]
    following = next_url(asked, after=shown[-1].number) if len(found) > len(shown) else None
    return jsonify(points_answer(shown, following))


@experiments.get("/experiments/<public_id>/points.csv")
@operation(
    str,
    media_type="text/csv",
    path={"public_id": PUBLIC_ID},
    query=PointsQuery,
    gives=(Header("Link", "The next page, with rel=next; missing on the last."),),
    refuses={**_NONE, 422: "A parameter has an invalid value."},
)
def table(public_id: str) -> Response:
    """Fetch results as a table: a row for each point, a column for each value. Every page has the header."""
    person, asked = person_asking().id, read_query(PointsQuery)
    with site().readers.begin() as session:
        found = shown_results(session, _visible(session, person, public_id), _after(asked), asked.limit + 1)
    shown = found[: asked.limit]
    response = Response(to_csv(shown), content_type="text/csv; charset=utf-8")
    if len(found) > len(shown):
        response.headers["Link"] = f'<{next_url(asked, after=shown[-1].number)}>; rel="next"'
    return response


@experiments.post("/experiments/<public_id>/cancel")
@operation(
    ExperimentAnswer,
    path={"public_id": PUBLIC_ID},
    scope=Scope.SUBMIT,
    refuses={403: "It is someone else's.", **_NONE, 409: "It is over."},
)
def cancel(public_id: str) -> Response:
    """Cancel an experiment of yours or, as course staff, any of the course. Its results stay."""
    person = person_asking()
    with site().sessions.begin() as session:
        found = _to_change(session, person.id, public_id)
        try:
            tickets = stop(session, found.experiment, person, datetime.now(UTC))
        except NotPossible as error:
            raise Refused(409, "over", "The experiment can't be cancelled", str(error)) from error
    revoke(site().settings.redis_url, tickets)
    return look_up(public_id)


@experiments.post("/experiments/<public_id>/retry")
@operation(
    ExperimentAnswer,
    path={"public_id": PUBLIC_ID},
    scope=Scope.SUBMIT,
    refuses={
        403: "It is someone else's.", **_NONE,
        409: "It is cancelled, no point ended in a system error, or too many experiments are running.",
    },
)  # fmt: skip
def run_again(public_id: str) -> Response:
    """Run the points again that ended in a system error, as the owner or course staff. Other results stay."""
    person = person_asking()
    with site().sessions.begin() as session:
        found = _to_change(session, person.id, public_id)
        try:
            retry(session, found.experiment, person, datetime.now(UTC))
        except NotPossible as error:
            raise Refused(409, "over", "Nothing can be retried", str(error)) from error
        except TooManyRunning as error:
            raise refused(error) from error
    return look_up(public_id)


def _no_course() -> Refused:
    return Refused(404, "no_such_course", "There is no such course", "Check the name in `course`.")


def _course(session: Session, person: int, name: str) -> tuple[int, Role]:
    """The ID of a course, and the person's role there; raises Refused."""
    found = course_and_role(session, person, name)
    if found is None:
        raise _no_course()
    if found[0].archived_at is not None:
        raise Refused(403, "not_open", "The course is archived", "You can't start experiments in it.")
    return found[0].id, found[1]


def _answer(session: Session, person: int, public_id: str, now: datetime) -> ExperimentAnswer:
    return experiment_answer(session, _visible(session, person, public_id), now)


def _visible(session: Session, person: int, public_id: str) -> Visible:
    """As the reader may read it. Without the staff's scope, course staff read a shared one as the class does."""
    visible = _found(session, person, public_id)
    if visible.reads is Reads.STAFF and not has_scope(Scope.STAFF) and visible.experiment.shared_at is not None:
        return Visible(visible.experiment, Reads.CLASS, staff=False)
    need_staff_scope(own=visible.reads is not Reads.STAFF)
    return visible


def _found(session: Session, person: int, public_id: str) -> Visible:
    visible = visible_experiment(session, person, public_id)
    if visible is None:
        raise Refused(
            404, "no_such_experiment", "There is no such experiment",
            "Check the ID. You may not see experiments that others didn't share.",
        )  # fmt: skip
    return visible


def _to_change(session: Session, person: int, public_id: str) -> Visible:
    found = _found(session, person, public_id)
    need_staff_scope(own=found.reads is not Reads.STAFF)
    if not found.may_change:
        raise Refused(
            403, "not_yours", "This is someone else's experiment",
            "Only its owner and course staff may do this.",
        )  # fmt: skip
    return found


def _after(asked: PointsQuery) -> int:
    return -1 if asked.after is None else asked.after
