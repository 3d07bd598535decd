"""Who asks: the bearer token of a request."""

from __future__ import annotations

from flask import request

from server.accounts.models import Person
from server.accounts.service import find_by_token
from server.courses.models import Role
from server.web.problems import Refused
from server.web.site import site

_LONGEST_TOKEN = 200


def person_asking() -> Person:
    """The owner of the request's token; refuses a request without one that is good."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token:
        raise _not_signed_in("No token came along. Send the header `Authorization: Bearer TOKEN`.")
    if not token.isascii() or len(token) > _LONGEST_TOKEN:
        raise _not_signed_in(_NOT_GOOD)
    # that a token is used is noted: it takes a transaction that can write
    with site().sessions.begin() as session:
        person = find_by_token(session, token)
    if person is None:
        raise _not_signed_in(_NOT_GOOD)
    return person


def is_staff(role: Role | None) -> bool:
    """Whether someone with this role sees everyone's work in the course."""
    return role in {Role.INSTRUCTOR, Role.ASSISTANT}


_NOT_GOOD = "The token is unknown, has expired or was revoked. Ask your course's staff for another."


def _not_signed_in(detail: str) -> Refused:
    return Refused(
        401, "not_signed_in", "Nobody is signed in", detail, {"WWW-Authenticate": 'Bearer realm="tilelab"'}
    )
