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
@answering("Print the cancelled submission as one JSON object.")
def cancel(asked: Portal, id: str) -> Answer:  # noqa: A002 - the argument's name
    """Cancel a submission by its ID, or by the address of its page.

    If no worker has started it, it doesn't use an attempt.

    \b
    Example:
      tilelab cancel 5d2c6e0f8a1b4c3d
    """
    found = asked.cancel(id)
    return Answer(found, lambda: _text(read(Submission, found), asked.url))


def _text(submission: Submission, url: str) -> str:
    """Say whether it used an attempt. For a step that was sent to a worker, only the page knows."""
    rank = submission.mode == "rank"
    if any(step.attempt for step in submission.steps):
        used = "an attempt" if rank else "one of this hour's checks"
        page = page_of(url, safe(submission.id))
        return f"Cancelled {safe(submission.id)}. If a worker had started it, it used {used}: {page}"
    unused = "an attempt" if rank else "a check"
    return f"Cancelled {safe(submission.id)}. It did not use {unused}."
