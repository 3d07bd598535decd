"""Orders to workers: drain or resume, and waiting until they obey."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, TypeVar

import click

from worker.commands.root import Exit, SystemFault, leave
from worker.commands.worker.broker import SILENT_SECONDS, chosen, open_fleet

if TYPE_CHECKING:
    from worker.contract.fleet import Wanted
    from worker.contract.redis_fleet import RedisFleet

Command = TypeVar("Command", bound=Callable[..., Any])

EXITS = "Exit code: 0 done, 2 wrong use or no such worker, 3 the broker or the worker is silent."

_LOOK_SECONDS = 0.5
_GONE = "gone"


def order_options(command: Command) -> Command:
    """Add WORKER, `--all`, `--wait` and `--json`, passed on as `worker`, `everyone`, `wait` and `as_json`."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
        click.option("--wait", is_flag=True, help="Wait until the worker has done it."),
        click.option("--all", "everyone", is_flag=True, help="All workers."),
        click.argument("worker", required=False),
    ):
        command = option(command)
    return command


def give_order(
    redis: str | None,
    name: str | None,
    wanted: Wanted,
    *,
    everyone: bool,
    wait: bool,
    as_json: bool,
    before: Callable[[str], None] = lambda _: None,
) -> None:
    """Send an order to one worker or all, and end the command. before: called first with each id."""
    say: Callable[[str], None] = (lambda _: None) if as_json else click.echo
    with open_fleet(redis) as fleet:
        workers = [record.id for record in chosen(fleet.workers(), name, everyone=everyone)]
        for worker in workers:
            before(worker)
            fleet.want(worker, wanted)
            say(f"{worker}: asked to {wanted.value}")
        states = _reached(fleet, workers, wanted, say) if wait else {}
    if as_json:
        told = [{"id": worker, "wanted": wanted.value, "state": states.get(worker)} for worker in workers]
        click.echo(json.dumps({"workers": told}))
    leave(Exit.ACCEPTED)


def _reached(fleet: RedisFleet, workers: Collection[str], wanted: Wanted, say: Callable[[str], None]) -> dict[str, str]:
    """The state of each worker, once all have done what is wanted."""
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
    """States that satisfy the order. A vanished worker satisfies any."""
    from worker.contract.fleet import Wanted, WorkerState

    if wanted is Wanted.DRAIN:
        return {WorkerState.DRAINED, WorkerState.OUT, _GONE}
    return {WorkerState.IDLE, WorkerState.BUSY, _GONE}


def _state(fleet: RedisFleet, worker: str) -> str:
    """The state that a worker reported last. Raises SystemFault if the worker is silent."""
    found = [record for record in fleet.workers() if record.id == worker]
    if not found:
        return _GONE
    record = found[0]
    if fleet.now() - record.beat > SILENT_SECONDS:
        raise SystemFault(f"{worker} is silent and can't receive orders. Look at its host, {record.host}.")
    return record.state.value
