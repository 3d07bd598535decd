"""Pages and JSON, compressed where the browser or program takes that: they repeat themselves."""

from __future__ import annotations

import gzip

from flask import Flask, Response, request

_PACKED = {"text/html", "application/json", "application/problem+json"}
_LEAST_BYTES = 1024
_LEVEL = 5


def attach_packing(app: Flask) -> None:
    """Compress answers as they leave.

    How long a compressed page is can tell what secret in it resembles what its address put there. So the token of its
    forms is written in another way each time (server.accounts.cookies); and no other site can ask for a page as its
    reader unseen again and again, for browsers send the session's cookie along only where they show the page.
    """
    app.after_request(_pack)


def _pack(response: Response) -> Response:
    if response.is_streamed or response.mimetype not in _PACKED or "Content-Encoding" in response.headers:
        return response
    response.vary.add("Accept-Encoding")
    content = response.get_data()
    if len(content) >= _LEAST_BYTES and request.accept_encodings["gzip"]:
        response.set_data(gzip.compress(content, _LEVEL, mtime=0))
        response.headers["Content-Encoding"] = "gzip"
    return response
