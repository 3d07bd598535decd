"""`tilelab log`: all that was found and said about a submission."""

from __future__ import annotations

import sys

import click

from worker.commands.portal import EXITS, latest_id, portal, submission_id
from worker.commands.root import Exit, WrongUse, leave


@click.command(epilog=EXITS)
@click.argument("id", required=False)
def log(id: str | None) -> None:  # noqa: A002 - the argument's name
    """Show what was found in the submission ID, what the compiler said, and what the kernel printed.

    Without ID, of your latest submission.

    \b
    Examples:
      tilelab log
      tilelab log 5d2c6e0f8a1b4c3d
    """  # noqa: D301 - click reads the escape
    from worker.commands.portal_text import log_text
    from worker.commands.terminal import style_of

    with portal() as asked:
        public_id = latest_id(asked) if id is None else submission_id(id)
        report = asked.submission(public_id).report()
        if report is None:
            raise WrongUse(
                f"{public_id} is not graded yet; `tilelab status {public_id} --watch` waits for it."
            )
        click.echo(log_text(report, asked.source(public_id), style_of(sys.stdout)))
    leave(Exit.ACCEPTED)
