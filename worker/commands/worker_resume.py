"""`tilelab worker resume`: let a worker take work again."""

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
def resume(worker: str | None, everyone: bool, wait: bool, redis: str | None) -> None:
    """Let a worker take work again that was drained, or that took itself out.

    WORKER is an id as `status` shows it, or the beginning of one.

    \b
    Examples:
      tilelab worker resume gpu-host-1
      tilelab worker resume --all --wait
    """  # noqa: D301 - click reads the escape
    from worker.fleet import Wanted, WorkerState

    done = frozenset({WorkerState.IDLE, WorkerState.BUSY})
    tell_workers(redis, worker, Wanted.WORK, done, everyone=everyone, wait=wait)
