"""Handing in and looking up, for programs."""

from __future__ import annotations

import logging
from dataclasses import asdict
from datetime import UTC, datetime

from flask import Blueprint, Response, jsonify, request, url_for
from sqlalchemy.orm import Session

from server.courses.service import find_assignment
from server.submissions.answers import AcceptedAnswer
from server.submissions.handing_in import NewSubmission, read_new_submission
from server.submissions.reading import read_submission
from server.submissions.service import (
    Accepted,
    HandedIn,
    IdempotencyConflict,
    NoSuchAssignment,
    NotAccepted,
    NotOpen,
    accept,
)
from server.web.identity import person_asking
from server.web.problems import Refused
from server.web.site import site

submissions = Blueprint("submissions", __name__)

logger = logging.getLogger(__name__)

_REFUSALS: dict[type[NotAccepted], tuple[int, str, str, str]] = {
    NoSuchAssignment: (
        404, "no_such_assignment", "There is no such assignment",
        " It has another name, or you are not in its course. `assignment` is COURSE/ASSIGNMENT, such as demo/tiled.",
    ),
    NotOpen: (403, "not_open", "The assignment is not open", ""),
    IdempotencyConflict: (
        409, "key_used", "The Idempotency-Key was used for something else",
        " Send a new key with a new submission, and the old one only with the very same request.",
    ),
}  # fmt: skip
_INVALID = (422, "invalid", "A field has a value that it cannot have", "")


@submissions.post("/submissions")
def hand_in() -> tuple[Response, int, dict[str, str]]:
    """Accept a submission: once this is answered, it is graded whatever happens."""
    _refuse_other_types()
    person = person_asking().id
    asked = read_new_submission(_body(), request.headers.get("Idempotency-Key"))
    with site().readers.begin() as session:
        assignment = _assignment(session, asked)
    accepted = _accept(HandedIn(person, assignment, asked.source, asked.mode, asked.device_class, asked.key))
    url = url_for("submissions.look_up", public_id=accepted.submission.public_id)
    logger.info("accepted submission %s", accepted.submission.public_id)
    answer = AcceptedAnswer(accepted.submission.public_id, url, accepted.position)
    return jsonify(asdict(answer)), 202, {"Location": url}


@submissions.get("/submissions/<public_id>")
def look_up(public_id: str) -> Response:
    """What became of a submission: for its owner, and for the staff of its course."""
    person = person_asking().id
    with site().readers.begin() as session:
        answer = read_submission(session, person, public_id, datetime.now(UTC))
    if answer is None:
        raise Refused(
            404, "no_such_submission", "There is no such submission",
            "It has another id, or is someone else's. The answer to handing in holds its address.",
        )  # fmt: skip
    return jsonify(asdict(answer))


def _refuse_other_types() -> None:
    """A form of a foreign page can send text, but no JSON."""
    if request.mimetype != "application/json":
        raise Refused(
            415, "wrong_media_type", "The body has another type",
            "Send JSON, with the header `Content-Type: application/json`.",
        )  # fmt: skip


def _body() -> bytes:
    """All of it: of one that came in pieces, without a length, the framework hands out no more than it allows."""
    body = request.get_data()
    if request.content_length is None:
        request.stream.read(1)  # refuses it where there is more
    return body


def _assignment(session: Session, asked: NewSubmission) -> int:
    """Which is meant; whether this person may hand in for it is seen when it is accepted."""
    found = find_assignment(session, f"{asked.course}/{asked.assignment}")
    if found is None:
        raise _refusal(NoSuchAssignment("There is no such assignment in your courses."))
    return found.id


def _accept(handed_in: HandedIn) -> Accepted:
    try:
        return accept(site().sessions, handed_in)
    except NotAccepted as error:
        raise _refusal(error) from error


def _refusal(error: NotAccepted) -> Refused:
    status, code, title, more = _REFUSALS.get(type(error), _INVALID)
    return Refused(status, code, title, f"{error}{more}")
