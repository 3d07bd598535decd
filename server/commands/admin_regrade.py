"""`tilelab admin regrade`: grade again what was handed in."""

from __future__ import annotations

import json

import click

from kernels.verdict import Verdict
from server.commands.asking import assignment_named
from server.commands.database import database_in_use
from server.staff.regrading import begin, plan
from server.staff.submissions import Asked
from server.submissions.models import Mode
from worker.commands.root import Exit, leave


@click.command()
@click.argument("assignment", metavar="COURSE/ASSIGNMENT")
@click.option("--submission", default="", metavar="ID", help="Only this one.")
@click.option("--student", default="", help="Only of those whose name or email holds this.")
@click.option(
    "--verdict", type=click.Choice([verdict.value for verdict in Verdict]), help="Only with this verdict."
)
@click.option("--mode", type=click.Choice([mode.value for mode in Mode]), help="Only those for that.")
@click.option("--dry-run", is_flag=True, help="Say how many, and grade none.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def regrade(
    assignment: str,
    submission: str,
    student: str,
    verdict: str | None,
    mode: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Grade submissions to an assignment again, as it is set now.

    It costs students nothing: they keep the verdict that they have until the new one is there, and what they hand in
    goes first. Left out is what waits to be graded anyway.

    \b
    Example:
      tilelab admin regrade cs483/tiled --verdict system_error
      tilelab admin regrade cs483/tiled --dry-run
    """  # noqa: D301 - click reads the escape
    with database_in_use() as sessions, sessions.begin() as session:
        found = assignment_named(session, assignment)
        asked = Asked(
            assignment=found.slug, student=student, verdict=verdict or "", mode=mode or "", one=submission
        )
        planned = plan(session, found.course_id, asked, most=None)
        made = [] if dry_run else begin(session, planned, None)
    if as_json:
        click.echo(json.dumps({"count": planned.count, "waiting": planned.waiting, "jobs": made}))
    else:
        waiting = f"; {planned.waiting:,} wait to be graded anyway" if planned.waiting else ""
        done = "Would be graded again" if dry_run else "Graded again"
        click.echo(f"{done}: {planned.count:,}{waiting}.")
    leave(Exit.ACCEPTED)
