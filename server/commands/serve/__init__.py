"""`tilelab serve`: one part of the server as one process, with one module per part."""

from __future__ import annotations

from collections.abc import Mapping

import click

from worker.commands.root import Verbs

_VERBS: Mapping[str, str] = {
    "dispatcher": "Send queued steps to workers, and queue lost steps again.",
    "recorder": "Write workers' results to the database.",
    "web": "Serve the portal to browsers and programs.",
}


class ServeVerbs(Verbs):
    """The parts of the server."""

    verbs = _VERBS
    package = "server.commands.serve"


@click.group(cls=ServeVerbs)
def serve() -> None:
    """Run one part of the server in the foreground. `tilelab up` runs all parts on one machine.

    Each part reads DATABASE_URL and REDIS_URL from the environment. DATABASE_URL_FILE and REDIS_URL_FILE may name
    files with these values instead.

    \b
    Example:
      DATABASE_URL=postgresql://tilelab@db/tilelab REDIS_URL=redis://queue/0 tilelab serve web --port 8000
    """
