"""The signed-in viewer of a page, and refusals that reveal nothing to strangers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar
from urllib.parse import urlencode, urlsplit

from flask import Flask, Response, after_this_request, current_app, g, request
from sqlalchemy.orm import Session

from server.accounts import browser_sessions, zones
from server.accounts.browser_sessions import SignedIn
from server.accounts.cookies import session_token
from server.accounts.limits import Limit, TooOften, count
from server.http.notes import note
from server.http.problems import Refused
from server.http.site import site

T = TypeVar("T")

_KEY = "viewer"
_VIEW_AS = "tilelab_view_as"
_LONGEST_PATH = 500


@dataclass(frozen=True, slots=True)
class Viewing:
    """A read-only view of a course as one of its students.

    staff: the real person's name; course: its short name
    """

    staff: str
    course: str


@dataclass(frozen=True, slots=True)
class Viewer:
    """The signed-in person, or the student as whom course staff look at a course.

    session_id: this browser's session
    creates_courses: also true for operators
    viewing: None for the person's own pages
    """

    id: int
    name: str
    email: str
    admin: bool
    time_zone: str
    session_id: int
    creates_courses: bool = False
    viewing: Viewing | None = None


ViewAs = Callable[[Session, SignedIn], tuple[Viewer, bool] | None]
"""For a session that views as a student: the student, and whether the page belongs to the view. None if the request is
the real person's own."""


def attach_view_as(app: Flask, view_as: ViewAs) -> None:
    """Let sessions view as students, and refuse all forms that aren't the real person's own meanwhile."""
    app.extensions[_VIEW_AS] = view_as
    app.before_request(_refuse_forms_of_views)


def _refuse_forms_of_views() -> None:
    if request.method not in {"GET", "HEAD", "OPTIONS"} and not request.path.startswith("/api/"):
        viewer_or_none()


def viewer_or_none(session: Session | None = None) -> Viewer | None:
    """The person signed in with this browser; looked up once per request.

    session: to look up in the page's own transaction; otherwise it takes one more
    """
    if _KEY not in g:
        found, allowed = _look_up(session)
        setattr(g, _KEY, found)
        if not allowed:
            raise Refused(
                403, "viewing", "This isn’t part of the view",
                "You look at a course as one of its students. The view is read-only, and has only pages of this "
                "course. Stop viewing to use your own pages.",
            )  # fmt: skip
    known: Viewer | None = getattr(g, _KEY)
    return known


def known_viewer() -> Viewer | None:
    """The signed-in person if this request already looked it up; doesn't query the database."""
    known: Viewer | None = g.get(_KEY)
    return known


def viewer(session: Session | None = None) -> Viewer:
    """The signed-in person; redirects everyone else to sign in, and back here afterwards."""
    who = viewer_or_none(session)
    if who is None:
        raise sign_in_first()
    return who


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
    """The time zone that the viewer chose, otherwise the browser's; "" for each course's."""
    who = viewer_or_none()
    chosen = who.time_zone if who else ""
    return "" if chosen == zones.OF_COURSE else chosen or zones.of_browser()


def admin() -> Viewer:
    """The viewer, if an operator; refuses everyone else."""
    who = viewer()
    if not who.admin:
        raise not_allowed("This page is only for operators.")
    return who


def course_creator() -> Viewer:
    """The viewer, if the person may create courses; refuses everyone else."""
    who = viewer()
    if not who.creates_courses:
        raise not_allowed("You can’t create courses. Ask an operator for this right.")
    return who


def limited(limit: Limit, title: str, then: str) -> None:
    """Count an action of the viewer; raises Refused above the limit. then: what to do."""
    try:
        count(site().sessions, limit, f"person {viewer().id}")
    except TooOften as often:
        raise Refused(429, "too_often", title, then, {"Retry-After": str(often.seconds)}) from often


def nothing_here() -> Refused:
    """The answer for a missing page, and for a page hidden from this viewer: both look alike."""
    return Refused(
        404, "not_found", "There is nothing here",
        "The address is incorrect, or you have no access. The start page lists your courses.",
    )  # fmt: skip


def existing(found: T | None) -> T:
    """What was found; refuses the request if there is nothing, or nothing that this viewer may see."""
    if found is None:
        raise nothing_here()
    return found


def not_allowed(detail: str) -> Refused:
    """The answer for a page that exists, but that this viewer may not open."""
    return Refused(403, "not_allowed", "You have no access to this page", detail)


def _look_up(session: Session | None) -> tuple[Viewer | None, bool]:
    """The person of the session, and whether the request is allowed."""
    token = session_token()
    if not token or not token.isascii():
        return None, True
    if session is not None:
        return _find(session, token)
    with site().readers.begin() as own:
        return _find(own, token)


def _find(session: Session, token: str) -> tuple[Viewer | None, bool]:
    signed_in = browser_sessions.find(session, token)
    if signed_in is None:
        return None, True
    if signed_in.stale:
        after_this_request(partial(_note_use, signed_in.session_id))
    if signed_in.viewing is not None:
        view_as: ViewAs = current_app.extensions[_VIEW_AS]
        view = view_as(session, signed_in)
        if view is not None:
            return view
    return Viewer(
        signed_in.person_id, signed_in.name, signed_in.email, signed_in.admin, signed_in.time_zone,
        signed_in.session_id, creates_courses=signed_in.admin or signed_in.creates_courses,
    ), True  # fmt: skip


def _note_use(session_id: int, response: Response) -> Response:
    """Record the use of a browser's session, when the request has no other transaction."""
    note(lambda session: browser_sessions.note_use(session, session_id))
    return response
