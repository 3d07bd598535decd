"""A process that takes messages and beats by a file; its task `stick` never ends, `touch` leaves a file."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from worker.contract.broker import celery_app
from worker.contract.celery_consumer import consume
from worker.supervision.heartbeat import Heartbeat


def main(url: str, folder: Path) -> None:
    """Until it is killed."""
    app = celery_app(url)

    def stick() -> None:
        (folder / "stuck").touch()
        while True:
            time.sleep(1)

    def touch(*_: object) -> None:
        (folder / "touched").touch()

    app.task(name="stick")(stick)
    app.task(name="touch")(touch)
    consume(app, "sticky", "a consumer", Heartbeat(folder / "beat").beat)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
