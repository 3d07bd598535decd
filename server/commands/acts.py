"""Verbs of `tilelab admin` that carry out an act on a student's part of an assignment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from inspect import cleandoc
from typing import Any

import click
from sqlalchemy.orm import Session

from server.commands.database import in_session
from server.commands.names import assignment_named, person_named
from server.commands.options import even_if_lower, together
from server.staff.acts.act import Act, Field, Target
from server.staff.losses import CONFIRMED
from worker.commands.answer import Answer, answering


def add_verb(
    group: click.Group,
    act: Act[Any],
    answer: Callable[[Session, Target], Answer],
    name: str,
    text: str,
    takes: tuple[str, ...] = (),
    **sets: Any,
) -> None:
    """Add a verb that carries out an act.

    text: its help
    takes: the fields that it asks for; sets: values of others. Fields that are in neither stay unchanged
    """

    @in_session
    def run(session: Session, target: str, email: str, even_if_lower: bool = False, **given: Any) -> Answer:
        on = Target(assignment_named(session, target), person_named(session, email).id)
        confirmed = CONFIRMED if even_if_lower else ""
        act.carry_out(session, on, None, confirmed, lambda now: replace(now, **sets, **given))
        return answer(session, on)

    options = [_asked(field) for field in act.fields if field.name in takes]
    if act.lowers & {*takes, *sets}:
        options.append(even_if_lower)
    asks = together(click.argument("target", metavar="COURSE/ASSIGNMENT"), click.argument("email"), *options)
    group.command(name, help=cleandoc(text))(asks(answering()(run)))


def _asked(field: Field) -> Callable[[Any], Any]:
    if field.asked.argument:
        return click.argument(field.name, metavar=field.asked.argument, type=field.kind)
    return click.option(f"--{field.name}", required=True, help=field.asked.help)
