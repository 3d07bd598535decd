"""The signed-in viewer of a page, and refusals that reveal nothing to strangers."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

from flask import current_app, g, request

from server.accounts import browser_sessions
from server.accounts.cookies import session_token
from server.http.notes import note
from server.http.problems import Refused
from server.http.site import site

_KEY = "viewer"
_LONGEST_PATH = 500


@dataclass(frozen=True, slots=True)
class Viewer:
    """The signed-in person. session_id: this browser's session."""

    id: int
    name: str
    email: str
    admin: bool
    time_zone: str
    session_id: int


def viewer_or_none() -> Viewer | None:
    """The person signed in with this browser; looked up once per request."""
    if _KEY not in g:
        setattr(g, _KEY, _look_up())
    found: Viewer | None = getattr(g, _KEY)
    return found


def known_viewer() -> Viewer | None:
    """The signed-in person if this request already looked it up; doesn't query the database."""
    found: Viewer | None = g.get(_KEY)
    return found


def viewer() -> Viewer:
    """The signed-in person; redirects everyone else to sign in, and back here afterwards."""
    found = viewer_or_none()
    if found is None:
        raise sign_in_first()
    return found


def sign_in_first() -> Refused:
    """A redirect to the sign-in page that leads back to this page, or to the page with the form.

    The form must be sent again, because a form belongs to the session that showed it.
    """
    reads = request.method == "GET"
    came_from = request.full_path.rstrip("?") if reads else _page_of_the_form()
    query = f"?{urlencode({'next': came_from})}" if came_from not in {"", "/"} else ""
    return Refused(
        303 if reads else 401, "not_signed_in", "You are not signed in",
        "Your session has ended, and nothing was stored. Sign in to return to the page, then send the form again.",
        {"Location": f"/sign-in{query}"},
    )  # fmt: skip


def local_path(text: str) -> str:
    """The path unchanged; "" if it could lead to another site, for example because it begins with two slashes."""
    if not text.startswith("/") or len(text) > _LONGEST_PATH or not text.isprintable() or "\\" in text:
        return ""
    try:
        parts = urlsplit(text)
    except ValueError:
        return ""
    if parts.scheme or parts.netloc or text.startswith("//"):
        return ""
    return text


def _page_of_the_form() -> str:
    """The local page from which a form was sent; "" if unknown."""
    try:
        given = urlsplit(request.referrer or "")
    except ValueError:
        return ""
    path = local_path(given._replace(scheme="", netloc="").geturl()) if given.netloc == request.host else ""
    adapter = current_app.create_url_adapter(request)
    return path if path and adapter is not None and adapter.test(given.path, "GET") else ""


def zone_of_viewer() -> str:
    """The time zone that the viewer chose; "" for none."""
    who = viewer_or_none()
    return who.time_zone if who else ""


def admin() -> Viewer:
    """The viewer, if an operator; refuses everyone else."""
    who = viewer()
    if not who.admin:
        raise not_allowed("This page is only for operators.")
    return who


def nothing_here() -> Refused:
    """The answer for a missing page, and for a page hidden from this viewer: both look alike."""
    return Refused(
        404, "not_found", "There is nothing here",
        "The address is incorrect, or you have no access. The start page lists your courses.",
    )  # fmt: skip


def not_allowed(detail: str) -> Refused:
    """The answer for a page that exists, but that this viewer may not open."""
    return Refused(403, "not_allowed", "You have no access to this page", detail)


def _look_up() -> Viewer | None:
    token = session_token()
    if not token or not token.isascii():
        return None
    with site().readers.begin() as session:
        found = browser_sessions.find(session, token)
    if found is None:
        return None
    if found.stale:
        note(lambda session: browser_sessions.note_use(session, found.session_id))
    person = found.person
    return Viewer(person.id, person.name, person.email, person.admin, person.time_zone, found.session_id)
