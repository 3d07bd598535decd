"""The API of submissions: submit, list, read, follow and cancel."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from functools import partial
from typing import Annotated

from flask import Blueprint, Response, jsonify, request, url_for
from sqlalchemy.orm import Session

from server.accounts import limits
from server.accounts.identity import bearer_token, has_scope, need_staff_scope, person_asking, too_many_requests
from server.accounts.models import Scope
from server.accounts.service import find_by_token
from server.courses.models import HintStep
from server.fields import Text
from server.http.json_body import refuse_other_types
from server.http.operation import EVENTS, Header, operation
from server.http.problems import Refused
from server.http.query import next_url, read_query
from server.http.site import site
from server.submissions import allowance
from server.submissions.answers import SubmissionAnswer, read_submission
from server.submissions.changes import NotPossible, ask_for_hint, cancel_own, revoke
from server.submissions.models import Submission
from server.submissions.new_submission import KEY, SubmissionRequest, read_key, read_new_submission, submit
from server.submissions.progress.streams import ProgressAnswer, stream_for_programs
from server.submissions.queries import (
    PUBLIC_ID,
    OwnAnswer,
    OwnQuery,
    may_still_see,
    own_submissions,
    source_of,
    visible_submission,
)
from server.submissions.refusals import (
    Closed,
    DiskFull,
    IdempotencyConflict,
    NoAttemptsLeft,
    NoSuchAssignment,
    NotAccepted,
    NotOpen,
    SpendsLateDays,
    TooOften,
)
from server.submissions.result.page import watched
from server.submissions.service import SubmissionInput
from server.teams.credit import is_for
from worker.contract.answers import Accepted

submissions = Blueprint("submissions", __name__)

logger = logging.getLogger(__name__)

_REFUSALS: dict[type[NotAccepted], tuple[int, str, str]] = {
    NoSuchAssignment: (
        404, "There is no such assignment",
        " Check `assignment`: it is COURSE/ASSIGNMENT, such as demo/tiled. You may not be in its course.",
    ),
    NotOpen: (403, "The course is archived", ""),
    Closed: (403, "The assignment is closed", ""),
    NoAttemptsLeft: (403, "No attempts left", ""),
    TooOften: (429, "Too often", ""),
    DiskFull: (503, "The server is out of disk space", ""),
    SpendsLateDays: (
        409, "Your late days need a confirmation",
        " Nothing was submitted. Send it again with `late_days`: this number to spend them, or 0 for the late penalty.",
    ),
    IdempotencyConflict: (
        409, "The Idempotency-Key was used before",
        " Use a new key for each submission. Repeat a key only with exactly the same request.",
    ),
}  # fmt: skip
_NONE = {404: "There is no such submission, or you may not see it."}
_SOURCE_NONE = {**_NONE, 410: "The source was removed."}
_INVALID = (422, "A field has an invalid value", "")


@submissions.post("/submissions")
@operation(
    Accepted,
    status=202,
    scope=Scope.SUBMIT,
    takes=SubmissionRequest,
    sends=(
        Header(
            "Idempotency-Key",
            "New for each submission. A repeated request with the same key is one submission.",
            Annotated[str, Text(KEY)],
        ),
    ),
    gives=(Header("Location", "Where to read the progress and the result.", required=True),),
    refuses={
        400: "The body isn't valid JSON, or the Idempotency-Key is invalid.",
        403: "The assignment is closed, its course is archived, or no attempts are left.",
        404: "There is no such assignment, or you may not see it.",
        409: "The Idempotency-Key was used for a different request, or `late_days` must confirm to spend late days.",
        413: "The source has more than 64 KiB, or the request more than 256 KiB.",
        415: "The body's type isn't JSON.",
        422: "A field has an invalid value.",
        503: "The database is unavailable or its disk is full; nothing was stored. Send the same request again after "
        "`Retry-After`.",
    },
)
def hand_in() -> tuple[Response, int, dict[str, str]]:
    """Submit or check a source. Once this is answered, it is graded whatever happens."""
    person = person_asking(counts=True).id
    refuse_other_types()
    asked, source = read_new_submission(request.get_data())
    key = read_key(request.headers.get("Idempotency-Key"))
    submitted = SubmissionInput(person, asked.assignment, source, asked.mode, asked.device_class, key, asked.late_days)
    try:
        accepted = submit(submitted, positioned=True)
    except limits.TooOften as often:
        raise too_many_requests(allowance.SUBMITS, often) from often
    except NotAccepted as error:
        raise _refusal(error) from error
    url = url_for("submissions.look_up", public_id=accepted.submission.public_id)
    logger.info("accepted submission %s", accepted.submission.public_id)
    answer = Accepted(accepted.submission.public_id, url, accepted.position)
    return jsonify(answer), 202, {"Location": url}


@submissions.get("/submissions")
@operation(
    OwnAnswer,
    query=OwnQuery,
    refuses={
        404: "There is no such assignment, or no such submission of yours.",
        422: "A parameter has an invalid value.",
    },
)
def own() -> Response:
    """List your submissions in your courses, the latest first, page by page."""
    person = person_asking().id
    query = read_query(OwnQuery)
    with site().readers.begin() as session:
        found = own_submissions(session, person, query)
    if found is None:
        raise Refused(
            404, "not_found", "Assignment or submission not found",
            "`assignment` must be in your courses. `before` must be one of your submissions.",
        )  # fmt: skip
    lines, more = found
    further = next_url(query, before=lines[-1].id) if more else None
    return jsonify(OwnAnswer(tuple(lines), further))


@submissions.get("/submissions/<public_id>")
@operation(SubmissionAnswer, path={"public_id": PUBLIC_ID}, refuses=_NONE)
def look_up(public_id: str) -> Response:
    """Read a submission, as its owner or course staff."""
    person = person_asking().id
    with site().readers.begin() as session:
        _need_staff_for_others(session, person, public_id)
        answer = read_submission(session, person, public_id, datetime.now(UTC))
    if answer is None:
        raise _no_submission()
    return jsonify(answer)


@submissions.get("/submissions/<public_id>/events")
@operation(
    str,
    media_type=EVENTS,
    events=ProgressAnswer,
    path={"public_id": PUBLIC_ID},
    refuses={
        **_NONE,
        429: "You follow too many submissions at once. Read the submission itself after `Retry-After`.",
        503: "The server has no free stream. Read the submission itself after `Retry-After`.",
    },
)
def events(public_id: str) -> Response:
    """Follow the progress of a submission live, as its owner or course staff."""
    person = person_asking().id
    with site().readers.begin() as session:
        _need_staff_for_others(session, person, public_id)
        found = watched(session, person, public_id, datetime.now(UTC))
    if found is None:
        raise _no_submission()
    number, status = found
    may_see = may_still_see(site().readers, partial(_token_of, bearer_token()), public_id)
    return stream_for_programs(number, person, status, may_see)


@submissions.get("/submissions/<public_id>/source")
@operation(str, media_type="text/plain", path={"public_id": PUBLIC_ID}, refuses=_SOURCE_NONE)
def source(public_id: str) -> Response:
    """Get the submitted source unchanged, as its owner or course staff."""
    person = person_asking().id
    with site().readers.begin() as session:
        _need_staff_for_others(session, person, public_id)
        found = visible_submission(session, person, public_id)
        content = None if found is None else source_of(found)
    if content is None:
        raise _no_submission()
    return Response(content, content_type="text/plain; charset=utf-8")


@submissions.post("/submissions/<public_id>/cancel")
@operation(
    SubmissionAnswer,
    path={"public_id": PUBLIC_ID},
    scope=Scope.SUBMIT,
    refuses={
        403: "It is someone else's submission. Course staff cancel it on its page or with `tilelab admin`.",
        **_NONE,
        409: "It is over, or course staff are regrading it.",
    },
)
def stop(public_id: str) -> Response:
    """Cancel a submission of yours that isn't graded yet."""
    person = person_asking()
    with site().sessions.begin() as session:
        submission = _own_submission(session, person.id, public_id)
        try:
            tickets = cancel_own(session, submission, person)
        except NotPossible as error:
            raise Refused(
                409, "over", "The submission can't be cancelled", f"{error} Read the submission for its state."
            ) from error
    revoke(site().settings.redis_url, tickets)
    return look_up(public_id)


@submissions.post("/submissions/<public_id>/hints/<any(finding, edit):hint>")
@operation(
    SubmissionAnswer,
    path={"public_id": PUBLIC_ID, "hint": HintStep},
    scope=Scope.SUBMIT,
    refuses={403: "It is someone else's submission.", **_NONE},
)
def show_hint(public_id: str, hint: str) -> Response:
    """Ask for a hint after a mistake of yours, and for those before it. Course staff see that you asked."""
    person = person_asking()
    with site().sessions.begin() as session:
        submission = _own_submission(session, person.id, public_id)
        ask_for_hint(session, submission, HintStep(hint), person.id, datetime.now(UTC))
    return look_up(public_id)


def _own_submission(session: Session, person: int, public_id: str) -> Submission:
    submission = visible_submission(session, person, public_id)
    if submission is None:
        raise _no_submission()
    if not is_for(session, submission, person):
        raise Refused(
            403, "not_yours", "This is someone else's submission",
            "Only its student can do this. Course staff cancel it on its page, or with `tilelab admin jobs cancel`.",
        )  # fmt: skip
    return submission


def _need_staff_for_others(session: Session, person: int, public_id: str) -> None:
    """Refuse another person's submission to a token without the scope of course staff."""
    if has_scope(Scope.STAFF):
        return
    submission = visible_submission(session, person, public_id)
    need_staff_scope(own=submission is None or is_for(session, submission, person))


def _token_of(token: str, session: Session) -> int | None:
    found = find_by_token(session, token)
    return None if found is None else found.id


def _no_submission() -> Refused:
    return Refused(
        404, "no_such_submission", "There is no such submission",
        "Check the ID: the answer to your submission has its URL. You may not see submissions of others.",
    )  # fmt: skip


def _refusal(error: NotAccepted) -> Refused:
    status, title, more = _REFUSALS.get(type(error), _INVALID)
    headers = {"Retry-After": str(error.seconds)} if error.seconds else {}
    return Refused(status, error.code, title, f"{error}{more}", headers)
