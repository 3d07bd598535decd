"""Headers that every answer has: what a browser may do with it, which is next to nothing."""

from __future__ import annotations

from flask import Flask, Response, request

from server.accounts.cookies import encrypted

_ALWAYS = {
    # No script but our own files, no frame, nothing from elsewhere: what a student wrote can be shown, and never run.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


_ENCRYPTED_FOR = f"max-age={180 * 24 * 3600}"
"""How long a browser that came over an encrypted connection takes no other to this host."""


def add_headers(app: Flask) -> None:
    """Set them on every answer, errors included."""
    app.after_request(_secure)


def _secure(response: Response) -> Response:
    response.headers.update(_ALWAYS)
    if encrypted():
        response.headers["Strict-Transport-Security"] = _ENCRYPTED_FOR
    if not request.path.startswith("/assets/"):
        response.headers.setdefault("Cache-Control", "no-store")
    return response
