"""`tilelab cancel`: take back what was handed in."""

from __future__ import annotations

import json

import click

from worker.commands.portal import EXITS, portal, submission_id
from worker.commands.root import Exit, leave


@click.command(epilog=EXITS)
@click.argument("id")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: the submission as it is then.")
def cancel(id: str, as_json: bool) -> None:  # noqa: A002 - the argument's name
    """Take the submission ID back, as long as it is not graded; its page's address will do for ID.

    \b
    Example:
      tilelab cancel 5d2c6e0f8a1b4c3d
    """  # noqa: D301 - click reads the escape
    public_id = submission_id(id)
    with portal() as asked:
        found = asked.cancel(public_id)
    click.echo(json.dumps(found, ensure_ascii=True) if as_json else f"{public_id} is taken back.")
    leave(Exit.ACCEPTED)
