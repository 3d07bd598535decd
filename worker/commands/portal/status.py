from __future__ import annotations

import json
import sys
import time

import click

from worker.client.follower import GIVEN_UP_SECONDS
from worker.client.portal import PATIENCE_SECONDS, Portal, latest_path, submission_path
from worker.commands.portal.connection import EXITS, page_of, portal, submission_id
from worker.commands.root import Exit, leave

_AGAIN_SECONDS = 3.0
_CLEAR = "\033[H\033[J"


@click.command(epilog=EXITS)
@click.argument("id", required=False)
@click.option("--watch", is_flag=True, help="Wait until ID is graded; without ID, refresh the list.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (the watched list: one per line).")
@click.option("--limit", default=10, show_default=True, type=click.IntRange(1, 100), help="Length of the list.")
def status(id: str | None, watch: bool, as_json: bool, limit: int) -> None:  # noqa: A002 - the argument's name
    """Show your latest submissions, or one submission by its ID.

    ID may also be the address of its page.

    \b
    Examples:
      tilelab status
      tilelab status 5d2c6e0f8a1b4c3d --watch
      tilelab status --json
    """
    with portal() as asked:
        if id is None:
            _show(asked, limit, as_json=as_json, clear="")
            while watch:
                time.sleep(_AGAIN_SECONDS)
                clear = _CLEAR if sys.stdout.isatty() else "\n"
                _show(asked, limit, as_json=as_json, clear=clear, patience=GIVEN_UP_SECONDS)
        else:
            _one(asked, submission_id(id), watch=watch, as_json=as_json)
    leave(Exit.ACCEPTED)


def _one(asked: Portal, public_id: str, *, watch: bool, as_json: bool) -> None:
    from worker.commands.portal.text import submission_text
    from worker.commands.portal.wait_display import wait_for
    from worker.commands.terminal import style_of

    found = wait_for(asked, public_id) if watch else None
    if as_json:
        plain = asked.plain(submission_path(public_id), PATIENCE_SECONDS if watch else 0.0)
        click.echo(json.dumps(plain, ensure_ascii=True))
    else:
        found = found or asked.submission(public_id)
        click.echo(submission_text(found, style_of(sys.stdout), page_of(asked.url, public_id)))


def _show(asked: Portal, limit: int, *, as_json: bool, clear: str, patience: float = 0.0) -> None:
    from worker.commands.portal.text import lines_text
    from worker.commands.terminal import style_of

    if as_json:
        click.echo(json.dumps(asked.plain(latest_path(limit), patience), ensure_ascii=True))
    elif submissions := asked.latest(limit, patience):
        click.echo(clear + lines_text(submissions, style_of(sys.stdout)))
    else:
        click.echo("No submissions yet. Submit with `tilelab submit FILE`.")
