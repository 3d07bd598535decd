"""`tilelab admin regrade`: regrades submissions."""

from __future__ import annotations

from typing import Any

import click

from server.commands.database import database_in_use
from server.commands.names import assignment_named
from server.commands.options import criteria_from, even_if_lower, filter_options
from server.regrades.service import begin, begin_staged, plan, runs
from worker.commands.answer import Answer, answering
from worker.commands.root import WrongUse


@click.command()
@click.argument("assignment", metavar="COURSE/ASSIGNMENT")
@filter_options("assignment")
@click.option("--stage", "staged", is_flag=True, help="Change nothing until you apply the new verdicts.")
@click.option("--dry-run", is_flag=True, help="Only show how many.")
@even_if_lower
@answering()
def regrade(assignment: str, staged: bool, dry_run: bool, confirmed: str, **given: Any) -> Answer:
    """Regrade an assignment's submissions with its current settings.

    Without --stage, each new verdict counts when it is ready. If students may lose points, the command names them and
    changes nothing, until you add --yes. With --stage, see `tilelab admin regrades staged`.

    Regrading uses no attempts. Old verdicts stay until the new ones are ready, and new submissions go first.
    Submissions that already wait are left out. Follow the progress with `tilelab admin regrades`. Times without a zone
    are in the course's time zone.

    \b
    Example:
      tilelab admin regrade cs483/tiled --stage
      tilelab admin regrade cs483/tiled --verdict system_error
      tilelab admin regrade cs483/tiled --worker gpu-host-2 --since 2026-03-01 --dry-run
    """
    number = 0
    with database_in_use() as sessions, sessions.begin() as session:
        found = assignment_named(session, assignment)
        asked = criteria_from(found.course, given | {"assignment": found.slug})
        planned = plan(session, found.course_id, asked)
        if asked.submission and not planned.submissions:
            raise WrongUse(
                f"{assignment} has no matching submission {asked.submission}. `tilelab admin submissions` lists all."
            )
        made: list[int] = []
        if planned.count and not dry_run:
            made = begin_staged(session, planned, None) if staged else begin(session, planned, None, confirmed)
        if made and not staged:
            session.flush()
            number = runs(session, found.course_id, 1)[0].number
    waiting = f"; {planned.waiting:,} are already waiting" if planned.waiting else ""
    done = "Dry run, would regrade" if dry_run else "Queued for regrading"
    course = assignment.partition("/")[0]
    if staged and made:
        done = "Staged"
    follow = f" See what would change with `tilelab admin regrades staged {assignment}`." if staged and made else ""
    if number:
        follow = f" Follow it with `tilelab admin regrades show {course} {number}`."
    return Answer(
        {"count": planned.count, "waiting": planned.waiting, "jobs": made, "regrade": number or None},
        f"{done}: {planned.count:,}{waiting}.{follow}",
    )
