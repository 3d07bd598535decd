"""Cookies that say who is signed in and know a browser again, and the token that shows that a form is ours."""

from __future__ import annotations

import hashlib
import hmac
from urllib.parse import urlsplit

from flask import Flask, Response, request
from markupsafe import Markup, escape

from server.accounts.browser_sessions import KEPT, LIFETIME
from server.web.problems import Refused
from server.web.site import site

CSRF_FIELD = "csrf"
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
            name, token, max_age=age, httponly=True, samesite="Lax", secure=_secure(), path="/"
        )


def earlier_token() -> str:
    """That of the last session of this browser, which may be over; "" for none. It lets nobody in."""
    token = request.cookies.get(_name_of_earlier(), "")
    return token if token.isascii() and len(token) <= _LONGEST else ""


def clear_session(response: Response) -> None:
    """Let the browser forget it."""
    response.delete_cookie(_name(), httponly=True, samesite="Lax", secure=_secure(), path="/")


def csrf_field() -> Markup:
    """The hidden field that every form which changes something has."""
    return Markup(f'<input type="hidden" name="{CSRF_FIELD}" value="{escape(csrf_token(session_token()))}">')  # noqa: S704 - hexadecimal digits


def csrf_token(token: str) -> str:
    """What a form of this session holds. It follows from the cookie, which a foreign page cannot read."""
    return hmac.new(token.encode(), b"tilelab form", hashlib.sha256).hexdigest()


def _refuse_foreign_forms() -> None:
    """Programs show a token, which no browser sends by itself; everything else has to come from a page of ours."""
    if request.method in _SAFE or request.path.startswith("/api/"):
        return
    if not _from_here():
        raise _foreign()
    token = session_token()
    if token and not hmac.compare_digest(
        request.form.get(CSRF_FIELD, "").encode(), csrf_token(token).encode()
    ):
        raise _foreign()


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
        "It was opened before you signed in or out, or does not come from this site. Go back, reload the page, and "
        "send it again; what you typed is still there.",
    )  # fmt: skip


def _secure() -> bool:
    return site().settings.public_url.startswith("https:")


def _name() -> str:
    """A browser takes the first of these names over an encrypted connection alone, and from this host alone."""
    return "__Host-tilelab" if _secure() else "tilelab"


def _name_of_earlier() -> str:
    return f"{_name()}-earlier"
