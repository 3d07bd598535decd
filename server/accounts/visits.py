"""Whether somebody was ever here, with a browser or with a program."""

from __future__ import annotations

from sqlalchemy import ColumnElement, exists, or_

from server.accounts.models import ApiToken, BrowserSession, Person


def was_here() -> ColumnElement[bool]:
    """Of a query for people: whether they set a password, signed in, or used a token."""
    return or_(
        Person.password.is_not(None),
        exists().where(BrowserSession.person_id == Person.id).correlate(Person),
        exists().where(ApiToken.person_id == Person.id, ApiToken.used_at.is_not(None)).correlate(Person),
    )
