"""`tilelab serve recorder`: writes workers' results to the database."""

from __future__ import annotations

import logging
import threading
from functools import partial
from pathlib import Path

import click

from server.commands.serve.start import database_from, redis_address
from worker.commands.root import tell_option

logger = logging.getLogger(__name__)


@click.command(epilog="Exit code: 0 ended on request, 2 wrong use, 3 invalid setting.")
@click.option(
    "--heartbeat",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to touch every second. An old file means that the recorder hangs.",
)
@tell_option
def recorder(heartbeat: Path | None, tell: int | None) -> None:
    """Write workers' results to the database, until SIGTERM or Ctrl-C.

    Waits while the database or the broker is away. You may run several.

    \b
    Example:
      tilelab serve recorder --heartbeat /run/tilelab/recorder
    """
    from server.dispatching.process_loop import on_signals, wait_for_database
    from server.grading.fleet_state import order_tests
    from server.operations.presence import Presence
    from server.recording.recorder import Recorder
    from worker.contract.broker import Inbox, connect_redis
    from worker.contract.messages import RESULTS_QUEUE
    from worker.contract.redis_claims import RedisClaims
    from worker.contract.redis_fleet import RedisFleet
    from worker.supervision.heartbeat import Heartbeat

    settings, engine = database_from("recorder")
    address = redis_address(settings)
    presence = Presence(connect_redis(address), "recorder")
    beat = Heartbeat(heartbeat, presence.tell, tell)
    stop = threading.Event()
    tests = partial(order_tests, RedisFleet(connect_redis(address)))
    results = Recorder(
        engine, RedisClaims(connect_redis(address)), beat, stop, presence.came_late, tests, presence.distrusted
    )
    on_signals(stop)
    logger.info("recording")
    if wait_for_database(engine, stop, beat):
        results.run(Inbox(connect_redis(address), RESULTS_QUEUE))
    engine.dispose()
