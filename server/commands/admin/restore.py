"""`tilelab admin restore`: reads a backup into an empty database."""

from __future__ import annotations

from pathlib import Path

import click

from server.commands.database import engine_in_use
from server.settings import read_erased_list
from worker.commands.answer import Answer, answering
from worker.commands.progress import Progress
from worker.commands.root import SystemFault, WrongUse


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--erased", "lists", multiple=True, type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A list of erased accounts, or a newer backup. The file in TILELAB_ERASED_LIST is always read.",
)  # fmt: skip
@answering()
def restore(file: Path, lists: tuple[Path, ...]) -> Answer:
    """Read a backup into the empty database in DATABASE_URL. Restores all of it, or nothing.

    Creates missing tables. Erases people again whom you erased after the backup, if a list has them.

    \b
    Example:
      DATABASE_URL=postgresql://tilelab@db/new tilelab admin restore tilelab-2026-03-01.zip
      DATABASE_URL=sqlite:////srv/new.sqlite3 tilelab admin restore old.zip --erased newer.zip
    """
    from server.operations.backup import ArchiveError, RestoreRefused, erasures_of, restore
    from server.operations.erasures import UnreadableList

    listed = read_erased_list()
    try:
        erased = [each for one in (*lists, *([listed] if listed else [])) for each in erasures_of(one)]
    except (OSError, ArchiveError, UnreadableList) as error:
        raise WrongUse(f"a list of erased accounts can't be read: {error}. Nothing was restored.") from error
    with engine_in_use() as engine, Progress() as progress:
        try:
            done = restore(engine, file, lambda table: progress.show(f"reading {table}"), erased)
        except RestoreRefused as error:
            raise SystemFault(str(error)) from error
        except OSError as error:
            raise WrongUse(f"{file}: cannot read the file ({error.strerror or error}).") from error
    manifest = done.manifest
    shown = {"file": str(file), "rows": manifest.rows, "made_at": manifest.made_at, "erased": done.erased}
    line = f"Restored {manifest.rows:,} rows from the backup of {manifest.made_at}."
    if done.erased:
        line += f" Erased {done.erased} accounts again."
    return Answer(shown, line)
