"""`tilelab admin worker`: drains or resumes workers, with an entry in the audit."""

from __future__ import annotations

import click

from server.audit.service import note
from server.commands.database import database_in_use
from worker.commands.worker.broker import redis_option
from worker.commands.worker.orders import EXITS, give_order, order_options
from worker.contract.fleet import Wanted


@click.group()
def worker() -> None:
    """Drain or resume workers, with an entry in the audit.

    `tilelab worker drain` and `resume` do the same without a database and without an entry.

    \b
    Example:
      tilelab admin worker drain gpu-host-1 --wait
    """  # noqa: D301 - click reads the escape


@worker.command(epilog=EXITS)
@order_options
@redis_option
def drain(worker: str | None, everyone: bool, wait: bool, as_json: bool, redis: str | None) -> None:
    """Let a worker finish its steps and start no new ones, until `resume`.

    WORKER is an id from `tilelab worker status`, or its beginning.

    \b
    Example:
      tilelab admin worker drain gpu-host-1 --wait
    """  # noqa: D301 - click reads the escape
    _tell(worker, Wanted.DRAIN, everyone=everyone, wait=wait, as_json=as_json, redis=redis)


@worker.command(epilog=EXITS)
@order_options
@redis_option
def resume(worker: str | None, everyone: bool, wait: bool, as_json: bool, redis: str | None) -> None:
    """Let a drained or failed worker start steps again.

    WORKER is an id from `tilelab worker status`, or its beginning.

    \b
    Example:
      tilelab admin worker resume --all
    """  # noqa: D301 - click reads the escape
    _tell(worker, Wanted.WORK, everyone=everyone, wait=wait, as_json=as_json, redis=redis)


def _tell(
    name: str | None, wanted: Wanted, *, everyone: bool, wait: bool, as_json: bool, redis: str | None
) -> None:
    action = "worker.drained" if wanted is Wanted.DRAIN else "worker.resumed"
    with database_in_use() as sessions:

        def noted(worker: str) -> None:
            """Write the audit entry before the order, so that no order is missing there."""
            with sessions.begin() as session:
                note(session, None, action, f"worker {worker[:150]}")

        give_order(redis, name, wanted, everyone=everyone, wait=wait, as_json=as_json, before=noted)
