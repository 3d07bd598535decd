"""A command's answer: data for programs, text for people, and the exit code."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

import click

from worker.commands.root import Exit, leave


class Answer(NamedTuple):
    """The result of a command. Data and text may be functions; only the printed one is called.

    text: with or without a newline at the end; "" prints nothing
    refusals: lines for standard error, after the answer
    err: print the answer to standard error too, because standard output has other content
    """

    data: Any
    text: str | Callable[[], str]
    exit: Exit = Exit.ACCEPTED
    refusals: Sequence[str] = ()
    err: bool = False

    def show(self, *, as_json: bool) -> None:
        found = self.data if as_json else self.text
        shown = found() if callable(found) else found
        text = json.dumps(shown) if as_json else shown
        if text:
            click.echo(text, nl=not text.endswith("\n"), err=self.err)
        for line in self.refusals:
            click.echo(line, err=True)


def answering(help: str = "Print JSON.") -> Callable[[Callable[..., Answer]], Callable[..., NoReturn]]:  # noqa: A002 - as click calls it
    """Add `--json` to a command. The command's `Answer` is printed as JSON or text, and the command ends."""

    def given(command: Callable[..., Answer]) -> Callable[..., NoReturn]:
        @functools.wraps(command)
        def ended(*arguments: Any, as_json: bool, **options: Any) -> NoReturn:
            answer = command(*arguments, **options)
            answer.show(as_json=as_json)
            leave(answer.exit)

        return click.option("--json", "as_json", is_flag=True, help=help)(ended)

    return given
