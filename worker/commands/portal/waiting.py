"""Wait for a submission, and show meanwhile how far it is: one line that moves on a terminal, plain lines in a pipe."""

from __future__ import annotations

import sys
from typing import NoReturn

import click

from kernels.rendering.text_safety import cut
from worker.client.answers import Progress as Told
from worker.client.answers import Submission
from worker.client.following import Follower
from worker.client.phases import bar, detail, headline, part_of, part_told, phase
from worker.client.portal import Portal
from worker.commands.ending import INTERRUPTED
from worker.commands.portal.connection import page_of
from worker.commands.progress import Progress
from worker.commands.terminal import style_of

_SECONDS_ROOM = 20
"""Of a line: the command's name before, and the seconds behind what is shown."""


def wait_for(asked: Portal, public_id: str) -> Submission:
    """The submission once it is over. Ctrl-C ends the command, and says that grading goes on."""
    try:
        with _Display() as display:
            for found in Follower(asked, public_id, told=display.event, troubled=display.tell).states():
                display.state(found)
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

    def state(self, found: Submission) -> None:
        self._say(phase(found), part_of(found))

    def event(self, told: Told) -> None:
        if told.final:
            return  # what became of it is asked for
        self._say(headline(told), part_told(told), detail(told))

    def tell(self, text: str) -> None:
        if self._terminal:
            self.show("the portal does not answer; grading goes on, and so does this")
        else:
            click.echo(f"tilelab: {text} Grading goes on; asking again.", err=True)
            self._shown = ""

    def _say(self, text: str, part: float, more: str = "") -> None:
        """In a pipe it is a line whenever something else is done."""
        if self._terminal:
            line = f"{bar(part, self._style)} {text}{f', {more}' if more else ''}"
            self.show(cut(line, self._style.width - _SECONDS_ROOM))
        elif text != self._shown:
            click.echo(f"tilelab: {text}", err=True)
        self._shown = text


def _leave(asked: Portal, public_id: str) -> NoReturn:
    click.echo(
        f"\ntilelab: grading goes on. `tilelab status {public_id} --watch` comes back to it, and so does"
        f" {page_of(asked.url, public_id)}",
        err=True,
    )
    sys.exit(INTERRUPTED)
