"""`tilelab admin migrate`: make the tables, or bring them up to this version."""

from __future__ import annotations

import click

from server.commands.database import engine_in_use
from worker.commands.answer import Answer, answering


@click.command()
@click.option("--check", "only_check", is_flag=True, help="Change nothing; say whether the tables are right.")
@answering()
def migrate(only_check: bool) -> Answer:
    """Make the tables in the database that DATABASE_URL names, or bring them up to this version.

    It can be called at any time, from several machines at once; all is done, or nothing. Stop the server before you
    bring an older database up, and back it up.

    \b
    Example:
      DATABASE_URL=postgresql://tilelab@db/tilelab tilelab admin migrate
    """  # noqa: D301 - click reads the escape
    from server.database.schema import check, newest, upgrade

    with engine_in_use() as engine:
        if only_check:
            check(engine)
            changed = False
        else:
            changed = upgrade(engine)
    line = f"The tables are {'now' if changed else 'already'} of version {newest()}."
    return Answer({"revision": newest(), "changed": changed}, line)
