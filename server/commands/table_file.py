"""CSV files that commands read."""

from __future__ import annotations

from pathlib import Path

import click

from server.table_file import MOST_BYTES, Source, Unreadable, decoded
from worker.commands.root import WrongUse


def read_file(file: Path) -> Source:
    """The content of a CSV file; `-` is standard input. Raises WrongUse."""
    try:
        with click.open_file(str(file), "rb") as source:
            return decoded(source.read(MOST_BYTES + 1))
    except Unreadable as error:
        raise WrongUse(f"{file}: {error}") from error
    except OSError as error:
        raise WrongUse(f"{file}: cannot read the file ({error.strerror or error}).") from error
