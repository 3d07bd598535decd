"""What a page says after a form was sent: the address names it, the text stands here."""

from __future__ import annotations

from flask import Flask, request

NOTICES: dict[str, str] = {
    "signed-out": "You are signed out.",
    "password-changed": "Your password is changed. Other browsers were signed out.",
    "profile-saved": "Your profile is saved.",
    "session-ended": "That browser is signed out.",
    "sessions-ended": "All other browsers are signed out.",
    "token-revoked": "The token no longer works.",
    "joined": "You are in the course now.",
}


def attach_notices(app: Flask) -> None:
    """Give templates `notice()`."""
    app.jinja_env.globals["notice"] = notice


def notice() -> str:
    """What to say on this page; "" for nothing. Only what stands above can be said: the address is anybody's."""
    return NOTICES.get(request.args.get("notice", ""), "")
