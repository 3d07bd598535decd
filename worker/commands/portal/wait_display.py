"""Wait for a submission and show its progress: one updated line on a terminal, plain lines in a pipe."""

from __future__ import annotations

import sys

import click

from kernels.exercise.input_words import case_words
from kernels.rendering.text_safety import cut
from worker.client.answers import Progress as Told
from worker.client.answers import Submission
from worker.client.errors import one_line
from worker.client.follower import Follower
from worker.client.phases import bar, detail, headline, output, part_of, part_told, phase
from worker.client.portal import Portal
from worker.commands.portal.connection import page_of
from worker.commands.progress import Progress
from worker.commands.terminal import style_of
from worker.commands.unplanned_exit import INTERRUPTED

_SECONDS_ROOM = 20
"""Columns of a line for the command's name and the elapsed seconds."""


def wait_for(portal: Portal, public_id: str) -> Submission:
    """The submission, once it is over. Ctrl-C ends the command and says that grading continues."""
    try:
        with _Display() as display:
            for found in Follower(portal, public_id, told=display.event, troubled=display.tell).states():
                display.state(found)
    except KeyboardInterrupt:
        click.echo(
            f"\ntilelab: grading continues. Follow it with `tilelab status {public_id} --watch` or at"
            f" {page_of(portal.url, public_id)}",
            err=True,
        )
        sys.exit(INTERRUPTED)
    return found


class _Display(Progress):
    """Progress on standard error, because standard output is for the report."""

    def __init__(self) -> None:
        super().__init__()
        self._terminal = sys.stderr.isatty()
        self._style = style_of(sys.stderr)
        self._shown = ""
        self._printed = False

    def state(self, submission: Submission) -> None:
        self._say(phase(submission), part_of(submission))

    def event(self, told: Told) -> None:
        if told.final:
            return  # the caller requests the outcome
        if told.printed and not self._printed:
            self._printed = True
            self.write_above([f"tilelab: output of printf so far{_of_case(told.printed_case)}:", *output(told)])
        self._say(headline(told), part_told(told), detail(told))

    def tell(self, text: str) -> None:
        if self._terminal:
            self.show("the portal does not answer, trying again; grading continues")
        else:
            click.echo(f"tilelab: {text} Trying again; grading continues.", err=True)
            self._shown = ""

    def _say(self, text: str, part: float, more: str = "") -> None:
        """Show the step. In a pipe, print a line when the step changes."""
        if self._terminal:
            line = f"{bar(part, self._style)} {text}{f', {more}' if more else ''}"
            self.show(cut(line, self._style.width - _SECONDS_ROOM))
        elif text != self._shown:
            click.echo(f"tilelab: {text}", err=True)
        self._shown = text


def _of_case(name: str) -> str:
    return f", case {one_line(case_words(name))}" if name else ""
