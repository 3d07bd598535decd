"""An act by a form on a page: fields are read and shown by their types, and edits of two people are merged."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from flask import Response
from sqlalchemy.orm import Session

from kernels.rendering.text_safety import cut
from server.accounts.access import admin
from server.acts.act import Act, Mistakes, Target
from server.acts.field import Field, Values, cleaned, fields_of, read
from server.courses.access import Membership, instructor_of, staff_of
from server.courses.local_time import typed, zone_named
from server.courses.service import CourseError
from server.courses.staff_pages import acting, confirmed
from server.http.forms import Form, filled, sent
from server.http.site import site
from server.submissions.changes import revoke
from server.text import typed_number

SHOWN = "shown"
"""The hidden field with a digest of each value that the form showed."""

_DIGITS = 12
_LONGEST = 80


def shown_form(values: Mapping[str, str]) -> Form:
    """A form with the saved values."""
    return filled({**values, SHOWN: _digests(values)})


def merge(form: Form, saved: Mapping[str, str]) -> bool:
    """Merge the saved values into a sent form; returns whether it conflicts with them.

    A conflict is a mistake of its field. Sending the form again then replaces the saved value. A form without the
    hidden field replaces everything.
    """
    if not form[SHOWN]:
        return False
    shown = dict(each.split(":", 1) for each in form[SHOWN].split() if ":" in each)
    conflict = False
    for name, value in saved.items():
        mine, before = _digest(form[name]), shown.get(name, _digest(""))
        if _digest(value) in {mine, before}:
            continue
        if mine == before:
            form.values[name] = value
            continue
        conflict = True
        now = f"“{cut(value, _LONGEST)}”" if value else "empty"
        form.mistake(name, f"Another person saved this page. The saved value is {now}. Save again to replace it.")
    form.values[SHOWN] = _digests(saved)
    return conflict


def _digests(values: Mapping[str, str]) -> str:
    return " ".join(f"{name}:{_digest(value)}" for name, value in values.items())


def _digest(value: str) -> str:
    # Browsers send lines with CRLF.
    plain = value.replace("\r\n", "\n").strip()
    return hashlib.sha256(plain.encode()).hexdigest()[:_DIGITS]


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
    *,
    preview: bool = False,
) -> Response | tuple[str, int]:
    """Carry out an act, then answer with `done`; with mistakes, with the page again.

    page: None if the form is only a button or a line of a list; then raises CourseError
    more: fields of the form that `find` reads
    preview: only show the page with what was sent
    """
    course = (staff_of if act.assistants else instructor_of)(slug)
    return _change(
        act,
        zone_named(course.time_zone),
        lambda session, form: find(session, course, form),
        done,
        None if page is None else lambda session, on, form: page(session, course, on, form),
        more,
        preview=preview,
    )


def change_by_operator(
    act: Act[Values],
    find: Callable[[Session], Target],
    done: Callable[[], Response],
    page: Callable[[Session, Target, Form], str] | None = None,
) -> Response | tuple[str, int]:
    """Carry out an act of operators, as `change_by_form` does for course staff."""
    admin()
    return _change(act, ZoneInfo("UTC"), lambda session, _: find(session), done, page)


def _change(
    act: Act[Values],
    zone: ZoneInfo,
    find: Callable[[Session, Form], Target],
    done: Callable[[], Response],
    page: Callable[[Session, Target, Form], str] | None,
    more: tuple[str, ...] = (),
    *,
    preview: bool = False,
) -> Response | tuple[str, int]:
    form = sent(*(field.form for field in act.fields), *more, SHOWN)
    outdated = False
    try:
        with site().sessions.begin() as session:
            on = find(session, form)

            def change(now: Values) -> Values:
                nonlocal outdated
                outdated = act.present is not None and merge(form, typed_values(now, zone))
                given = read_values(form, now, zone)
                note_mistakes(form, act, act.mistakes(session, on, given))
                if preview or not form.right:
                    raise Mistakes(form.mistakes)
                return given

            made = act.carry_out(session, on, acting(session), change, confirmed())
    except CourseError as error:
        if page is None:
            raise
        if form.right and not preview:
            form.mistake(next(iter((*error.fields, *more, *form.values))), str(error))
        with site().readers.begin() as session:
            html = page(session, find(session, form), form)
        return html, 200 if form.right else 409 if outdated else 422
    if act.revokes:
        revoke(site().settings.redis_url, made)
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
