"""`tilelab admin doctor`: what is wrong with a deployment, and what to do next."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kernels.rendering.text_safety import safe
from kernels.wording import plural
from worker.commands.answer import Answer, answering
from worker.commands.root import Exit

if TYPE_CHECKING:
    from server.operations.doctor.examination import Line


_NO_BACKUPS = "\nBackups weren't checked. Name their folder with --backups FOLDER."


@click.command(epilog="Exit code: 0 no problem, perhaps warnings; 1 a problem; 2 wrong use.")
@click.option(
    "--backups", metavar="FOLDER", type=click.Path(readable=False, path_type=Path),
    help="The folder of your backups: check the newest one's age, and whether it can be read.  [default: "
    "TILELAB_BACKUPS]",
)  # fmt: skip
@answering()
def doctor(backups: Path | None) -> Answer:
    """Check the deployment: settings, secrets, database, Redis, workers, e-mail, sign-on and backups.

    One line for each check says what is fine, or what is wrong and what to do next. Changes no data. Run it as the
    server's user, with the server's settings.

    \b
    Example:
      tilelab admin doctor --backups /var/backups
    """
    from server.operations.doctor.examination import examine

    logging.getLogger().addHandler(logging.NullHandler())  # what checks log, their lines say
    lines = examine(os.environ, backups)
    counts = Counter(line.level.value for line in lines)
    data = {
        "problems": counts["problem"],
        "warnings": counts["warning"],
        "checks": [{"check": line.check, "level": line.level.value, "text": line.text} for line in lines],
    }
    return Answer(
        data,
        _shown(lines, counts) + ("" if any(line.check == "backups" for line in lines) else _NO_BACKUPS),
        Exit.NOT_ACCEPTED if counts["problem"] else Exit.ACCEPTED,
    )


def _shown(lines: Sequence[Line], counts: Counter[str]) -> str:
    width = max(len(line.check) for line in lines)
    rows = [f"{line.level:<7}  {line.check:<{width}}  {safe(line.text)}" for line in lines]
    total = f"{plural(counts['problem'], 'problem')}, {plural(counts['warning'], 'warning')}, {counts['fine']} fine"
    return "\n".join([*rows, "", total])
