"""`tilelab admin migrate`: creates or upgrades the database's tables."""

from __future__ import annotations

import click

from server.commands.database import engine_in_use
from worker.commands.answer import Answer, answering


@click.command()
@click.option("--check", "only_check", is_flag=True, help="Only check the tables' version.")
@answering()
def migrate(only_check: bool) -> Answer:
    """Create the tables in the database in DATABASE_URL, or upgrade them to this version.

    You can run it at any time, even on several machines at once. It does everything or nothing. Before you upgrade an
    older database, stop the server and make a backup.

    \b
    Example:
      DATABASE_URL=postgresql://tilelab@db/tilelab tilelab admin migrate
    """
    from server.database.schema import check, newest, upgrade

    with engine_in_use() as engine:
        if only_check:
            check(engine)
            changed = False
        else:
            changed = upgrade(engine)
    line = f"The tables {'now have' if changed else 'already have'} version {newest()}."
    return Answer({"revision": newest(), "changed": changed}, line)
