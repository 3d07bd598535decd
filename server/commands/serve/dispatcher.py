"""`tilelab serve dispatcher`: sends queued steps to workers, and queues lost steps again."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

import click

from server.commands.serve.start import database_from, redis_address
from worker.commands.root import SystemFault, tell_option

_SENDER_SECONDS = 2.0
"""For a sender to end. What it doesn't finish, another dispatcher or the next one sends."""

logger = logging.getLogger(__name__)


@click.command(epilog="Exit code: 0 ended on request, 2 wrong use, 3 invalid setting, or a permanent database error.")
@click.option(
    "--heartbeat",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to touch several times a second. An old file means that the dispatcher hangs.",
)
@tell_option
def dispatcher(heartbeat: Path | None, tell: int | None) -> None:
    """Send queued steps to workers, and queue lost steps again, until SIGTERM or Ctrl-C.

    Sends grades to connected learning management systems, and e-mail if TILELAB_SMTP_HOST is set. Removes details of
    submissions as courses say. Sends traces if OTEL_EXPORTER_OTLP_ENDPOINT is set.

    Waits while the database or the broker is away, and ends on permanent database errors. You may run several.

    \b
    Example:
      tilelab serve dispatcher --heartbeat /run/tilelab/dispatcher
    """
    from server.dispatching.connections import connections_to
    from server.dispatching.dispatcher import Dispatcher
    from server.dispatching.process_loop import CannotGoOn, Rounds, on_signals
    from server.lti.sender import ScoreSender
    from server.mail.sender import Mailer
    from server.operations.presence import Presence
    from server.operations.retention import Remover
    from server.operations.traces import TraceSender
    from worker.contract.broker import connect_redis
    from worker.supervision.heartbeat import Heartbeat

    settings, engine = database_from("dispatcher")
    address = redis_address(settings)
    presence = Presence(connect_redis(address), "dispatcher")
    beat = Heartbeat(heartbeat, presence.tell, tell)
    rounds = Rounds(Dispatcher(engine, connections_to(address), settings), beat)
    on_signals(rounds.stop)
    senders = {"scores": ScoreSender(engine).run, "retention": Remover(engine).run}
    if settings.mail is not None:
        senders["mail"] = Mailer(engine, settings.mail, settings.public_url).run
    if settings.traces is not None:
        senders["traces"] = TraceSender(engine, settings.traces, connect_redis(address)).run
    threads = [
        threading.Thread(target=run, args=(rounds.stop,), name=name, daemon=True) for name, run in senders.items()
    ]
    for thread in threads:
        thread.start()
    logger.info("dispatching")
    try:
        rounds.run()
    except CannotGoOn as error:
        raise SystemFault(str(error)) from error
    finally:
        rounds.stop.set()
        for thread in threads:
            thread.join(_SENDER_SECONDS)
        engine.dispose()
