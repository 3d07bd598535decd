"""`tilelab admin regrade`: grade again what was handed in."""

from __future__ import annotations

from typing import Any

import click

from server.commands.database import database_in_use
from server.commands.filters import filter_options, filtered
from server.commands.names import assignment_named
from server.staff.submissions.queries import Asked
from server.staff.submissions.regrades import begin, plan, runs
from worker.commands.answer import Answer, answering
from worker.commands.root import WrongUse


@click.command()
@click.argument("assignment", metavar="COURSE/ASSIGNMENT")
@click.option("--submission", default="", metavar="ID", help="Only this one.")
@filter_options
@click.option("--dry-run", is_flag=True, help="Say how many, and grade none.")
@answering()
def regrade(assignment: str, submission: str, dry_run: bool, **given: Any) -> Answer:
    """Grade submissions to an assignment again, as it is set now.

    It costs students nothing: they keep the verdict that they have until the new one is there, and what they hand in
    goes first. Left out is what waits to be graded anyway. `tilelab admin regrades` shows how far it is. A time that
    names no zone is one on the course's clock.

    \b
    Example:
      tilelab admin regrade cs483/tiled --verdict system_error
      tilelab admin regrade cs483/tiled --worker gpu-host-2 --since 2026-03-01 --dry-run
    """  # noqa: D301 - click reads the escape
    number = 0
    with database_in_use() as sessions, sessions.begin() as session:
        found = assignment_named(session, assignment)
        asked = filtered(Asked(found.slug, one=submission), found.course, given)
        planned = plan(session, found.course_id, asked)
        if submission and not planned.submissions:
            raise WrongUse(
                f"{assignment} has no submission {submission} that fits; tilelab admin submissions lists all."
            )
        made = [] if dry_run or not planned.count else begin(session, planned, None)
        if made:
            session.flush()
            number = runs(session, found.course_id, 1)[0].number
    waiting = f"; {planned.waiting:,} wait to be graded anyway" if planned.waiting else ""
    done = "Would be queued" if dry_run else "Queued to be graded again"
    course = assignment.partition("/")[0]
    follow = f" `tilelab admin regrades show {course} {number}` says how far they are." if number else ""
    return Answer(
        {"count": planned.count, "waiting": planned.waiting, "jobs": made, "regrade": number or None},
        f"{done}: {planned.count:,}{waiting}.{follow}",
    )
