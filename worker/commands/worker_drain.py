"""`tilelab worker drain`: let a worker finish what it is at, and take no more."""

from __future__ import annotations

import click

from worker.commands.broker import redis_option
from worker.commands.wanting import tell_workers, wait_option


@click.command(
    epilog="Exit code: 0 it was told, 2 there is no such worker, 3 the broker or the worker is silent."
)
@click.argument("worker", required=False)
@click.option("--all", "everyone", is_flag=True, help="Every worker.")
@wait_option
@redis_option
def drain(worker: str | None, everyone: bool, wait: bool, redis: str | None) -> None:
    """Let a worker finish its steps and take no more; it stays, and `resume` lets it go on.

    A step that takes longer than the worker's --grace (30 s; with `tilelab up` 5) is given back and done elsewhere.

    WORKER is an id as `status` shows it, or the beginning of one.

    \b
    Examples:
      tilelab worker drain gpu-host-1 --wait
      tilelab worker drain --all
    """  # noqa: D301 - click reads the escape
    from worker.fleet import Wanted, WorkerState

    done = frozenset({WorkerState.DRAINED, WorkerState.OUT})
    tell_workers(redis, worker, Wanted.DRAIN, done, everyone=everyone, wait=wait)
