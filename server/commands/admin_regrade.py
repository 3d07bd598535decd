"""`tilelab admin regrade`: grade again what was handed in."""

from __future__ import annotations

import json

import click

from kernels.verdict import Verdict
from server.commands.asking import assignment_named
from server.commands.database import database_in_use
from server.commands.moments import read_time
from server.staff.regrading import begin, plan, runs
from server.staff.submissions import Asked
from server.submissions.models import Mode
from worker.commands.root import Exit, WrongUse, leave


@click.command()
@click.argument("assignment", metavar="COURSE/ASSIGNMENT")
@click.option("--submission", default="", metavar="ID", help="Only this one.")
@click.option("--student", default="", help="Only of those whose name or email holds this.")
@click.option(
    "--verdict", type=click.Choice([verdict.value for verdict in Verdict]), help="Only with this verdict."
)
@click.option("--mode", type=click.Choice([mode.value for mode in Mode]), help="Only those for that.")
@click.option(
    "--worker", default="", metavar="NAME", help="Only where a worker whose name begins so had a part."
)
@click.option("--since", metavar="TIME", help="Only what was handed in from then on.")
@click.option("--until", metavar="TIME", help="Only what was handed in until then.")
@click.option("--dry-run", is_flag=True, help="Say how many, and grade none.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def regrade(
    assignment: str,
    submission: str,
    student: str,
    verdict: str | None,
    mode: str | None,
    worker: str,
    since: str | None,
    until: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
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
        asked = Asked(
            assignment=found.slug, student=student, verdict=verdict or "", mode=mode or "", one=submission,
            worker=worker, since=None if since is None else read_time("--since", since, found.course),
            until=None if until is None else read_time("--until", until, found.course),
        )  # fmt: skip
        planned = plan(session, found.course_id, asked)
        if submission and not planned.submissions:
            raise WrongUse(
                f"{assignment} has no submission {submission} that fits; tilelab admin submissions lists all."
            )
        made = [] if dry_run or not planned.count else begin(session, planned, None)
        if made:
            session.flush()
            number = runs(session, found.course_id, 1)[0].number
    if as_json:
        told = {"count": planned.count, "waiting": planned.waiting, "jobs": made, "regrade": number or None}
        click.echo(json.dumps(told))
    else:
        waiting = f"; {planned.waiting:,} wait to be graded anyway" if planned.waiting else ""
        done = "Would be queued" if dry_run else "Queued to be graded again"
        course = assignment.partition("/")[0]
        follow = f" `tilelab admin regrades show {course} {number}` says how far they are." if number else ""
        click.echo(f"{done}: {planned.count:,}{waiting}.{follow}")
    leave(Exit.ACCEPTED)
