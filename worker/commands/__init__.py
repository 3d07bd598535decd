"""The command `tilelab`: one file a verb, each imported only when it is called."""

from __future__ import annotations


def main() -> None:
    """Entry point of the command."""
    from worker.commands.root import tilelab

    tilelab()
