"""`tilelab serve`: one part of the server as one process; its verbs live in modules of their own."""

from __future__ import annotations

from collections.abc import Mapping

import click

from worker.commands.root import Verbs

_VERBS: Mapping[str, str] = {
    "dispatcher": "Send queued steps to workers, and take back what they lost.",
    "recorder": "Write what workers send back into the database.",
    "web": "Answer browsers and programs.",
}


class ServeVerbs(Verbs):
    """The parts of the server."""

    verbs = _VERBS
    package = "server.commands.serve"


@click.group(cls=ServeVerbs)
def serve() -> None:
    """Run one part of the server in the foreground; `tilelab up` runs all of them on one machine.

    Each part reads DATABASE_URL and REDIS_URL from its environment, or from the files that DATABASE_URL_FILE and
    REDIS_URL_FILE name.

    \b
    Example:
      DATABASE_URL=postgresql://tilelab@db/tilelab REDIS_URL=redis://queue/0 tilelab serve web --port 8000
    """  # noqa: D301 - click reads the escape
