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
    "already-in": "You are in this course already.",
    "password-set": "Your password is set, and you are signed in.",
    "chosen": "This submission counts from now on.",
    "joined": "You are in the course now.",
    "taken-back": "Grading cancelled.",
    "already-over": "Too late: it is already graded or cancelled, or is being regraded. Nothing changed.",
    "tried-again": "It is graded once more.",
    "member-added": "Added. Who never signed in, or came with a code and is staff now, needs an invitation.",
    "member-changed": "Role and section are saved. Who came with a code and is staff now needs an invitation.",
    "member-dropped": "Dropped from the course. What they handed in stays.",
    "member-back": "They are in the course again.",
    "code-made": "There is a new code. The one before no longer works.",
    "code-withdrawn": "The code no longer works.",
    "roster-imported": "The roster is as the file said.",
    "assignment-set": "The assignment is set.",
    "assignment-changed": "The assignment is changed.",
    "assignment-updated": "It is judged by the installed exercise. Boards begin anew: grade all again to fill them.",
    "extension-granted": "The extension is granted.",
    "extension-withdrawn": "The extension is withdrawn.",
    "regrade-begun": "It is being graded again.",
    "regrade-cancelled": "What still waited is cancelled. Those keep the verdict that they had.",
    "worker-told": "The worker was told. It answers within a few seconds.",
    "course-saved": "The course's settings are saved.",
}


def attach_notices(app: Flask) -> None:
    """Give templates `notice()`."""
    app.jinja_env.globals["notice"] = notice


def notice() -> str:
    """What to say on this page; "" for nothing. Only what stands above can be said: the address is anybody's."""
    return NOTICES.get(request.args.get("notice", ""), "")
