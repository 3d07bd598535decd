from __future__ import annotations

import click

from worker.commands.worker.broker import redis_option
from worker.commands.worker.orders import EXITS, give_order, order_options


@click.command(epilog=EXITS)
@order_options
@redis_option
def drain(worker: str | None, everyone: bool, wait: bool, as_json: bool, redis: str | None) -> None:
    """Let a worker finish its steps and start no new ones, until `resume`.

    A step that takes longer than the worker's --grace (30 s; with `tilelab up` 5 s) returns to the queue.

    WORKER is an id from `status`, or its beginning.

    \b
    Examples:
      tilelab worker drain gpu-host-1 --wait
      tilelab worker drain --all
    """
    from worker.contract.fleet import Wanted

    give_order(redis, worker, Wanted.DRAIN, everyone=everyone, wait=wait, as_json=as_json)
