"""Telling workers what to do, and waiting until they do it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, TypeVar

import click

from worker.commands.root import Exit, SystemFault, leave
from worker.commands.worker.broker import SILENT_SECONDS, board, chosen

if TYPE_CHECKING:
    from worker.contract.fleet import Wanted
    from worker.contract.redis_fleet import RedisFleet

Command = TypeVar("Command", bound=Callable[..., Any])

EXITS = "Exit code: 0 it was told, 2 there is no such worker, 3 the broker or the worker is silent."

_LOOK_SECONDS = 0.5
_GONE = "gone"


def telling_options(command: Command) -> Command:
    """WORKER, `--all`, `--wait` and `--json`, passed on as `worker`, `everyone`, `wait` and `as_json`."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
        click.option("--wait", is_flag=True, help="End when it is so, not when it was said."),
        click.option("--all", "everyone", is_flag=True, help="Every worker."),
        click.argument("worker", required=False),
    ):
        command = option(command)
    return command


def tell_workers(
    redis: str | None,
    name: str | None,
    wanted: Wanted,
    *,
    everyone: bool,
    wait: bool,
    as_json: bool,
    before: Callable[[str], None] = lambda _: None,
) -> None:
    """Say what is wanted of a worker, or of all, and end the command. before: called with each, before it is told."""
    say: Callable[[str], None] = (lambda _: None) if as_json else click.echo
    with board(redis) as fleet:
        workers = [record.id for record in chosen(fleet.workers(), name, everyone=everyone)]
        for worker in workers:
            before(worker)
            fleet.want(worker, wanted)
            say(f"{worker}: told to {wanted.value}")
        states = _reached(fleet, workers, wanted, say) if wait else {}
    if as_json:
        told = [{"id": worker, "wanted": wanted.value, "state": states.get(worker)} for worker in workers]
        click.echo(json.dumps({"workers": told}))
    leave(Exit.ACCEPTED)


def _reached(
    fleet: RedisFleet, workers: Collection[str], wanted: Wanted, say: Callable[[str], None]
) -> dict[str, str]:
    """The state of each, once all do what is wanted."""
    done = _states_of(wanted)
    reached: dict[str, str] = {}
    while len(reached) < len(workers):
        time.sleep(_LOOK_SECONDS)
        for worker in workers:
            if worker not in reached and (state := _state(fleet, worker)) in done:
                reached[worker] = state
                say(f"{worker}: {state}")
    return reached


def _states_of(wanted: Wanted) -> Collection[str]:
    """In which it is so; who is gone does neither any more."""
    from worker.contract.fleet import Wanted, WorkerState

    if wanted is Wanted.DRAIN:
        return {WorkerState.DRAINED, WorkerState.OUT, _GONE}
    return {WorkerState.IDLE, WorkerState.BUSY, _GONE}


def _state(fleet: RedisFleet, worker: str) -> str:
    """As a worker told it last; raises SystemFault where it is silent."""
    found = [record for record in fleet.workers() if record.id == worker]
    if not found:
        return _GONE
    record = found[0]
    if fleet.now() - record.beat > SILENT_SECONDS:
        raise SystemFault(
            f"{worker} is silent: it does nothing that it is told. Look at its host, {record.host}."
        )
    return record.state.value
