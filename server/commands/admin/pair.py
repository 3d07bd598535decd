"""`tilelab admin pair`: similar submissions that course staff looked at."""

from __future__ import annotations

import click
from sqlalchemy import select
from sqlalchemy.orm import Session

from server.acts.act import Target
from server.commands.acts import Named, verb
from server.copies.looked_at import MARK, TAKE_BACK
from server.copies.similar import other_assignments, work_of
from server.courses.models import Assignment
from server.submissions.models import Submission
from worker.commands.answer import Answer
from worker.commands.root import WrongUse


@click.group()
def pair() -> None:
    """Mark two similar submissions as looked at and fine, or list them again.

    `tilelab admin copies` lists similar submissions. It leaves out marked pairs until either student submits again.

    \b
    Example:
      tilelab admin pair fine 6f1c2a9e 81d0c7b3 --note "worked together, allowed"
      tilelab admin pair back 6f1c2a9e 81d0c7b3
    """


def _pair(session: Session, left: str, right: str) -> Target:
    query = select(Assignment).join(Submission, Submission.assignment_id == Assignment.id)
    assignment = session.scalar(query.where(Submission.public_id == left))
    compared = [] if assignment is None else [assignment, *other_assignments(session, assignment, None)]
    works = tuple(work_of(session, name, *compared) if compared else None for name in (left, right))
    if assignment is None or None in works:
        raise WrongUse("name two submissions of students to the same exercise; see `tilelab admin copies`.")
    return Target(assignment.course, assignment, item=works)


_PAIR = Named((click.argument("left"), click.argument("right")), _pair)


@verb(pair, MARK, _PAIR, "note", needed=False)
def fine(_session: Session, on: Target, _: object) -> Answer:
    """Mark submissions LEFT and RIGHT as looked at and fine.

    \b
    Example:
      tilelab admin pair fine 6f1c2a9e 81d0c7b3
    """
    left, right = (work.public_id for work in on.item)
    return Answer({"left": left, "right": right, "fine": True}, "Marked as looked at.")


@verb(pair, TAKE_BACK, _PAIR)
def back(_session: Session, on: Target, _: object) -> Answer:
    """List submissions LEFT and RIGHT among the similar ones again.

    \b
    Example:
      tilelab admin pair back 6f1c2a9e 81d0c7b3
    """
    left, right = (work.public_id for work in on.item)
    return Answer({"left": left, "right": right, "fine": False}, "The pair is listed again.")
