"""The broker's address for commands, from an option or the environment, and the workers it knows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from worker.commands.root import SystemFault, WrongUse

if TYPE_CHECKING:
    from worker.contract.fleet import WorkerRecord
    from worker.contract.redis_fleet import RedisFleet

Command = TypeVar("Command", bound=Callable[..., Any])

SILENT_SECONDS = 15.0
"""A worker without a heartbeat for this long counts as silent. Heartbeats come every 2 seconds."""


def redis_option(command: Command) -> Command:
    """Add `--redis` to a command, passed on as `redis`."""
    option = click.option(
        "--redis",
        metavar="URL",
        help="The broker's address.  [default: REDIS_URL, or the file that REDIS_URL_FILE names]",
    )
    return option(command)


def broker_url(given: str | None) -> str:
    """The broker's address. Raises SystemFault if it is missing or invalid."""
    from worker.contract.broker import BrokerUrlError, read_redis_url

    try:
        return read_redis_url(os.environ if given is None else {"REDIS_URL": given})
    except BrokerUrlError as error:
        raise SystemFault(str(error)) from error


@contextmanager
def open_fleet(given: str | None) -> Iterator[RedisFleet]:
    """The workers' records in Redis. Raises SystemFault, also if Redis goes away in the block."""
    from worker.contract.broker import BrokerUnavailable, connect_redis
    from worker.contract.redis_fleet import RedisFleet

    url = broker_url(given)
    try:
        with connect_redis(url) as client:
            yield RedisFleet(client)
    except BrokerUnavailable as error:
        raise SystemFault(str(error)) from error


def chosen(records: Sequence[WorkerRecord], name: str | None, *, everyone: bool) -> list[WorkerRecord]:
    """All workers, or the one whose id begins with the name. Raises WrongUse with a list of the workers."""
    if everyone == (name is not None):
        raise WrongUse("name one worker, or use --all.")
    if everyone or name is None:
        return list(records)
    exact = [record for record in records if record.id == name]
    found = exact or [record for record in records if record.id.startswith(name)]
    if len(found) == 1:
        return found
    known = ", ".join(sorted(record.id for record in found or records)) or "none"
    if found:
        raise WrongUse(f"{name}: several workers match: {known}.")
    raise WrongUse(f"{name}: no such worker. Known workers: {known}.")
