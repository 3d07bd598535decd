"""What a command answers: data for programs, text for people, and its exit code."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

import click

from worker.commands.root import Exit, leave


class Answer(NamedTuple):
    """What a command found, given to `answering`. Data and text may be functions, called only for what is printed.

    text: with or without a line's end; "" prints nothing
    refusals: lines for standard error, after the answer
    err: whether the answer goes to standard error as well, because standard output has something else
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
    """Give a command `--json`; what it returns is printed as that or as text, and ends it."""

    def given(command: Callable[..., Answer]) -> Callable[..., NoReturn]:
        @functools.wraps(command)
        def ended(*arguments: Any, as_json: bool, **options: Any) -> NoReturn:
            answer = command(*arguments, **options)
            answer.show(as_json=as_json)
            leave(answer.exit)

        return click.option("--json", "as_json", is_flag=True, help=help)(ended)

    return given
