"""`tilelab serve web`: serves the portal to browsers and programs."""

from __future__ import annotations

import logging
import socket

import click

from server.commands.serve.start import database_from
from worker.commands.root import SystemFault, tell_option

_MOST_BY_DEFAULT = 4
"""SQLite has one writer at a time. PostgreSQL allows 100 connections unless it is set up for more."""

logger = logging.getLogger(__name__)


@click.command(epilog="Exit code: 0 ended on request, 2 wrong use, 3 invalid setting or port in use.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="Port; 0 picks a free one."
)
@click.option(
    "--processes",
    type=click.IntRange(1, 64),
    help="Processes that answer requests.  [default: TILELAB_WEB_PROCESSES, or one per core, at most 4]",
)
@click.option("--descriptor", type=click.IntRange(3), hidden=True, help="A bound socket, instead of host and port.")
@tell_option
def web(host: str, port: int, processes: int | None, descriptor: int | None, tell: int | None) -> None:
    """Serve the portal to browsers and programs, until SIGTERM or Ctrl-C.

    Needs DATABASE_URL. While the database is away, requests that need it get an error. Without the broker, it still
    starts and accepts submissions.

    \b
    Example:
      tilelab serve web --host 0.0.0.0 --port 8000
    """
    from server.web.web_server import CannotListen, listen, serve, url_of
    from worker.supervision.cores import cores

    settings, engine = database_from("web")
    engine.dispose()
    try:
        bound = listen(host, port) if descriptor is None else socket.socket(fileno=descriptor)
    except (CannotListen, OSError) as error:
        raise SystemFault(str(error)) from error
    logger.info("listening at %s", url_of(bound))
    serve(settings, bound, processes or settings.web_processes or min(_MOST_BY_DEFAULT, cores()), tell)
