"""`tilelab up`: the whole server on one machine."""

from __future__ import annotations

from pathlib import Path

import click

from worker.commands.root import SystemFault


@click.command(epilog="Exit code: 0 ended on request, 2 wrong use, 3 something needed is missing.")
@click.option("--demo", is_flag=True, help="Create a demo course and submit one kernel.")
@click.option("--data", type=click.Path(path_type=Path), help="Folder for all data.  [default: a folder of your user]")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="Port; 0 picks a free one."
)
@click.option("--verbose", is_flag=True, help="Also show the parts' output, which is always in the log.")
@click.option("--allow-missing-isolation", "allow_gaps", is_flag=True, help="Grade even if some isolation is missing.")
def up(demo: bool, data: Path | None, host: str, port: int, verbose: bool, allow_gaps: bool) -> None:
    """Run the whole server on this machine until Ctrl-C: portal, queue, workers and database.

    Keeps its data in one folder, with SQLite and its own Redis. DATABASE_URL and REDIS_URL replace these. Restarts
    parts that fail. Start it again with the same folder to continue.

    With --demo, DATA/demo.json lists the accounts.

    \b
    Examples:
      tilelab up --demo
      tilelab up --data /srv/tilelab --host 0.0.0.0 --port 80
    """
    from server.up.data_folder import default_folder
    from server.up.whole_server import CannotRun, Options, run_everything

    worker = ("--allow-missing-isolation",) if allow_gaps else ()
    options = Options(data or default_folder(), host, port, demo=demo, verbose=verbose, worker=worker)
    try:
        run_everything(options, click.echo)
    except CannotRun as error:
        raise SystemFault(str(error)) from error
