"""Acts as verbs of `tilelab admin`: the options of their fields, and verbs that carry them out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from functools import wraps
from typing import Any
from zoneinfo import ZoneInfo

import click
from sqlalchemy.orm import Session

from server.acts.act import Act, Mistakes, Target, assignment_target
from server.acts.field import Field, read
from server.commands.course_times import time_text, zone_of
from server.commands.database import database_in_use
from server.commands.names import assignment_named, course_named, person_named
from server.commands.options import even_if_lower, together
from server.commands.revocation import revoke
from server.courses.models import Course
from server.text import typed_number
from worker.commands.answer import Answer, answering
from worker.commands.root import WrongUse

Option = Callable[[Any], Any]

_UTC = ZoneInfo("UTC")
_METAVARS = {datetime: "TIME", int: "INTEGER", float: "FLOAT", str: "TEXT"}


def options(fields: Iterable[Field]) -> Option:
    """Add the options of these fields to a command, which passes them to `asked_for`."""
    return together(*map(_option, fields))


def asked_for(act: Act[Any], given: Mapping[str, Any], course: Course | None) -> dict[str, Any]:
    """The given options as values of fields. Raises WrongUse."""
    return {name: _value(act.by_name[name], text, course) for name, text in given.items() if text is not None}


def told(act: Act[Any], asked: Mapping[str, Any], course: Course) -> str:
    """The given values as text. Times show their zone, so that you can check them."""
    named = ((act.by_name[name], value) for name, value in asked.items())
    return ", ".join(f"{field.word} {_told(field, value, course)}" for field, value in named)


def carry_out(act: Act[Any], session: Session, on: Target, asked: Mapping[str, Any], confirmed: str = "") -> Any:
    """Carry out an act with these values in place of the present ones. Raises WrongUse with all mistakes."""
    if act.present is not None and not asked:
        raise WrongUse("nothing to change. --help lists the options.")
    try:
        return act.carry_out(session, on, None, lambda now: replace(now, **asked), confirmed)
    except Mistakes as mistakes:
        raise wrong_options(act, mistakes.by_field) from None


def wrong_options(act: Act[Any], found: Mapping[str, str], others: Mapping[str, str] | None = None) -> WrongUse:
    """Mistakes by field, in one line. others: the options of further fields that aren't called like them."""
    named = dict(others or {}) | {field.name: field.option.partition("/")[0] for field in act.fields}
    options = ((named.get(name, f"--{name}"), text) for name, text in found.items())
    return WrongUse(" ".join(f"{option}: {text}" if option.startswith("--") else text for option, text in options))


@dataclass(frozen=True, slots=True)
class Named:
    """What verbs act on: their arguments, and how to find it by them."""

    arguments: tuple[Option, ...]
    find: Callable[..., Target]


STUDENT = Named(
    (click.argument("name", metavar="COURSE/ASSIGNMENT"), click.argument("email")),
    lambda session, name, email: assignment_target(assignment_named(session, name), person_named(session, email).id),
)
"""A student's part of an assignment."""

ASSIGNMENT = Named(
    (click.argument("name", metavar="COURSE/ASSIGNMENT"),),
    lambda session, name: assignment_target(assignment_named(session, name)),
)

MEMBER = Named(
    (click.argument("name", metavar="COURSE"), click.argument("email")),
    lambda session, name, email: Target(course_named(session, name), people=(person_named(session, email).id,)),
)


def verb(
    group: click.Group,
    act: Act[Any],
    on: Named,
    *takes: str,
    name: str | None = None,
    needed: bool = True,
    lowers: bool = True,
    **sets: Any,
) -> Callable[[Callable[[Session, Target, Any], Answer]], None]:
    """Make a verb that carries out an act from a function that answers. Its docstring is the verb's help.

    name: if it isn't the function's
    takes: the fields that it asks for, and whether they are needed; sets: values of others. Fields that are in neither
        stay unchanged
    lowers: whether it can lower points
    """

    def made(answer: Callable[[Session, Target, Any], Answer]) -> None:
        @wraps(answer)
        def run(confirmed: str = "", **given: Any) -> Answer:
            options = {field: given.pop(field) for field in takes}
            with database_in_use() as sessions:
                with sessions.begin() as session:
                    target = on.find(session, **given)
                    asked = {**sets, **asked_for(act, options, target.within)}
                    done = carry_out(act, session, target, asked, confirmed)
                    answered = answer(session, target, done)
                if act.revokes:
                    revoke(done)
            return answered

        fields = [_option(field, needed=needed) for field in act.fields if field.name in takes]
        asks = together(*on.arguments, *fields, *([even_if_lower] if act.lowers and lowers else []))
        group.command(name)(asks(answering()(run)))

    return made


def _option(field: Field, *, needed: bool = False) -> Option:
    name, asked = field.option, field.asked
    if not name.startswith("--"):
        return click.argument(field.name, metavar=name)
    if field.kind is bool:
        return click.option(name, field.name, default=None, help=asked.help or asked.label)
    if issubclass(field.kind, Enum):
        kind, metavar = click.Choice([*(each.value for each in field.kind), *filter(None, [field.none])]), None
    else:
        kind, metavar = None, asked.metavar or _METAVARS[field.kind]
        metavar += f"|{field.none}" if field.none else ""
    return click.option(name, field.name, type=kind, metavar=metavar, required=needed, help=asked.help or asked.label)


def _value(field: Field, text: Any, course: Course | None) -> Any:
    if field.kind is bool:
        return text
    if field.none and text == field.none:
        return None if field.optional else ""
    if not text and field.kind is not str:
        raise WrongUse(f"{field.option} is empty. --help says what to write.")
    try:
        return read(field, text, _UTC if course is None else zone_of(course))
    except ValueError as error:
        raise WrongUse(f"{field.option} {text!r}: {error}") from None


def _told(field: Field, value: Any, course: Course) -> str:
    if value is None or (field.none and not value):
        return field.none
    if isinstance(value, datetime):
        return time_text(value, course)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return typed_number(value) if isinstance(value, float) else str(value)
