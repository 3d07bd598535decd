"""`tilelab admin backup`: the whole database in one file."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from server.commands.database import engine_in_use
from worker.commands.answer import Answer, answering
from worker.commands.progress import Progress
from worker.commands.root import WrongUse


@click.command()
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--replace", is_flag=True, help="Replace FILE even if it is not a backup.")
@answering()
def backup(file: Path, replace: bool) -> Answer:
    """Write the whole database to FILE. The server may keep running.

    The file contains all data, including people and their work. Only its owner can read it; keep it that way. You
    can restore it into PostgreSQL or SQLite. It replaces an earlier backup with the same name. With `-`, the backup
    goes to standard output and messages to standard error.

    \b
    Example:
      tilelab admin backup /var/backups/tilelab-$(date +%F).zip
      tilelab admin backup - | gpg --encrypt --recipient backups > tilelab.zip.gpg
    """
    from server.operations.backup import BackupRefused, back_up, stream

    to_pipe = str(file) == "-"
    if to_pipe and sys.stdout.isatty():
        raise WrongUse("a backup can't be written to a terminal. Name a file, or redirect standard output.")
    with engine_in_use() as engine, Progress() as progress:

        def told(table: str) -> None:
            progress.show(f"writing {table}")

        try:
            if to_pipe:
                manifest = stream(engine, sys.stdout.buffer, told)
            else:
                manifest = back_up(engine, file, told, replace=replace)
        except BackupRefused as error:
            raise WrongUse(str(error)) from error
        except OSError as error:
            raise WrongUse(f"{file}: cannot write the file ({error.strerror or error}).") from error
    size = None if to_pipe else file.stat().st_size
    shown = {"file": str(file), "rows": manifest.rows, "bytes": size, "revision": manifest.revision}
    more = "" if size is None else f" to {file}, {size:,} bytes"
    return Answer(shown, f"Wrote {manifest.rows:,} rows{more}.", err=to_pipe)
