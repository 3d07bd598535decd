"""An act by a form on a page: fields are read and shown by their types, and edits of two people are merged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Response
from sqlalchemy.orm import Session

from server.courses.access import Membership, instructor_of
from server.http.forms import Form, sent
from server.http.site import site
from server.staff.acts.act import Act, Field, Fields, Mistakes, Target
from server.staff.assignments.setting_form import number
from server.staff.desk import acting, confirmed, printable
from server.staff.form_merge import SHOWN, merge, shown_form
from server.text import typed_number


def form_now(act: Act[Fields], session: Session, on: Target) -> Form:
    """A form with the present values."""
    return shown_form(_typed(act, act.present(session, on.assignment, on.person_id)))


def change_by_form(
    act: Act[Fields],
    slug: str,
    find: Callable[[Session, Membership], Target],
    page: Callable[[Session, Membership, Target, Form], str],
    done: Callable[[], Response],
) -> Response | tuple[str, int]:
    """Carry out an act, then answer with `done`; with mistakes, with the page again."""
    course = instructor_of(slug)
    form = sent(*(field.name for field in act.fields), SHOWN)
    outdated = False

    def change(now: Fields) -> Fields:
        nonlocal outdated
        outdated = merge(form, _typed(act, now))
        given = act.asks(**{field.name: _read(form, field) for field in act.fields})
        for name, text in act.wrong(given).items():
            form.mistake(name, text)
        if form.mistakes:
            raise Mistakes(form.mistakes)
        return given

    try:
        with site().sessions.begin() as session:
            act.carry_out(session, find(session, course), acting(session), confirmed(), change)
    except Mistakes:
        with site().readers.begin() as session:
            return page(session, course, find(session, course), form), 409 if outdated else 422
    return done()


def _read(form: Form, field: Field) -> Any:
    """The field's value; adds mistakes to the form."""
    if field.kind is bool:
        return form.checked(field.name)
    if field.kind is float:
        return number(form, field.name) if form[field.name] or not field.optional else None
    return printable(form[field.name])


def _typed(act: Act[Fields], values: Fields) -> dict[str, str]:
    return {field.name: _shown(getattr(values, field.name)) for field in act.fields}


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return typed_number(value)
    return "" if value is None else str(value)
