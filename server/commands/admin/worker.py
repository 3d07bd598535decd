"""`tilelab admin worker`: let workers rest or go on, and have it noted who was told what."""

from __future__ import annotations

import click

from server.audit.service import note
from server.commands.database import database_in_use
from worker.commands.worker.broker import redis_option
from worker.commands.worker.orders import EXITS, tell_workers, telling_options
from worker.contract.fleet import Wanted


@click.group()
def worker() -> None:
    """Let workers rest or go on, and have it noted in the audit.

    `tilelab worker drain` and `resume` do the same where there is no database, and note nothing.

    \b
    Example:
      tilelab admin worker drain gpu-host-1 --wait
    """  # noqa: D301 - click reads the escape


@worker.command(epilog=EXITS)
@telling_options
@redis_option
def drain(worker: str | None, everyone: bool, wait: bool, as_json: bool, redis: str | None) -> None:
    """Let a worker finish its steps and take no more; it stays, and `resume` lets it go on.

    WORKER is an id as `tilelab worker status` shows it, or the beginning of one.

    \b
    Example:
      tilelab admin worker drain gpu-host-1 --wait
    """  # noqa: D301 - click reads the escape
    _tell(worker, Wanted.DRAIN, everyone=everyone, wait=wait, as_json=as_json, redis=redis)


@worker.command(epilog=EXITS)
@telling_options
@redis_option
def resume(worker: str | None, everyone: bool, wait: bool, as_json: bool, redis: str | None) -> None:
    """Let a worker take work again that was drained, or that took itself out.

    WORKER is an id as `tilelab worker status` shows it, or the beginning of one.

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
            """Before it is told: what was done is in the audit, whatever comes after."""
            with sessions.begin() as session:
                note(session, None, action, f"worker {worker[:150]}")

        tell_workers(redis, name, wanted, everyone=everyone, wait=wait, as_json=as_json, before=noted)
