"""Security headers of every answer, and compression of pages, figures and JSON."""

from __future__ import annotations

import gzip

from flask import Flask, Response, request

from server.accounts.cookies import encrypted
from server.fixed_part import PAGE_LEVEL
from server.http.page_around import PageAround
from server.http.policy import content_policy

_ALWAYS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
_FRAMED_NOWHERE = {"Content-Security-Policy": content_policy(), "X-Frame-Options": "DENY"}
"""Of all pages that set no policy of their own."""


_ENCRYPTED_FOR = f"max-age={180 * 24 * 3600}"
"""How long browsers that came over an encrypted connection refuse an unencrypted one."""


def add_headers(app: Flask) -> None:
    """Set the headers on every answer, errors included."""
    app.after_request(_secure)


def _secure(response: Response) -> Response:
    response.headers.update(_ALWAYS)
    if "Content-Security-Policy" not in response.headers:
        response.headers.update(_FRAMED_NOWHERE)
    if encrypted():
        response.headers["Strict-Transport-Security"] = _ENCRYPTED_FOR
    if not request.path.startswith("/assets/"):
        response.headers.setdefault("Cache-Control", "no-store")
    return response


_PACKED = {"text/html", "application/json", "application/problem+json", "image/svg+xml"}
_LEAST_BYTES = 1024


def attach_compression(app: Flask) -> None:
    """Compress answers if the client supports it.

    The length of a compressed page can reveal a secret that resembles a part of its address. So the CSRF token
    changes its text each time (server.accounts.cookies). And other sites can't load a page repeatedly as its reader,
    because browsers then send no session cookie.
    """
    app.after_request(_compress)


def _compress(response: Response) -> Response:
    if response.is_streamed or response.mimetype not in _PACKED or "Content-Encoding" in response.headers:
        return response
    response.vary.add("Accept-Encoding")
    if not request.accept_encodings["gzip"]:
        return response
    if isinstance(response, PageAround):
        response.set_data(response.gzipped())
    elif len(content := response.get_data()) >= _LEAST_BYTES:
        response.set_data(gzip.compress(content, PAGE_LEVEL, mtime=0))
    else:
        return response
    response.headers["Content-Encoding"] = "gzip"
    return response
