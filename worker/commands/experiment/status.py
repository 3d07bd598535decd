from __future__ import annotations

import sys
import time

import click

from worker.commands.answer import Answer, answering
from worker.commands.portal.connection import EXITS, experiment_id, portal

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 5.0
_PATIENCE_SECONDS = 600.0


@click.command(epilog=EXITS)
@click.argument("id", callback=lambda *given: experiment_id(given[-1]))
@click.option("--wait", is_flag=True, help="Wait until every point has a result.")
@answering("Print the experiment and its points as one JSON object.")
def status(id: str, wait: bool) -> Answer:  # noqa: A002 - the argument's name
    """Show an experiment on your course's server, by its ID or the address of its page.

    \b
    Examples:
      tilelab experiment status 5d2c6e0f8a1b4c3d
      tilelab experiment status 5d2c6e0f8a1b4c3d --wait --json
    """
    from kernels.experiment.result import to_json
    from kernels.rendering.experiment import results_text
    from kernels.rendering.text_safety import safe
    from kernels.wire import to_plain
    from worker.client.experiments import fetch, look
    from worker.commands.progress import Progress
    from worker.commands.terminal import style_of

    with portal() as asked, Progress() as progress:
        found, pause = look(asked, id), _FIRST_PAUSE
        while wait and not found.over:
            progress.show(f"{found.ended:,} of {found.points:,} points")
            time.sleep(pause)
            pause = min(1.5 * pause, _LONGEST_PAUSE)
            found = look(asked, id, _PATIENCE_SECONDS)
        results = list(fetch(asked, id, _PATIENCE_SECONDS if wait else 0.0))
        page = f"{asked.url}/experiments/{found.id}"
    failed = (
        f" Points with a system error: {found.failed:,}. Run these again with `tilelab experiment retry {id}`."
        if found.failed
        else ""
    )
    search = f"{safe(found.search)}\n\n" if found.search else ""
    asked_about = found.definition.get("plot", {}).get("y", "")
    paused = f" It pauses until {found.paused_until[:16]} UTC." if found.paused_until else ""
    return Answer(
        lambda: {"experiment": to_plain(found), "points": [to_json(result) for result in results]},
        lambda: (
            f"{results_text(found.name, results, found.points, style_of(sys.stdout), asked_about)}\n\n"
            f"{search}The experiment is {found.state}.{failed}{paused}\n{page}"
        ),
    )


@click.command(epilog=EXITS)
@click.argument("id", callback=lambda *given: experiment_id(given[-1]))
@answering("Print the cancelled experiment as one JSON object.")
def cancel(id: str) -> Answer:  # noqa: A002 - the argument's name
    """Cancel an experiment on your course's server. Its results stay.

    \b
    Example:
      tilelab experiment cancel 5d2c6e0f8a1b4c3d
    """
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
    """
    from kernels.rendering.text_safety import safe
    from kernels.wire import to_plain
    from worker.client.experiments import run_again

    with portal() as asked:
        experiment = run_again(asked, id)
    left = experiment.points - experiment.ended
    text = f"{safe(experiment.name)} runs again: {left:,} of {experiment.points:,} points have no result yet."
    return Answer(lambda: to_plain(experiment), f"{text}\nFollow it with `tilelab experiment status {id} --wait`.")
