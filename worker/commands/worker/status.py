"""`tilelab worker status`: which workers there are, and what they are at."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING

import click

from worker.commands.root import Exit, leave
from worker.commands.worker.broker import SILENT_SECONDS, board, redis_option

if TYPE_CHECKING:
    from worker.contract.redis_fleet import RedisFleet

_AGAIN_SECONDS = 2.0
_CLEAR = "\033[H\033[J"


@click.command(epilog="Exit code: 0 the list was shown, 2 wrong use, 3 the broker cannot be reached.")
@click.option("--watch", is_flag=True, help="Show it anew every two seconds, until Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with --watch one a line.")
@redis_option
def status(watch: bool, as_json: bool, redis: str | None) -> None:
    """Show every worker of the last hour: its devices, what they are at, jobs done, failures, last beat.

    \b
    Examples:
      tilelab worker status
      tilelab worker status --watch --redis redis://broker:6379/0
    """  # noqa: D301 - click reads the escape
    with board(redis) as fleet:
        _show(fleet, as_json=as_json, clear="")
        while watch:
            time.sleep(_AGAIN_SECONDS)
            _show(fleet, as_json=as_json, clear=_CLEAR if sys.stdout.isatty() else "\n")
    leave(Exit.ACCEPTED)


def _show(fleet: RedisFleet, *, as_json: bool, clear: str) -> None:
    from worker.commands.worker.fleet_text import fleet_json, fleet_text

    records, now = fleet.workers(), fleet.now()
    if as_json:
        click.echo(json.dumps(fleet_json(records, now, SILENT_SECONDS), ensure_ascii=True))
        return
    from worker.commands.terminal import style_of

    click.echo(f"{clear}{fleet_text(records, now, SILENT_SECONDS, style_of(sys.stdout))}")
