"""`tilelab admin worker`: makes and revokes workers' keys, drains or resumes workers; each with an audit entry."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import click
from sqlalchemy.orm import Session

from server.audit.service import note
from server.commands.database import database_in_use
from server.fleet.broker_users import users_of
from server.fleet.worker_keys import WorkerKeyError, add_key, register_key, revoke_keys, rotate_key, valid_keys
from worker.commands.root import SystemFault, WrongUse
from worker.commands.worker.broker import broker_url, redis_option
from worker.commands.worker.orders import EXITS, give_order, order_options
from worker.contract.broker import BrokerUrlError
from worker.contract.fleet import Wanted


@click.group()
def worker() -> None:
    """Make and revoke workers' keys. Drain or resume workers. Each has an entry in the audit.

    `tilelab worker drain` and `resume` do the same without a database and without an entry.

    \b
    Examples:
      tilelab admin worker add gpu-host-1 --queue gpu --file gpu-host-1.url
      tilelab admin worker drain gpu-host-1 --wait
    """


_EXITS = "Exit code: 0 done, 2 wrong use, 3 the database or a file can't be used."

_to_file = click.option(
    "--file", type=click.Path(dir_okay=False, path_type=Path),
    help="Write the address to a new file that only you can read.  [default: print it]",
)  # fmt: skip
_at = click.option("--at", metavar="URL", help="The broker's address as the worker reaches it.  [default: REDIS_URL]")


@worker.command(epilog=_EXITS)
@click.argument("name")
@click.option(
    "--queue", "queues", multiple=True, required=True, metavar="QUEUE",
    help="cpu, gpu for all GPUs, or one device class such as gpu.h200. You may repeat it.",
)  # fmt: skip
@_to_file
@_at
def add(name: str, queues: tuple[str, ...], file: Path | None, at: str | None) -> None:
    """Make a key for a worker, and print the address that the worker needs as REDIS_URL.

    The address holds the worker's password in Redis and the key that signs its results. It is stored nowhere else. Use
    one for each host. A running dispatcher makes the worker's user in Redis within seconds.

    \b
    Example:
      tilelab admin worker add gpu-host-1 --queue cpu --queue gpu --file gpu-host-1.url
    """
    _make("key_added", name, file, lambda session, now: add_key(session, broker_url(at), name, queues, now))


@worker.command(epilog=_EXITS)
@click.argument("name")
@_to_file
@_at
def rotate(name: str, file: Path | None, at: str | None) -> None:
    """Make a new key for a worker. The old one stays valid for 24 hours.

    If the old one may be stolen, use `revoke`, then `add`.

    \b
    Example:
      tilelab admin worker rotate gpu-host-1 --file new.url
    """
    _make("key_replaced", name, file, lambda session, now: rotate_key(session, broker_url(at), name, now))


@worker.command(epilog=_EXITS)
@click.argument("name")
def revoke(name: str) -> None:
    """End all keys of a worker. A running dispatcher closes its connections within seconds.

    Its steps run again on other workers. Its results are refused from then on.

    \b
    Example:
      tilelab admin worker revoke gpu-host-1
    """
    with database_in_use() as sessions, sessions.begin() as session, _told():
        revoke_keys(session, name)
        note(session, None, "worker.key_revoked", f"worker {name}")
    click.echo(f"{name}: revoked")


@worker.command(epilog=_EXITS)
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def register(files: tuple[Path, ...]) -> None:
    """Accept workers' addresses that were made elsewhere, such as by bin/make-secrets.

    An address that is known changes nothing. A new one of a known worker replaces the old one, as `rotate` does.

    \b
    Example:
      tilelab admin worker register secrets/worker_cpu
    """
    with database_in_use() as sessions, sessions.begin() as session, _told():
        for file in files:
            name, new = register_key(session, file.read_text("utf-8").strip(), datetime.now(UTC))
            if new:
                note(session, None, "worker.key_added", f"worker {name}")
            click.echo(f"{name}: {'registered' if new else 'known'}")


@worker.command(epilog=_EXITS)
@click.option("--acl", is_flag=True, help="Print the commands that make the users in Redis, to run by hand.")
def keys(acl: bool) -> None:
    """List workers' keys: names, queues, and until when a replaced key is valid.

    \b
    Example:
      tilelab admin worker keys
    """
    with database_in_use() as sessions, sessions.begin() as session:
        found = valid_keys(session, datetime.now(UTC))
        if acl:
            for rule in users_of(found).values():
                click.echo(f"ACL SETUSER {shlex.join(rule)}")
            return
        for key in found:
            until = f", until {key.valid_until:%Y-%m-%d %H:%M} UTC" if key.valid_until else ""
            click.echo(f"{key.name}: {', '.join(key.queue_names)}, since {key.added_at:%Y-%m-%d %H:%M} UTC{until}")


@worker.command(epilog=EXITS)
@order_options
@redis_option
def drain(worker: str | None, everyone: bool, wait: bool, as_json: bool, redis: str | None) -> None:
    """Let a worker finish its steps and start no new ones, until `resume`.

    WORKER is an id from `tilelab worker status`, or its beginning.

    \b
    Example:
      tilelab admin worker drain gpu-host-1 --wait
    """
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
    """
    _tell(worker, Wanted.WORK, everyone=everyone, wait=wait, as_json=as_json, redis=redis)


@contextmanager
def _told() -> Iterator[None]:
    """Turn errors of keys into one line."""
    try:
        yield
    except (WorkerKeyError, BrokerUrlError) as error:
        raise WrongUse(str(error)) from error


def _make(action: str, name: str, file: Path | None, make: Callable[[Session, datetime], str]) -> None:
    """Make a key, and show its address once it is stored."""
    if file is not None and file.exists():
        raise WrongUse(f"{file} exists. Name a new file.")
    with database_in_use() as sessions, sessions.begin() as session, _told():
        url = make(session, datetime.now(UTC))
        note(session, None, f"worker.{action}", f"worker {name}")
        # Before the commit: a key whose address is lost would be useless.
        if file is not None:
            _write_private(file, f"{url}\n")
    click.echo(url if file is None else f"{name}: wrote {file}")


def _write_private(file: Path, text: str) -> None:
    """Write a file that only its owner can read. Raises SystemFault."""
    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
            opened.write(text)
    except OSError as error:
        raise SystemFault(f"can't write {file}: {error.strerror}") from error


def _tell(name: str | None, wanted: Wanted, *, everyone: bool, wait: bool, as_json: bool, redis: str | None) -> None:
    action = "worker.drained" if wanted is Wanted.DRAIN else "worker.resumed"
    with database_in_use() as sessions:

        def noted(worker: str) -> None:
            """Write the audit entry before the order, so that no order is missing there."""
            with sessions.begin() as session:
                note(session, None, action, f"worker {worker[:150]}")

        give_order(redis, name, wanted, everyone=everyone, wait=wait, as_json=as_json, before=noted)
