"""Errors as programs read them: application/problem+json (RFC 9457), each with what to do next."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from flask import Flask, Response, json, render_template, request
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from werkzeug.exceptions import HTTPException

from server.database.faults import Outlook, outlook

MEDIA_TYPE = "application/problem+json"
_RETRY_SECONDS = 5

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Problem:
    """What an error's body says. code: for programs, one for each kind; detail: what happened, and what to do next."""

    status: int
    code: str
    title: str
    detail: str
    type: str = "about:blank"


@dataclass(slots=True)
class Refused(Exception):
    """The request cannot be met; raised wherever that is noticed, answered here."""

    status: int
    code: str
    title: str
    detail: str
    headers: Mapping[str, str] = field(default_factory=dict)


_KNOWN = {
    400: ("bad_request", "The request cannot be read", "Send it as the documentation of the API says."),
    404: ("not_found", "There is nothing here", "Look at the address; what the API has is under /api/v1."),
    405: ("wrong_method", "This address takes other methods", "The header Allow lists them."),
    413: ("too_large", "The request is too large", "A submission is one source of at most 64 KiB."),
    415: ("wrong_media_type", "The body has another type", "Send JSON, with Content-Type: application/json."),
}


def answer_errors(app: Flask) -> None:
    """Let every error of the application end in an answer that says what to do."""
    app.register_error_handler(Refused, _refused)
    app.register_error_handler(HTTPException, _by_status)
    app.register_error_handler(DBAPIError, _database_failed)
    app.register_error_handler(PoolTimeout, _database_away)
    app.register_error_handler(Exception, _fault)


def problem_response(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """The answer: JSON for programs, and a page of one paragraph for whoever is on none of their addresses."""
    if request.path.startswith(("/api/", "/healthz", "/readyz", "/metrics")):
        response = Response(json.dumps(asdict(problem)), problem.status, mimetype=MEDIA_TYPE)
    else:
        response = Response(render_template("problem.html", problem=problem), problem.status)
    response.headers.update(headers or {})
    return response


def database_away() -> Refused:
    """Nothing can be done until the database is back."""
    return Refused(
        503, "database_away", "The database cannot be reached",
        "Nothing was stored. Send the same request again in a few seconds, with the same Idempotency-Key.",
        {"Retry-After": str(_RETRY_SECONDS)},
    )  # fmt: skip


def _refused(error: Refused) -> Response:
    if error.status == 303:
        return Response(status=303, headers=dict(error.headers))
    return problem_response(Problem(error.status, error.code, error.title, error.detail), error.headers)


def _by_status(error: HTTPException) -> Response:
    """What the framework itself refuses."""
    status = error.code or 500
    if status < 400:
        response = Response(status=status)
        response.headers.extend(error.get_headers())
        return response
    code, title, detail = _KNOWN.get(status, (f"http_{status}", error.name, error.description or error.name))
    allowed = getattr(error, "valid_methods", None)
    return problem_response(
        Problem(status, code, title, detail), {"Allow": ", ".join(allowed)} if allowed else None
    )


def _database_failed(error: DBAPIError) -> Response:
    """Away or busy is one thing, a statement that the database refuses is a fault of ours."""
    return _fault(error) if outlook(error) is Outlook.LASTS else _database_away(error)


def _database_away(error: Exception) -> Response:
    logger.warning("the database is away: %s", type(error).__name__)
    return _refused(database_away())


def _fault(error: Exception) -> Response:
    logger.error("a request failed: %s %s", request.method, _place(), exc_info=error)
    return problem_response(
        Problem(
            500,
            "fault",
            "A fault inside Tilelab",
            "It is written in the server's log. Try again, and tell your course's staff if it stays.",
        )
    )


def _place() -> str:
    """The address, for the log; without what is secret in it."""
    rule = request.url_rule
    return rule.rule if rule is not None and "token" in rule.arguments else request.path
