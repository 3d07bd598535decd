"""Who asks: the bearer token of a request. A token acts for its person, and in nobody's name else."""

from __future__ import annotations

from datetime import timedelta

from flask import request
from sqlalchemy.exc import SQLAlchemyError

from server.accounts import browser_sessions, limits
from server.accounts.limits import Limit, TooOften
from server.accounts.models import Person
from server.accounts.service import find_token, note_token_use
from server.http.notes import note
from server.http.problems import Refused
from server.http.site import Site, site

_LONGEST_TOKEN = 200

BAD_TOKENS = Limit("bad token", 60, timedelta(minutes=1))
"""From one address. A good token is let in all the same: others may share the address with whoever guesses."""


def person_asking() -> Person:
    """The owner of the request's token; refuses a request without one that is good."""
    token = token_shown()
    if not token:
        raise _not_signed_in("No token came along. Send the header `Authorization: Bearer TOKEN`.")
    found = None
    if token.isascii() and len(token) <= _LONGEST_TOKEN:
        with site().readers.begin() as session:
            found = find_token(session, token)
    if found is None:
        try:
            limits.count(site().sessions, BAD_TOKENS, limits.by_address(request.remote_addr or ""))
        except TooOften as often:
            raise too_many_requests(BAD_TOKENS, often) from often
        raise _not_signed_in(_NOT_GOOD)
    if found.stale:
        note(lambda session: note_token_use(session, found.token_id))
    return found.person


def owner_of(site: Site, credential: str) -> int | None:
    """Whose a cookie or an Authorization header is; None for nobody's, and where the database can't say."""
    token = _bearer(credential)
    looked_up = token or credential
    if not looked_up.isascii() or len(looked_up) > _LONGEST_TOKEN:
        return None
    try:
        with site.readers.begin() as session:
            found = find_token(session, token) if token else browser_sessions.find(session, credential)
    except SQLAlchemyError:
        return None
    return None if found is None else found.person.id


def token_shown() -> str:
    """The token that the request came with; "" for none."""
    return _bearer(request.headers.get("Authorization", ""))


def _bearer(header: str) -> str:
    scheme, _, token = header.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def too_many_requests(limit: Limit, often: TooOften) -> Refused:
    """The answer to one request too many."""
    minutes = limit.every.total_seconds() / 60
    return Refused(
        429, "too_often", "Too many requests",
        f"At most {limit.count} are answered in {minutes:g} min. Try again in {often.seconds} s.",
        {"Retry-After": str(often.seconds)},
    )  # fmt: skip


_NOT_GOOD = (
    "The token is unknown, has expired or was revoked. Make another on your account’s page, under API tokens."
)


def _not_signed_in(detail: str) -> Refused:
    return Refused(
        401, "not_signed_in", "Nobody is signed in", detail, {"WWW-Authenticate": 'Bearer realm="tilelab"'}
    )
