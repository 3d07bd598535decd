from __future__ import annotations

import click

from worker.commands.worker.broker import redis_option
from worker.commands.worker.orders import EXITS, give_order, order_options


@click.command(epilog=EXITS)
@order_options
@redis_option
def resume(worker: str | None, everyone: bool, wait: bool, as_json: bool, redis: str | None) -> None:
    """Let a drained or failed worker start steps again.

    WORKER is an id from `status`, or its beginning.

    \b
    Examples:
      tilelab worker resume gpu-host-1
      tilelab worker resume --all --wait
    """
    from worker.contract.fleet import Wanted

    give_order(redis, worker, Wanted.WORK, everyone=everyone, wait=wait, as_json=as_json)
