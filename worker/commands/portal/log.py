from __future__ import annotations

import sys

import click

from worker.client.answers import Submission, read
from worker.client.portal import Portal, submission_path
from worker.commands.answer import Answer, answering
from worker.commands.portal.connection import EXITS, in_portal, latest_id, submission_id
from worker.commands.root import WrongUse


@click.command(epilog=EXITS)
@click.argument("id", required=False)
@click.option("--hint", is_flag=True, help="Ask for the next hint first. Course staff see that you asked.")
@in_portal
@answering("Print the submission and its report as one JSON object.")
def log(asked: Portal, id: str | None, hint: bool) -> Answer:  # noqa: A002 - the argument's name
    """Show a submission's findings, compiler warnings and printed output.

    Without ID, show your latest submission.

    \b
    Examples:
      tilelab log
      tilelab log 5d2c6e0f8a1b4c3d --json
      tilelab log --hint
    """
    public_id = latest_id(asked) if id is None else submission_id(id)
    found = asked.submission(public_id) if hint else None
    if found and found.following_hint:
        asked.show_hint(public_id, found.following_hint)
    plain = asked.plain(submission_path(public_id))
    found = read(Submission, plain)
    if found.result is None:
        raise WrongUse(_without_report(found, public_id))
    return Answer(plain, lambda: _text(asked, found, public_id))


def _text(portal: Portal, submission: Submission, public_id: str) -> str:
    from kernels.rendering.report import log_text
    from worker.commands.portal.text import next_hint, title
    from worker.commands.terminal import style_of

    report, style = submission.report(), style_of(sys.stdout)
    if report is None:
        return ""
    shown = f"{title(submission, style)}\n{log_text(report, portal.source(public_id), style)}"
    return f"{shown}{next_hint(submission)}"


def _without_report(submission: Submission, public_id: str) -> str:
    if submission.state == "cancelled":
        return f"{public_id} was cancelled, so it has no report."
    return f"{public_id} is not graded yet. Wait for it with `tilelab status {public_id} --watch`."
