"""`tilelab cancel`: stop the grading of what was handed in."""

from __future__ import annotations

import click

from kernels.rendering.text_safety import safe
from worker.client.answers import Submission, read
from worker.client.portal import Portal
from worker.commands.answer import Answer, answering
from worker.commands.portal.connection import EXITS, in_portal, page_of, submission_id


@click.command(epilog=EXITS)
@click.argument("id", callback=lambda *given: submission_id(given[-1]))
@in_portal
@answering("Print one JSON object: the submission as it is then.")
def cancel(asked: Portal, id: str) -> Answer:  # noqa: A002 - the argument's name
    """Stop the grading of the submission ID; its page's address will do for ID.

    Where no worker had begun it, it is no attempt.

    \b
    Example:
      tilelab cancel 5d2c6e0f8a1b4c3d
    """  # noqa: D301 - click reads the escape
    found = asked.cancel(id)
    return Answer(found, lambda: _text(read(Submission, found), asked.url))


def _text(found: Submission, url: str) -> str:
    """What it cost, as far as the portal says it here: of one that was sent to a worker, its page knows."""
    rank = found.mode == "rank"
    if any(step.attempt for step in found.steps):
        used = "an attempt" if rank else "one of the hour's checks"
        page = page_of(url, safe(found.id))
        return f"{safe(found.id)} is stopped. If a worker had begun it, it is {used} all the same: {page}"
    unused = "no attempt" if rank else "none of the hour's checks"
    return f"{safe(found.id)} is stopped, and is {unused}."
