from __future__ import annotations

from pathlib import Path

import click

from worker.commands.answer import Answer, answering


@click.command(epilog="Exit code: 0 shown, 2 wrong use, 3 a point ended in a system error.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@answering("Print the manifest and all points as one JSON object.")
def show(folder: Path) -> Answer:
    """Show the points of DIR: verdict, speed with interval, speed of light, occupancy and loads.

    \b
    Example:
      tilelab experiment show my
    """
    from worker.commands.experiment.local_run import answer
    from worker.commands.experiment.saved_experiment import opened

    found = opened(folder)
    return answer(found.manifest, found.results, found.folder)
