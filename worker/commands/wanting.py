"""Telling workers what to do, and waiting until they do it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, TypeVar

import click

from worker.commands.broker import SILENT_SECONDS, board, chosen
from worker.commands.root import SystemFault

if TYPE_CHECKING:
    from worker.fleet import Wanted, WorkerState
    from worker.redis_fleet import RedisFleet

Command = TypeVar("Command", bound=Callable[..., Any])

_LOOK_SECONDS = 0.5


def wait_option(command: Command) -> Command:
    """`--wait`, which is passed on as `wait`."""
    option = click.option("--wait", is_flag=True, help="End when it is so, not when it was said.")
    return option(command)


def tell_workers(
    redis: str | None,
    name: str | None,
    wanted: Wanted,
    done: Collection[WorkerState],
    *,
    everyone: bool,
    wait: bool,
) -> None:
    """Say what is wanted of a worker, or of all; done: the states in which it is so."""
    with board(redis) as fleet:
        workers = [record.id for record in chosen(fleet.workers(), name, everyone=everyone)]
        for worker in workers:
            fleet.want(worker, wanted)
            click.echo(f"{worker}: told to {wanted.value}")
        open_ones = workers if wait else []
        while open_ones:
            time.sleep(_LOOK_SECONDS)
            open_ones = [worker for worker in open_ones if not _is_so(fleet, worker, done)]


def _is_so(fleet: RedisFleet, worker: str, done: Collection[WorkerState]) -> bool:
    """Whether a worker is there, or gone; raises SystemFault where it is silent."""
    found = [record for record in fleet.workers() if record.id == worker]
    if not found:
        click.echo(f"{worker}: gone")
        return True
    record = found[0]
    if fleet.now() - record.beat > SILENT_SECONDS:
        raise SystemFault(
            f"{worker} is silent: it does nothing that it is told. Look at its host, {record.host}."
        )
    if record.state in done:
        click.echo(f"{worker}: {record.state.value}")
    return record.state in done
