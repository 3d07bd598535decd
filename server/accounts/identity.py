"""The person behind a request's bearer token."""

from __future__ import annotations

from datetime import timedelta

from flask import Response, after_this_request, current_app, g, request
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from server.accounts import browser_sessions, limits
from server.accounts.limits import Limit, TooOften
from server.accounts.models import Person, Scope
from server.accounts.service import find_token, note_token_use, owner_of_token
from server.http.notes import note
from server.http.operation import operation_of
from server.http.problems import Refused
from server.http.site import Site, site

_LONGEST_TOKEN = 200
_KEY, _STALE = "token_scopes", "stale_token"

BAD_TOKENS = Limit("bad token", 60, timedelta(minutes=1))
"""From one address. A valid token still works: others may share the address with a guesser."""


def person_asking(*, counts: bool = False) -> Person:
    """The owner of the request's token; refuses a request without a valid token, or outside its scopes.

    counts: whether the request counts for a limit next, in whose transaction `note_use` records the token's use
    """
    token = bearer_token()
    if not token:
        raise _not_signed_in("The request has no token. Send the header `Authorization: Bearer TOKEN`.")
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
    if found.stale and counts:
        setattr(g, _STALE, found.token_id)
        after_this_request(_note_what_is_left)
    elif found.stale:
        note(lambda session: note_token_use(session, found.token_id))
    setattr(g, _KEY, found.scopes)
    said = operation_of(current_app.view_functions[request.endpoint or ""])
    need_scope("" if said is None else said.scope)
    return found.person


def note_use(session: Session) -> None:
    """Record the use of the request's token, if that is still to do."""
    token: int | None = g.pop(_STALE, None)
    if token is not None:
        note_token_use(session, token)


def _note_what_is_left(response: Response) -> Response:
    """Record the use of the token of a request that was refused before it counted."""
    token: int | None = g.pop(_STALE, None)
    if token is not None:
        note(lambda session: note_token_use(session, token))
    return response


def has_scope(scope: str) -> bool:
    """Whether the request's token has this scope. Ask after `person_asking`."""
    return scope in g.get(_KEY, ())


def need_scope(scope: str) -> None:
    if not has_scope(scope):
        raise Refused(
            403, "missing_scope", "The token doesn’t allow this",
            f"The token lacks the scope `{scope}`. Create a token with it on your account page, under API tokens.",
        )  # fmt: skip


def need_staff_scope(*, own: bool) -> None:
    """Refuse work that a person reads as course staff to a token without their scope."""
    if not own:
        need_scope(Scope.STAFF)


def owner_of(site: Site, credential: str) -> int | None:
    """The ID of the person behind a session cookie or Authorization header.

    None for an unknown credential, and if the database doesn't answer.
    """
    token = _bearer(credential)
    looked_up = token or credential
    if not looked_up.isascii() or len(looked_up) > _LONGEST_TOKEN:
        return None
    try:
        with site.readers.begin() as session:
            if token:
                return owner_of_token(session, token)
            signed_in = browser_sessions.find(session, credential)
            return None if signed_in is None else signed_in.person_id
    except SQLAlchemyError:
        return None


def bearer_token() -> str:
    """The request's bearer token; "" for none."""
    return _bearer(request.headers.get("Authorization", ""))


def _bearer(header: str) -> str:
    scheme, _, token = header.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def too_many_requests(limit: Limit, often: TooOften) -> Refused:
    minutes = limit.every.total_seconds() / 60
    return Refused(
        429, "too_often", "Too many requests",
        f"The limit is {limit.count} requests in {minutes:g} min. Try again in {often.seconds} s.",
        {"Retry-After": str(often.seconds)},
    )  # fmt: skip


_NOT_GOOD = "The token is unknown, expired or revoked. Create another on your account page, under API tokens."


def _not_signed_in(detail: str) -> Refused:
    return Refused(
        401, "not_signed_in", "You are not signed in", detail, {"WWW-Authenticate": 'Bearer realm="tilelab"'}
    )
