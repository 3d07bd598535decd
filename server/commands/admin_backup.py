"""`tilelab admin backup`: the whole database in one file."""

from __future__ import annotations

import json
from pathlib import Path

import click

from server.commands.database import engine_in_use
from worker.commands.progress import Progress
from worker.commands.root import Exit, WrongUse, leave


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def backup(file: Path, as_json: bool) -> None:
    """Write the whole database into FILE, as it is at this moment; the server may go on.

    The file holds everything, people and their work included: only its owner may read it; keep it so. It can be
    restored into PostgreSQL and into SQLite, whichever it came from.

    \b
    Example:
      tilelab admin backup /var/backups/tilelab-$(date +%F).zip
    """  # noqa: D301 - click reads the escape
    from server.operations.backup import back_up

    with engine_in_use() as engine, Progress() as progress:
        try:
            manifest = back_up(engine, file, lambda table: progress.show(f"writing {table}"))
        except OSError as error:
            raise WrongUse(f"{file} cannot be written: {error.strerror or error}.") from error
    size = file.stat().st_size
    if as_json:
        click.echo(
            json.dumps(
                {"file": str(file), "rows": manifest.rows, "bytes": size, "revision": manifest.revision}
            )
        )
    else:
        click.echo(f"Wrote {manifest.rows:,} rows into {file}, {size:,} bytes.")
    leave(Exit.ACCEPTED)
