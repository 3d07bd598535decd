"""Compression of pages, figures and JSON."""

from __future__ import annotations

import gzip

from flask import Flask, Response, request

_PACKED = {"text/html", "application/json", "application/problem+json", "image/svg+xml"}
_LEAST_BYTES = 1024
_LEVEL = 5


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
    content = response.get_data()
    if len(content) >= _LEAST_BYTES and request.accept_encodings["gzip"]:
        response.set_data(gzip.compress(content, _LEVEL, mtime=0))
        response.headers["Content-Encoding"] = "gzip"
    return response
