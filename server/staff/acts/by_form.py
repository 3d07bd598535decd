"""An act by a form on a page: fields are read and shown by their types, and edits of two people are merged."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from flask import Response
from sqlalchemy.orm import Session

from server.courses.access import Membership, instructor_of
from server.courses.local_time import typed, zone_named
from server.courses.service import CourseError
from server.http.forms import Form, sent
from server.http.problems import Refused
from server.http.site import site
from server.staff.acts.act import Act, Mistakes, Target
from server.staff.acts.field import Field, Values, cleaned, fields_of, read
from server.staff.desk import acting, confirmed
from server.staff.form_merge import SHOWN, merge, shown_form
from server.text import typed_number


def form_now(act: Act[Values], session: Session, on: Target) -> Form:
    """A form with the present values."""
    return shown_form(typed_values(act.values(session, on), zone_named(on.course.time_zone)))


def change_by_form(
    act: Act[Values],
    slug: str,
    find: Callable[[Session, Membership, Form], Target],
    done: Callable[[], Response],
    page: Callable[[Session, Membership, Target, Form], str] | None = None,
    more: tuple[str, ...] = (),
) -> Response | tuple[str, int]:
    """Carry out an act, then answer with `done`; with mistakes, with the page again.

    page: None if the form is only a button or a line of a list; then raises Refused
    more: fields of the form that `find` reads
    """
    course = instructor_of(slug)
    form = sent(*(field.form for field in act.fields), *more, SHOWN)
    zone = zone_named(course.time_zone)
    outdated = False
    try:
        with site().sessions.begin() as session:
            on = find(session, course, form)

            def change(now: Values) -> Values:
                nonlocal outdated
                outdated = act.present is not None and merge(form, typed_values(now, zone))
                given = read_values(form, now, zone)
                note_mistakes(form, act, act.mistakes(session, on, given))
                if not form.right:
                    raise Mistakes(form.mistakes)
                return given

            act.carry_out(session, on, acting(session), change, confirmed())
    except CourseError as error:
        if page is None:
            raise Refused(409, "not_possible", "This isn’t possible", str(error)) from error
        if form.right:
            form.mistake(next(iter((*error.fields, *more, *form.values))), str(error))
        with site().readers.begin() as session:
            return page(session, course, find(session, course, form), form), 409 if outdated else 422
    return done()


def note_mistakes(form: Form, act: Act[Any], found: dict[str, str]) -> None:
    """Add mistakes by field to the form."""
    for field in act.fields:
        if field.name in found:
            form.mistake(field.form, found[field.name])


def read_values(form: Form, now: Values, zone: ZoneInfo) -> Values:
    """The values of a form, in place of the present ones; adds mistakes to the form."""
    given = {field.name: _read(form, field, zone, getattr(now, field.name)) for field in fields_of(type(now))}
    return cleaned(type(now)(**given))


def typed_values(values: object, zone: ZoneInfo) -> dict[str, str]:
    """The values as a form shows them."""
    return {field.form: _typed(getattr(values, field.name), zone) for field in fields_of(type(values))}


def _read(form: Form, field: Field, zone: ZoneInfo, was: Any) -> Any:
    if field.kind is bool:
        return form.checked(field.form)
    try:
        return read(field, form[field.form], zone, was)
    except ValueError as error:
        form.mistake(field.form, str(error))
        return was


def _typed(value: Any, zone: ZoneInfo) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, datetime):
        return typed(value, zone)
    if isinstance(value, float):
        return typed_number(value)
    return "" if value is None else str(value)
