"""`tilelab up`: everything on one machine."""

from __future__ import annotations

from pathlib import Path

import click

from worker.commands.root import SystemFault


@click.command(
    epilog="Exit code: 0 when asked to end, 2 wrong use, 3 something that is needed cannot be had."
)
@click.option("--demo", is_flag=True, help="Make a course to look at, and hand in one kernel.")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="The folder for all that is kept; one of this user's by default.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option(
    "--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one."
)
@click.option("--verbose", is_flag=True, help="Show what the parts write, too; it is in the log in any case.")
@click.option(
    "--allow-missing-isolation",
    "allow_gaps",
    is_flag=True,
    help="Grade though some isolation is missing here.",
)
def up(demo: bool, data: Path | None, host: str, port: int, verbose: bool, allow_gaps: bool) -> None:
    """Run everything on this machine, until Ctrl-C: portal, queue, workers and a database.

    Keeps its data in one folder, in SQLite, and starts a Redis of its own, unless DATABASE_URL or REDIS_URL say
    otherwise. A part that dies is started again. A second start with the same folder goes on where the first ended.

    With --demo, DATA/demo.json tells who may sign in.

    \b
    Examples:
      tilelab up --demo
      tilelab up --data /srv/tilelab --host 0.0.0.0 --port 80
    """  # noqa: D301 - click reads the escape
    from server.up.data_folder import default_folder
    from server.up.running import CannotRun, Options, run_everything

    worker = ("--allow-missing-isolation",) if allow_gaps else ()
    options = Options(data or default_folder(), host, port, demo=demo, verbose=verbose, worker=worker)
    try:
        run_everything(options, click.echo)
    except CannotRun as error:
        raise SystemFault(str(error)) from error
