"""`tilelab log`: all that was found and said about a submission."""

from __future__ import annotations

import json
import sys

import click

from worker.client.answers import Submission, read
from worker.client.portal import submission_path
from worker.commands.portal.connection import EXITS, latest_id, portal, submission_id
from worker.commands.root import Exit, WrongUse, leave


@click.command(epilog=EXITS)
@click.argument("id", required=False)
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object: the submission, with its report."
)
def log(id: str | None, as_json: bool) -> None:  # noqa: A002 - the argument's name
    """Show what was found in the submission ID, what the compiler said, and what the kernel printed.

    Without ID, of your latest submission.

    \b
    Examples:
      tilelab log
      tilelab log 5d2c6e0f8a1b4c3d --json
    """  # noqa: D301 - click reads the escape
    from worker.commands.portal.text import log_text, title
    from worker.commands.terminal import style_of

    with portal() as asked:
        public_id = latest_id(asked) if id is None else submission_id(id)
        plain = asked.plain(submission_path(public_id))
        found = read(Submission, plain)
        if found.result is None:
            raise WrongUse(_without_report(found, public_id))
        if as_json:
            click.echo(json.dumps(plain, ensure_ascii=True))
        elif report := found.report():
            style = style_of(sys.stdout)
            click.echo(title(found, style))
            click.echo(log_text(report, asked.source(public_id), style))
    leave(Exit.ACCEPTED)


def _without_report(found: Submission, public_id: str) -> str:
    if found.state == "cancelled":
        return f"{public_id} was stopped, so there is no report."
    return f"{public_id} is not graded yet; `tilelab status {public_id} --watch` waits for it."
