"""Session cookies, and the CSRF token that proves that a form came from this site."""

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
_FROM_PLATFORMS = {"lti.login", "lti.launch"}
"""Forms that a learning management system sends. They change nothing for the browser's session."""


def attach_form_guard(app: Flask) -> None:
    """Refuse forms from other sites, and give templates `csrf_field()`."""
    app.before_request(_refuse_foreign_forms)
    app.jinja_env.globals["csrf_field"] = csrf_field


def session_token() -> str:
    """The value of the request's session cookie; "" for none."""
    return request.cookies.get(_name(), "")[:_LONGEST]


def set_session(response: Response, token: str) -> None:
    """Set the session cookie, and a second one that outlives it and identifies the browser later."""
    for name, age in ((_name(), LIFETIME), (_name_of_earlier(), LIFETIME + KEPT)):
        response.set_cookie(name, token, max_age=age, httponly=True, samesite="Lax", secure=encrypted(), path="/")


def earlier_token() -> str:
    """The token of this browser's last session, which may be over; "" for none. It can't sign in."""
    token = request.cookies.get(_name_of_earlier(), "")
    return token if token.isascii() and len(token) <= _LONGEST else ""


def clear_session(response: Response) -> None:
    response.delete_cookie(_name(), httponly=True, samesite="Lax", secure=encrypted(), path="/")


def csrf_field() -> Markup:
    """The hidden CSRF field of every form that changes something; the same in all forms of a page."""
    if _FIELD not in g:
        setattr(g, _FIELD, csrf_token(session_token()))
    return Markup(f'<input type="hidden" name="{CSRF_FIELD}" value="{escape(getattr(g, _FIELD))}">')  # noqa: S704 - hexadecimal digits


def csrf_token(token: str) -> str:
    """The CSRF token of this session, computed from the cookie, which other sites can't read.

    A random mask changes its text each time. Pages are compressed, so a fixed text could be guessed from their size.
    """
    mask = secrets.token_bytes(_MASK_BYTES)
    return (mask + _masked(_of_session(token), mask)).hex()


def _refuse_foreign_forms() -> None:
    """Accept only forms from this site. API requests carry a token, which no browser sends by itself."""
    if request.method in _SAFE or request.path.startswith("/api/") or request.endpoint in _FROM_PLATFORMS:
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
    return (int.from_bytes(content) ^ int.from_bytes(mask)).to_bytes(max(len(content), len(mask)))


def _from_here() -> bool:
    """Whether the request comes from this site, judging by the browser's headers.

    A client that sends none of these headers isn't a browser, so it can't carry another site's form.
    """
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
        "It was opened before you signed in or out, or it comes from another site. Nothing was stored. Open the page "
        "again, and send the form from there.",
    )  # fmt: skip


def encrypted() -> bool:
    """Whether browsers reach this site over an encrypted connection."""
    return request.is_secure or site().settings.public_url.startswith("https:")


def _name() -> str:
    """The cookie's name. Browsers accept the prefix `__Host-` only over encryption and from this host."""
    return "__Host-tilelab" if encrypted() else "tilelab"


def _name_of_earlier() -> str:
    return f"{_name()}-earlier"
