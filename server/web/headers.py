"""Security headers of every answer."""

from __future__ import annotations

from flask import Flask, Response, request

from server.accounts.cookies import encrypted

_ALWAYS = {
    # Only our own scripts, no frames, nothing from elsewhere: a student's text can be shown, but never run.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; font-src 'self'; "
        "img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


_ENCRYPTED_FOR = f"max-age={180 * 24 * 3600}"
"""How long browsers that came over an encrypted connection refuse an unencrypted one."""


def add_headers(app: Flask) -> None:
    """Set the headers on every answer, errors included."""
    app.after_request(_secure)


def _secure(response: Response) -> Response:
    response.headers.update(_ALWAYS)
    if encrypted():
        response.headers["Strict-Transport-Security"] = _ENCRYPTED_FOR
    if not request.path.startswith("/assets/"):
        response.headers.setdefault("Cache-Control", "no-store")
    return response
