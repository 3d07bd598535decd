"""`tilelab serve dispatcher`: sends queued steps to workers, and takes back what they lost."""

from __future__ import annotations

import logging
from pathlib import Path

import click

from server.commands.serve.start import database_from, redis_address
from worker.commands.root import SystemFault, tell_option

logger = logging.getLogger(__name__)


@click.command(
    epilog="Exit code: 0 when asked to end, 2 wrong use, 3 a setting cannot be used, or the database refuses for good."
)
@click.option(
    "--heartbeat",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file to touch with every round, a few times a second; old means that it hangs.",
)
@tell_option
def dispatcher(heartbeat: Path | None, tell: int | None) -> None:
    """Send queued steps to workers, and take back what they lost, until SIGTERM or Ctrl-C.

    Waits for a database or a broker that is away. What the database would refuse each time ends it. More than one may
    run.

    \b
    Example:
      tilelab serve dispatcher --heartbeat /run/tilelab/dispatcher
    """  # noqa: D301 - click reads the escape
    from server.dispatching.connections import connections_to
    from server.dispatching.dispatcher import Dispatcher
    from server.dispatching.process_loop import CannotGoOn, Rounds, on_signals
    from server.operations.presence import Presence
    from worker.contract.broker import connect_redis
    from worker.supervision.heartbeat import Heartbeat

    settings, engine = database_from("dispatcher")
    address = redis_address(settings)
    presence = Presence(connect_redis(address), "dispatcher")
    beat = Heartbeat(heartbeat, presence.tell, tell)
    rounds = Rounds(Dispatcher(engine, connections_to(address), settings), beat)
    on_signals(rounds.stop)
    logger.info("dispatching")
    try:
        rounds.run()
    except CannotGoOn as error:
        raise SystemFault(str(error)) from error
    finally:
        engine.dispose()
