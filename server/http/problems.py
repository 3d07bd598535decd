"""Turn every error into an answer that says what to do next.

Programs get application/problem+json (RFC 9457). People get a page that needs no database, which may be down.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from urllib.parse import quote

from flask import Flask, Response, current_app, json, render_template, request
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm.exc import StaleDataError
from werkzeug.exceptions import HTTPException

from server.bounded_work import NoFreeProcess, TooCostly
from server.database.faults import Outlook, is_conflict, outlook


def page_above() -> str:
    """The nearest address above the requested one that shows a page; at the latest the start page."""
    adapter = current_app.create_url_adapter(request)
    above = request.path.rstrip("/")
    while adapter is not None and above:
        above = above.rpartition("/")[0]
        for address in (f"{above}/", above):
            if address and adapter.test(address, "GET"):
                return quote(address)
    return "/"


MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = 5
NOT_TAKEN = "tilelab.not_taken"
"""A WSGI environment key: the reason to refuse a request before anything else looks at it."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Problem:
    """The body of an error. code: for programs, one for each kind; detail: what happened, and what to do."""

    status: int
    code: str
    title: str
    detail: str
    type: str = "about:blank"


@dataclass(slots=True)
class Refused(Exception):
    """Raised anywhere to refuse a request; answered here.

    page: the text for people, if they must do something else than `detail` says
    """

    status: int
    code: str
    title: str
    detail: str
    headers: Mapping[str, str] = field(default_factory=dict)
    page: str = ""


_KNOWN = {
    400: ("bad_request", "The request cannot be read", "Send it as the API's documentation describes."),
    404: ("not_found", "There is nothing here", "Check the address. The API is under /api/v1."),
    405: ("wrong_method", "Method not allowed", "The header Allow lists the methods of this address."),
    413: ("too_large", "The request is too large", "The limit for a submission is one source of 64 KiB."),
    415: ("wrong_media_type", "Unsupported content type", "Send JSON, with Content-Type: application/json."),
}
_ON_PAGES = {
    400: "Go back and send it again. If this happens again, tell your course staff what you did.",
    404: "The address is incorrect, or its page was removed. The start page lists your courses.",
    405: "This page doesn’t accept what was sent. Reload the page, then try again.",
    413: "Nothing was stored. The limit for a submission is 64 KiB. Go back and choose another file.",
    415: "Go back and send it again. If this happens again, tell your course staff what you did.",
}
_LONGEST_TYPED = 2**18


def answer_errors(app: Flask) -> None:
    """Answer every error of the application with a problem."""
    app.register_error_handler(Refused, _refused)
    app.register_error_handler(HTTPException, _by_status)
    app.register_error_handler(IntegrityError, _not_first)
    app.register_error_handler(StaleDataError, _changed_meanwhile)
    app.register_error_handler(DBAPIError, _database_failed)
    app.register_error_handler(PoolTimeout, _database_away)
    app.register_error_handler(TooCostly, _too_costly)
    app.register_error_handler(NoFreeProcess, lambda _error: _refused(busy()))
    app.register_error_handler(Exception, _fault)


def problem_response(problem: Problem, headers: Mapping[str, str] | None = None, page: str = "") -> Response:
    """The answer: JSON for programs, a short page for people.

    page: the page's text, instead of the problem's detail
    """
    if _is_for_programs():
        response = Response(json.dumps(asdict(problem)), problem.status, mimetype=MEDIA_TYPE)
    else:
        text = _page(problem, page or problem.detail, (headers or {}).get("Location", ""))
        response = Response(text, problem.status)
    response.headers.update(headers or {})
    return response


def once_more() -> str:
    if request.method in {"GET", "HEAD"}:
        return "Load this page again in a few seconds."
    return "Nothing was stored. Go back and try again in a few seconds."


def busy() -> Refused:
    return Refused(
        503, "busy", "The server is busy",
        "Nothing was done. Send the same request again in a few seconds.",
        {"Retry-After": str(RETRY_SECONDS)}, once_more(),
    )  # fmt: skip


def database_away() -> Refused:
    return Refused(
        503, "database_away", "The database cannot be reached",
        "Nothing was stored. Send the same request again in a few seconds, with the same Idempotency-Key.",
        {"Retry-After": str(RETRY_SECONDS)}, once_more(),
    )  # fmt: skip


def log_fault(error: BaseException | None) -> None:
    """Log a system error and its address, without secrets."""
    logger.error("a request failed: %s %s", request.method, _place(), exc_info=error)


def _page(problem: Problem, detail: str, way: str) -> str:
    """Render the page. way: a link to the next step; "" for none."""

    def page(*, bare: bool) -> str:
        return render_template(
            "problem.html", problem=problem, detail=detail, way=way, typed=_typed(problem.status), bare=bare
        )

    if problem.status < 500 and NOT_TAKEN not in request.environ:
        # The frame queries the database for the reader. If that fails, render the page without it. While staff view a
        # course as a student, it may also refuse the page. Then the reader is known.
        with suppress(DBAPIError, PoolTimeout, Refused):
            return page(bare=False)
    return page(bare=True)


def _typed(status: int) -> str:
    """The longest multi-line text that a form sent, for copying: the browser may lose it on the way back."""
    if request.method != "POST" or status in {400, 408, 413}:
        return ""
    try:
        texts = [text for text in request.form.values() if "\n" in text.strip()]
    except HTTPException:
        return ""
    return max(texts, key=len, default="")[:_LONGEST_TYPED]


def _is_for_programs() -> bool:
    return request.path.startswith(("/api/", "/healthz", "/readyz", "/metrics"))


def _refused(error: Refused) -> Response:
    if error.status == 303:
        return Response(status=303, headers=dict(error.headers))
    return problem_response(Problem(error.status, error.code, error.title, error.detail), error.headers, error.page)


def _too_costly(error: TooCostly) -> Response:
    logger.warning("%s %s was stopped, because it took too much processor time: %s", request.method, _place(), error)
    return _refused(Refused(
        503, "too_costly", "This takes too much time",
        "The server stopped, because a text needs too much processor time. A shorter or plainer text needs less.", {},
        "The server stopped, because a text on this page needs too much processor time. Tell your course staff.",
    ))  # fmt: skip


def _by_status(error: HTTPException) -> Response:
    status = error.code or 500
    if status < 400:
        response = Response(status=status)
        response.headers.extend(error.get_headers())
        return response
    if status == 405 and request.method in {"GET", "HEAD"} and not _is_for_programs():
        # A refused form came back at this address, and its reader reloads it or returns to it.
        return Response(status=303, headers={"Location": page_above()})
    code, title, detail = _KNOWN.get(status, (f"http_{status}", error.name, error.description or error.name))
    allowed = getattr(error, "valid_methods", None)
    return problem_response(
        Problem(status, code, title, detail),
        {"Allow": ", ".join(allowed)} if allowed else None,
        _ON_PAGES.get(status, ""),
    )


def _database_failed(error: DBAPIError) -> Response:
    """Answer 503 if the database is down or busy, and 500 for a statement that it refuses."""
    return _fault(error) if outlook(error) is Outlook.LASTS else _database_away(error)


def _database_away(error: Exception) -> Response:
    logger.warning("the database is away: %s", type(error).__name__)
    return _refused(database_away())


def _not_first(error: IntegrityError) -> Response:
    """Answer 409 if another request wrote first, and 500 for any other broken constraint."""
    return _changed_meanwhile(error) if is_conflict(error) else _fault(error)


def _changed_meanwhile(error: Exception) -> Response:
    told = str(getattr(error, "orig", error)).partition("\n")[0]
    logger.warning("two requests changed the same: %s %s: %s", request.method, _place(), told)
    return _refused(
        Refused(
            409, "changed_meanwhile", "This was changed at the same moment",
            "Another request changed it first, or this request was sent twice. Read the current state, and send the "
            "request again if it is still needed.", {},
            "It changed meanwhile, or the request was sent twice. Go back, reload the page, and send it again if "
            "needed.",
        )
    )  # fmt: skip


def _fault(error: Exception) -> Response:
    log_fault(error)
    return problem_response(
        Problem(
            500,
            "fault",
            "Server error",
            "The server's log has the details. Try again. If it happens again, tell your course staff.",
        )
    )


def _place() -> str:
    """The address for the log, without secrets."""
    rule = request.url_rule
    return rule.rule if rule is not None and "token" in rule.arguments else request.path
