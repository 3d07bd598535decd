"""Cookies that say who is signed in and know a browser again, and the token that shows that a form is ours."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from urllib.parse import urlsplit

from flask import Flask, Response, g, request
from markupsafe import Markup, escape

from server.accounts.browser_sessions import KEPT, LIFETIME
from server.http.problems import Refused
from server.http.site import site

CSRF_FIELD = "csrf"
_FIELD = "csrf_field"
_MASK_BYTES = 32
_LONGEST = 200
_SAFE = {"GET", "HEAD", "OPTIONS"}


def attach_form_guard(app: Flask) -> None:
    """Refuse what a foreign page makes a browser send, and give templates `csrf_field()`."""
    app.before_request(_refuse_foreign_forms)
    app.jinja_env.globals["csrf_field"] = csrf_field


def session_token() -> str:
    """What the request's cookie holds; "" for none."""
    return request.cookies.get(_name(), "")[:_LONGEST]


def set_session(response: Response, token: str) -> None:
    """Let the browser keep it; and once more for longer, by which its owner is known when they come back."""
    for name, age in ((_name(), LIFETIME), (_name_of_earlier(), LIFETIME + KEPT)):
        response.set_cookie(
            name, token, max_age=age, httponly=True, samesite="Lax", secure=encrypted(), path="/"
        )


def earlier_token() -> str:
    """That of the last session of this browser, which may be over; "" for none. It lets nobody in."""
    token = request.cookies.get(_name_of_earlier(), "")
    return token if token.isascii() and len(token) <= _LONGEST else ""


def clear_session(response: Response) -> None:
    """Let the browser forget it."""
    response.delete_cookie(_name(), httponly=True, samesite="Lax", secure=encrypted(), path="/")


def csrf_field() -> Markup:
    """The hidden field that every form which changes something has; the same one in all forms of a page."""
    if _FIELD not in g:
        setattr(g, _FIELD, csrf_token(session_token()))
    return Markup(f'<input type="hidden" name="{CSRF_FIELD}" value="{escape(getattr(g, _FIELD))}">')  # noqa: S704 - hexadecimal digits


def csrf_token(token: str) -> str:
    """What a form of this session holds. It follows from the cookie, which a foreign page cannot read.

    It is written in another way each time, behind a mask: pages are compressed, and how long one then is would tell
    whoever can make it repeat guesses how much of a guess is right.
    """
    mask = secrets.token_bytes(_MASK_BYTES)
    return (mask + _masked(_of_session(token), mask)).hex()


def _refuse_foreign_forms() -> None:
    """Programs show a token, which no browser sends by itself; everything else has to come from a page of ours."""
    if request.method in _SAFE or request.path.startswith("/api/"):
        return
    if not _from_here():
        raise _foreign()
    token = session_token()
    if token and not _is_of(token, request.form.get(CSRF_FIELD, "")):
        raise _foreign()


def _is_of(token: str, given: str) -> bool:
    try:
        shown = bytes.fromhex(given)
    except ValueError:
        return False
    return hmac.compare_digest(_masked(shown[_MASK_BYTES:], shown[:_MASK_BYTES]), _of_session(token))


def _of_session(token: str) -> bytes:
    return hmac.digest(token.encode(), b"tilelab form", hashlib.sha256)


def _masked(content: bytes, mask: bytes) -> bytes:
    return bytes(one ^ other for one, other in zip(content, mask, strict=False))


def _from_here() -> bool:
    """By what the browser says of where the request was made; one that says nothing sends no foreign form either."""
    if (where := request.headers.get("Sec-Fetch-Site")) is not None:
        return where == "same-origin"
    if (origin := request.headers.get("Origin")) is not None:
        given = urlsplit(origin)
        public = site().settings.public_url
        return f"{given.scheme}://{given.netloc}" == (public or request.host_url).rstrip("/")
    return True


def _foreign() -> Refused:
    return Refused(
        403, "foreign_form", "This form is out of date",
        "It was opened before you signed in or out, or does not come from this site. Nothing was stored. Open the page "
        "again, and send it from there.",
    )  # fmt: skip


def encrypted() -> bool:
    """Whether browsers reach this site over an encrypted connection."""
    return request.is_secure or site().settings.public_url.startswith("https:")


def _name() -> str:
    """A browser takes the first of these names over an encrypted connection alone, and from this host alone."""
    return "__Host-tilelab" if encrypted() else "tilelab"


def _name_of_earlier() -> str:
    return f"{_name()}-earlier"
