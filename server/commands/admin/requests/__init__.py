"""`tilelab admin requests`: regrade requests of students."""

from __future__ import annotations

from typing import Any

import click
from sqlalchemy.orm import Session

from kernels.rendering.table import table
from kernels.rendering.text_safety import cut, safe
from server.commands.course_times import clock_text, zone_of
from server.commands.database import in_session
from server.commands.names import course_named
from server.commands.options import even_if_lower
from server.regrades import requests as request_answers
from server.regrades.requests import find_request, requests_in
from server.talk.models import RegradeRequest
from server.text import typed_number
from worker.commands.answer import Answer, answering
from worker.commands.root import WrongUse

_COLUMNS = 60
_course = click.argument("course")
_number = click.argument("number", type=click.IntRange(1, 2**63 - 1))


@click.group()
def requests() -> None:
    """Show, grant and refuse regrade requests of students.

    \b
    Example:
      tilelab admin requests list cs483
      tilelab admin requests grant cs483 7
      tilelab admin requests grant cs483 7 --points 8 --answer "Line 12 is correct."
      tilelab admin requests refuse cs483 7 "The race is in line 12."
    """


@requests.command("list")
@_course
@click.option("--answered", is_flag=True, help="Answered requests, newest first.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1_000))
@answering()
@in_session
def list_all(session: Session, course: str, answered: bool, limit: int) -> Answer:
    """List the open requests in COURSE, oldest first.

    \b
    Example:
      tilelab admin requests list cs483
    """
    of = course_named(session, course)
    found, _ = requests_in(session, of.id, limit, answered=answered)
    head = ["number", "sent", "submission", "student", "reason"]
    rows = [
        [
            str(one.id), clock_text(one.created_at, zone_of(of)), one.submission.public_id,
            safe(one.submission.person.email), cut(safe(one.reason.replace("\n", " ")), _COLUMNS),
        ]
        for one in found
    ]  # fmt: skip
    nothing = f"No {'answered' if answered else 'open'} requests in {course}."
    return Answer([_shown(one) for one in found], "\n".join(table([head, *rows], "><<<<")) if rows else nothing)


@requests.command()
@_course
@_number
@click.option("--points", type=float, help="New points for the assignment.  [default: stage a regrade]")
@click.option("--answer", default="", help="Text for the student.")
@even_if_lower
@answering()
@in_session
def grant(session: Session, course: str, number: int, points: float | None, answer: str, confirmed: str) -> Answer:
    """Grant request NUMBER of COURSE: stage a regrade of its submission, or set the points.

    \b
    Example:
      tilelab admin requests grant cs483 7
      tilelab admin requests grant cs483 7 --points 8 --answer "Line 12 is correct."
    """
    found = _find(session, course, number)
    if points is not None:
        request_answers.grant_points(session, found, None, answer, points, confirmed)
        return Answer(_shown(found), f"Granted: {typed_number(points)} points.")
    request_answers.grant_regrade(session, found, None, answer)
    name = f"{course}/{found.submission.assignment.slug}"
    return Answer(_shown(found), f"Granted: a regrade is staged. Preview: tilelab admin regrades staged {name}")


@requests.command()
@_course
@_number
@click.argument("answer")
@answering()
@in_session
def refuse(session: Session, course: str, number: int, answer: str) -> Answer:
    """Refuse request NUMBER of COURSE, with an answer for the student.

    \b
    Example:
      tilelab admin requests refuse cs483 7 "The race is in line 12."
    """
    found = _find(session, course, number)
    request_answers.refuse(session, found, None, answer)
    return Answer(_shown(found), "Refused.")


def _find(session: Session, course: str, number: int) -> RegradeRequest:
    found = find_request(session, course_named(session, course).id, number)
    if found is None:
        raise WrongUse(f"no request {number}. `tilelab admin requests list {course}` shows the open ones.")
    return found


def _shown(one: RegradeRequest) -> dict[str, Any]:
    return {
        "number": one.id,
        "submission": one.submission.public_id,
        "assignment": one.submission.assignment.slug,
        "email": one.submission.person.email,
        "reason": one.reason,
        "created_at": one.created_at.isoformat(),
        "granted": one.granted,
        "answer": one.answer,
    }
