"""A person's signed-in browsers, and how to sign them out."""

from __future__ import annotations

from flask import Response, abort

from server.accounts import browser_sessions
from server.accounts.access import viewer
from server.accounts.views.blueprint import accounts, go, page
from server.http.forms import filled
from server.http.site import site

_LARGEST = 2**63 - 1

_BROWSERS = (
    ("Edg/", "Edge"), ("OPR/", "Opera"), ("SamsungBrowser/", "Samsung Internet"), ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"), ("CriOS/", "Chrome"), ("Chrome/", "Chrome"), ("Safari/", "Safari"),
)  # fmt: skip
_SYSTEMS = (
    ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("CrOS", "ChromeOS"), ("Windows", "Windows"),
    ("Mac OS X", "macOS"), ("Linux", "Linux"),
)  # fmt: skip
_LONGEST = 60


@accounts.get("/account/sessions")
def sessions() -> Response:
    """List the signed-in browsers."""
    who = viewer()
    with site().readers.begin() as session:
        rows = browser_sessions.live_sessions(session, who.id)
    return page("accounts/sessions.html", filled({}), rows=rows, here=who.session_id, described=_described)


@accounts.post("/account/sessions/end-others")
def end_other_sessions() -> Response:
    """Sign out all other browsers."""
    who = viewer()
    with site().sessions.begin() as session:
        browser_sessions.end_all(session, who.id, but=who.session_id)
    return go("/account/sessions?notice=sessions-ended")


@accounts.post("/account/sessions/<int:number>/end")
def end_session(number: int) -> Response:
    """Sign out one browser."""
    who = viewer()
    if number > _LARGEST:
        abort(404)
    with site().sessions.begin() as session:
        # A session that ended meanwhile is fine; another person's session is left alone.
        browser_sessions.end(session, who.id, number)
    return go("/account/sessions?notice=session-ended")


def _described(user_agent: str) -> str:
    """Such as "Firefox on Windows"; an unknown browser's own text, cut short."""
    browser = next((name for mark, name in _BROWSERS if mark in user_agent), "")
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), "")
    if browser and system:
        return f"{browser} on {system}"
    return browser or system or user_agent[:_LONGEST] or "Unknown browser"
