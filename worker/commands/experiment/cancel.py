"""`tilelab experiment cancel`: cancels an experiment on a server."""

from __future__ import annotations

import click

from worker.commands.answer import Answer, answering
from worker.commands.portal.connection import EXITS, experiment_id, portal


@click.command(epilog=EXITS)
@click.argument("id", callback=lambda *given: experiment_id(given[-1]))
@answering("Print the cancelled experiment as one JSON object.")
def cancel(id: str) -> Answer:  # noqa: A002 - the argument's name
    """Cancel an experiment on your course's server. Its results stay.

    \b
    Example:
      tilelab experiment cancel 5d2c6e0f8a1b4c3d
    """  # noqa: D301 - click reads the escape
    from kernels.rendering.text_safety import safe
    from kernels.wire import to_plain
    from worker.client.experiments import stop

    with portal() as asked:
        found = stop(asked, id)
    text = f"Cancelled {safe(found.name)}. {found.ended:,} of {found.points:,} points have a result."
    return Answer(lambda: to_plain(found), text)
