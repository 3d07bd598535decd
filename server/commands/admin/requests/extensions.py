"""`tilelab admin assignment requests`: extension requests of students."""

from __future__ import annotations

from typing import Any

import click
from sqlalchemy.orm import Session

from kernels.rendering.table import table
from kernels.rendering.text_safety import cut, safe
from server.assignments.extension_requests import find_request, grant_request, open_requests, refuse_request
from server.commands.course_times import METAVAR, NONE, clock_text, read_time, zone_of
from server.commands.database import in_session
from server.commands.names import course_named
from server.commands.options import even_if_lower
from server.courses.service import assignments
from server.talk.models import ExtensionRequest
from worker.commands.answer import Answer, answering
from worker.commands.root import WrongUse

_COLUMNS = 60
_course = click.argument("course")
_number = click.argument("number", type=click.IntRange(1, 2**63 - 1))


@click.group("requests")
def extension_requests() -> None:
    """Show, grant and refuse extension requests of students.

    \b
    Example:
      tilelab admin assignment requests list cs483
      tilelab admin assignment requests grant cs483 7
      tilelab admin assignment requests grant cs483 7 --due 2026-03-05T23:59
      tilelab admin assignment requests refuse cs483 7 "Use your late days."
    """


@extension_requests.command("list")
@_course
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1_000))
@answering()
@in_session
def list_open(session: Session, course: str, limit: int) -> Answer:
    """List the open extension requests in COURSE, oldest first.

    \b
    Example:
      tilelab admin assignment requests list cs483
    """
    of = course_named(session, course)
    found = open_requests(session, [one.id for one in assignments(session, of)], limit)
    head = ["number", "sent", "assignment", "student", "asks for", "reason"]
    rows = [
        [
            str(one.id), clock_text(one.created_at, zone_of(of)), one.assignment.slug, safe(one.person.email),
            clock_text(one.wanted_at, zone_of(of)), cut(safe(one.reason.replace("\n", " ")), _COLUMNS),
        ]
        for one in found
    ]  # fmt: skip
    return Answer(
        [_shown(one) for one in found],
        "\n".join(table([head, *rows], "><<<<<")) if rows else f"No open extension requests in {course}.",
    )


@extension_requests.command()
@_course
@_number
@click.option("--due", default=NONE, metavar=METAVAR, help="Another deadline.  [default: the requested one]")
@click.option("--answer", default="", help="Text for the student.")
@even_if_lower
@answering()
@in_session
def grant(session: Session, course: str, number: int, due: str, answer: str, confirmed: str) -> Answer:
    """Grant request NUMBER of COURSE.

    \b
    Example:
      tilelab admin assignment requests grant cs483 7 --due 2026-03-05T23:59
    """
    found = _find(session, course, number)
    until = read_time("--due", due, found.assignment.course)
    grant_request(session, found, None, answer, confirmed, until)
    return Answer(_shown(found), "Granted.")


@extension_requests.command()
@_course
@_number
@click.argument("answer")
@answering()
@in_session
def refuse(session: Session, course: str, number: int, answer: str) -> Answer:
    """Refuse request NUMBER of COURSE, with an answer for the student.

    \b
    Example:
      tilelab admin assignment requests refuse cs483 7 "Use your late days."
    """
    found = _find(session, course, number)
    refuse_request(session, found, None, answer)
    return Answer(_shown(found), "Refused.")


def _find(session: Session, course: str, number: int) -> ExtensionRequest:
    found = find_request(session, course_named(session, course).id, number)
    if found is None:
        raise WrongUse(f"no request {number}. `tilelab admin assignment requests list {course}` shows the open ones.")
    return found


def _shown(one: ExtensionRequest) -> dict[str, Any]:
    return {
        "number": one.id,
        "assignment": one.assignment.slug,
        "email": one.person.email,
        "wanted_at": one.wanted_at.isoformat(),
        "reason": one.reason,
        "created_at": one.created_at.isoformat(),
        "granted": one.granted,
        "answer": one.answer,
    }
