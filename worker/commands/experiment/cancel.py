"""`tilelab experiment cancel` and `retry`: change an experiment on a server."""

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


@click.command(epilog=EXITS)
@click.argument("id", callback=lambda *given: experiment_id(given[-1]))
@answering("Print the experiment as one JSON object.")
def retry(id: str) -> Answer:  # noqa: A002 - the argument's name
    """Run the points again that ended in a system error. Other results stay.

    \b
    Example:
      tilelab experiment retry 5d2c6e0f8a1b4c3d
    """  # noqa: D301 - click reads the escape
    from kernels.rendering.text_safety import safe
    from kernels.wire import to_plain
    from worker.client.experiments import run_again

    with portal() as asked:
        found = run_again(asked, id)
    left = found.points - found.ended
    text = f"{safe(found.name)} runs again: {left:,} of {found.points:,} points have no result yet."
    return Answer(lambda: to_plain(found), f"{text}\nFollow it with `tilelab experiment status {id} --wait`.")
