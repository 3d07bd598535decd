"""Wait for a submission, and show meanwhile how far it is: one line that moves on a terminal, plain lines in a pipe."""

from __future__ import annotations

import sys
from typing import NoReturn

import click

from worker.commands.ending import INTERRUPTED
from worker.commands.portal import page_of
from worker.commands.progress import Progress
from worker.commands.terminal import style_of
from worker.portal.answers import Submission
from worker.portal.following import Follower
from worker.portal.phases import bar, phase
from worker.portal.portal import Portal


def wait_for(asked: Portal, public_id: str) -> Submission:
    """The submission once it is over. Ctrl-C ends the command, and says that grading goes on."""
    try:
        with _Display() as display:
            for found in Follower(asked, public_id, troubled=display.tell).states():
                display.show(found)
    except KeyboardInterrupt:
        _leave(asked, public_id)
    return found


class _Display(Progress):
    """On standard error: standard output is for the report."""

    def __init__(self) -> None:
        super().__init__()
        self._terminal = sys.stderr.isatty()
        self._style = style_of(sys.stderr)
        self._shown = ""

    def show(self, what: str | Submission) -> None:
        """What holds now; in a pipe it is a line whenever it changes."""
        if isinstance(what, str):
            super().show(what)
            return
        text = phase(what)
        if self._terminal:
            super().show(f"{bar(what, self._style)} {text}".strip())
        elif text != self._shown:
            click.echo(f"tilelab: {text}", err=True)
        self._shown = text

    def tell(self, text: str) -> None:
        """What keeps it from knowing more."""
        if self._terminal:
            super().show("the portal does not answer; grading goes on, and so does this")
        else:
            click.echo(f"tilelab: {text} Grading goes on; asking again.", err=True)
            self._shown = ""


def _leave(asked: Portal, public_id: str) -> NoReturn:
    click.echo(
        f"\ntilelab: grading goes on. `tilelab status {public_id} --watch` comes back to it, and so does"
        f" {page_of(asked.url, public_id)}",
        err=True,
    )
    sys.exit(INTERRUPTED)
