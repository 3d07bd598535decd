"""Handing in and looking up, for programs."""

from __future__ import annotations

import logging
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any

from flask import Blueprint, Response, jsonify, request, url_for
from sqlalchemy.orm import Session

from server.accounts import limits
from server.accounts.identity import person_asking, token_shown, too_many_requests
from server.accounts.service import find_by_token
from server.courses.service import find_assignment
from server.http.operation import EVENTS, Header, Text, operation
from server.http.problems import Refused
from server.http.query import read_query
from server.http.site import site
from server.submissions import allowance
from server.submissions.answers import AcceptedAnswer, SubmissionAnswer, read_submission
from server.submissions.changes import NotPossible, revoke, take_back
from server.submissions.new_submission import (
    KEY,
    NewSubmission,
    SubmissionRequest,
    read_new_submission,
    submit,
)
from server.submissions.own_submissions import PUBLIC_ID, OwnAnswer, OwnQuery, own_submissions
from server.submissions.progress.answer import ProgressAnswer
from server.submissions.progress.streams import stream_for_programs
from server.submissions.queries import may_still_see, visible_submission
from server.submissions.refusals import (
    Closed,
    DiskFull,
    IdempotencyConflict,
    NoAttemptsLeft,
    NoSuchAssignment,
    NotAccepted,
    NotOpen,
    TooOften,
)
from server.submissions.result.page import watched
from server.submissions.service import HandedIn

submissions = Blueprint("submissions", __name__)

logger = logging.getLogger(__name__)

_REFUSALS: dict[type[NotAccepted], tuple[int, str, str]] = {
    NoSuchAssignment: (
        404, "There is no such assignment",
        " It has another name, or you are not in its course. `assignment` is COURSE/ASSIGNMENT, such as demo/tiled.",
    ),
    NotOpen: (403, "The course is over", ""),
    Closed: (403, "The assignment is closed", ""),
    NoAttemptsLeft: (403, "No attempts are left", ""),
    TooOften: (429, "Too often", ""),
    DiskFull: (503, "The server is out of disk space", ""),
    IdempotencyConflict: (
        409, "The Idempotency-Key was used for something else",
        " Send a new key with a new submission, and the old one only with the very same request.",
    ),
}  # fmt: skip
_NONE = {404: "There is no such submission, or none that you may see."}
_INVALID = (422, "A field has a value that it cannot have", "")


@submissions.post("/submissions")
@operation(
    AcceptedAnswer,
    status=202,
    takes=SubmissionRequest,
    sends=(
        Header(
            "Idempotency-Key",
            "New for every submission. A request that is sent again with the same key is one submission.",
            Annotated[str, Text(KEY)],
        ),
    ),
    gives=(Header("Location", "Where to read what becomes of it.", required=True),),
    refuses={
        400: "The body is no JSON, or the Idempotency-Key cannot be used.",
        403: "The assignment is closed or its course over, or no attempts are left.",
        404: "There is no such assignment, or none that you may see.",
        409: "The Idempotency-Key was used for something else.",
        413: "The source has more than 64 KiB, or the request more than 256.",
        415: "The body is of another type than JSON.",
        422: "A field has a value that it cannot have.",
        503: "The database is away or its disk full; nothing was stored. Send the same request again after "
        "`Retry-After`.",
    },
)
def hand_in() -> tuple[Response, int, dict[str, str]]:
    """Hand in a source: once this is answered, it is graded whatever happens."""
    person = person_asking().id
    _refuse_other_types()
    asked = read_new_submission(request.get_data(), request.headers.get("Idempotency-Key"))
    with site().readers.begin() as session:
        assignment = _assignment(session, asked)
    handed_in = HandedIn(person, assignment, asked.source, asked.mode, asked.device_class, asked.key)
    try:
        accepted = submit(handed_in)
    except limits.TooOften as often:
        raise too_many_requests(allowance.SUBMITS, often) from often
    except NotAccepted as error:
        raise _refusal(error) from error
    url = url_for("submissions.look_up", public_id=accepted.submission.public_id)
    logger.info("accepted submission %s", accepted.submission.public_id)
    answer = AcceptedAnswer(accepted.submission.public_id, url, accepted.position)
    return jsonify(asdict(answer)), 202, {"Location": url}


@submissions.get("/submissions")
@operation(
    OwnAnswer,
    query=OwnQuery,
    refuses={
        404: "There is no such assignment, or no such submission of yours.",
        422: "A parameter has a value that it cannot have.",
    },
)
def own() -> Response:
    """Your submissions in the courses that you are in, the latest first, page by page."""
    person = person_asking().id
    asked = read_query(OwnQuery)
    with site().readers.begin() as session:
        found = own_submissions(session, person, asked)
    if found is None:
        raise Refused(
            404, "not_found", "There is nothing of that name",
            "`assignment` names none in your courses, or `before` no submission of yours.",
        )  # fmt: skip
    lines, more = found
    further = url_for(".own", **_given(asked), before=lines[-1].id) if more else None
    return jsonify(asdict(OwnAnswer(tuple(lines), further)))


@submissions.get("/submissions/<public_id>")
@operation(SubmissionAnswer, path={"public_id": PUBLIC_ID}, refuses=_NONE)
def look_up(public_id: str) -> Response:
    """What became of a submission: for its owner, and for the staff of its course."""
    person = person_asking().id
    with site().readers.begin() as session:
        answer = read_submission(session, person, public_id, datetime.now(UTC))
    if answer is None:
        raise _no_submission()
    return jsonify(asdict(answer))


@submissions.get("/submissions/<public_id>/events")
@operation(
    str,
    media_type=EVENTS,
    events=ProgressAnswer,
    path={"public_id": PUBLIC_ID},
    refuses={
        **_NONE,
        429: "You watch too many submissions at once: ask for the submission itself after `Retry-After`.",
        503: "No further stream is given now: ask for the submission itself after `Retry-After`.",
    },
)
def events(public_id: str) -> Response:
    """What happens to a submission, told while it happens: for its owner, and for the staff of its course."""
    person = person_asking().id
    with site().readers.begin() as session:
        found = watched(session, person, public_id, datetime.now(UTC))
    if found is None:
        raise _no_submission()
    number, status = found
    may_see = may_still_see(site().readers, partial(_token_of, token_shown()), public_id)
    return stream_for_programs(number, person, status, may_see)


@submissions.get("/submissions/<public_id>/source")
@operation(str, media_type="text/plain", path={"public_id": PUBLIC_ID}, refuses=_NONE)
def source(public_id: str) -> Response:
    """The source as it was handed in: for its owner, and for the staff of its course."""
    person = person_asking().id
    with site().readers.begin() as session:
        found = visible_submission(session, person, public_id)
        content = None if found is None else found.source.content
    if content is None:
        raise _no_submission()
    return Response(content, content_type="text/plain; charset=utf-8")


@submissions.post("/submissions/<public_id>/cancel")
@operation(
    SubmissionAnswer,
    path={"public_id": PUBLIC_ID},
    refuses={
        403: "It is someone else's: staff end the grading of others elsewhere.",
        **_NONE,
        409: "It is over, or staff have it graded again.",
    },
)
def stop(public_id: str) -> Response:
    """Take a submission of yours back, as long as it is not graded."""
    person = person_asking()
    with site().sessions.begin() as session:
        found = visible_submission(session, person.id, public_id)
        if found is None:
            raise _no_submission()
        if found.person_id != person.id:
            raise Refused(
                403, "not_yours", "This is someone else's submission",
                "Staff end the grading of others on the page of the submission, or with `tilelab admin jobs cancel`.",
            )  # fmt: skip
        try:
            tickets = take_back(session, found, person)
        except NotPossible as error:
            raise Refused(
                409, "over", "It cannot be stopped", f"{error} Read it to see how it stands."
            ) from error
    revoke(site().settings.redis_url, tickets)
    return look_up(public_id)


def _token_of(token: str, session: Session) -> int | None:
    """Whose token it is, as long as it is good."""
    found = find_by_token(session, token)
    return None if found is None else found.id


def _no_submission() -> Refused:
    return Refused(
        404, "no_such_submission", "There is no such submission",
        "There is none of that id, or it is someone else's. The answer to handing in holds its address.",
    )  # fmt: skip


def _given(asked: OwnQuery) -> dict[str, Any]:
    """What a page after this one is asked for with, beside where it begins."""
    given = {"assignment": asked.assignment, "limit": asked.limit}
    return {name: value for name, value in given.items() if value is not None}


def _refuse_other_types() -> None:
    """A form of a foreign page can send text, but no JSON."""
    if request.mimetype != "application/json":
        raise Refused(
            415, "wrong_media_type", "The body has another type",
            "Send JSON, with the header `Content-Type: application/json`.",
        )  # fmt: skip


def _assignment(session: Session, asked: NewSubmission) -> int:
    """Which is meant; whether this person may hand in for it is seen when it is accepted."""
    found = find_assignment(session, asked.assignment)
    if found is None:
        raise _refusal(NoSuchAssignment("There is no such assignment in your courses."))
    return found.id


def _refusal(error: NotAccepted) -> Refused:
    status, title, more = _REFUSALS.get(type(error), _INVALID)
    headers = {"Retry-After": str(error.seconds)} if error.seconds else {}
    return Refused(status, error.code, title, f"{error}{more}", headers)
