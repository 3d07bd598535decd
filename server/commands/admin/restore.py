"""`tilelab admin restore`: reads a backup into an empty database."""

from __future__ import annotations

from pathlib import Path

import click

from server.commands.database import engine_in_use
from worker.commands.answer import Answer, answering
from worker.commands.progress import Progress
from worker.commands.root import SystemFault, WrongUse


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@answering()
def restore(file: Path) -> Answer:
    """Read a backup into the empty database in DATABASE_URL. Restores all of it, or nothing.

    Creates missing tables. The backup contains people whom you erased later: erase them again.

    \b
    Example:
      DATABASE_URL=postgresql://tilelab@db/new tilelab admin restore tilelab-2026-03-01.zip
    """
    from server.operations.backup import RestoreRefused, restore

    with engine_in_use() as engine, Progress() as progress:
        try:
            manifest = restore(engine, file, lambda table: progress.show(f"reading {table}"))
        except RestoreRefused as error:
            raise SystemFault(str(error)) from error
        except OSError as error:
            raise WrongUse(f"{file}: cannot read the file ({error.strerror or error}).") from error
    shown = {"file": str(file), "rows": manifest.rows, "made_at": manifest.made_at}
    line = f"Restored {manifest.rows:,} rows from the backup of {manifest.made_at}."
    return Answer(shown, line)
