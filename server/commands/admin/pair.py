"""`tilelab admin pair`: similar submissions that course staff looked at."""

from __future__ import annotations

import click
from sqlalchemy import select
from sqlalchemy.orm import Session

from server.commands.database import in_session
from server.copies.looked_at import mark_fine, take_back
from server.copies.similar import Work, work_of
from server.courses.models import Assignment
from server.submissions.models import Submission
from worker.commands.answer import Answer, answering
from worker.commands.root import WrongUse

_left = click.argument("left")
_right = click.argument("right")


@click.group()
def pair() -> None:
    """Mark two similar submissions as looked at and fine, or list them again.

    `tilelab admin copies` lists similar submissions. It leaves out marked pairs until either student submits again.

    \b
    Example:
      tilelab admin pair fine 6f1c2a9e 81d0c7b3 --note "worked together, allowed"
      tilelab admin pair back 6f1c2a9e 81d0c7b3
    """  # noqa: D301 - click reads the escape


@pair.command()
@_left
@_right
@click.option("--note", default="", help="Note, for course staff only; not in the audit.")
@answering()
@in_session
def fine(session: Session, left: str, right: str, note: str) -> Answer:
    """Mark submissions LEFT and RIGHT as looked at and fine.

    \b
    Example:
      tilelab admin pair fine 6f1c2a9e 81d0c7b3
    """  # noqa: D301 - click reads the escape
    assignment, works = _works(session, left, right)
    mark_fine(session, assignment, works, None, note)
    return Answer({"left": left, "right": right, "fine": True}, "Marked as looked at.")


@pair.command()
@_left
@_right
@answering()
@in_session
def back(session: Session, left: str, right: str) -> Answer:
    """List submissions LEFT and RIGHT among the similar ones again.

    \b
    Example:
      tilelab admin pair back 6f1c2a9e 81d0c7b3
    """  # noqa: D301 - click reads the escape
    assignment, works = _works(session, left, right)
    take_back(session, assignment, works, None)
    return Answer({"left": left, "right": right, "fine": False}, "The pair is listed again.")


def _works(session: Session, left: str, right: str) -> tuple[Assignment, tuple[Work, Work]]:
    query = select(Assignment).join(Submission, Submission.assignment_id == Assignment.id)
    assignment = session.scalar(query.where(Submission.public_id == left))
    found = [None if assignment is None else work_of(session, assignment, name) for name in (left, right)]
    one, other = found
    if assignment is None or one is None or other is None:
        raise WrongUse("name two submissions of students to the same assignment; see `tilelab admin copies`.")
    return assignment, (one, other)
