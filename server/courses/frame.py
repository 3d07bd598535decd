"""The frame of every page: the signed-in person and the links at the top."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flask import Flask, g, request
from sqlalchemy.orm import Session

from server.accounts.access import Viewer, known_viewer, viewer_or_none
from server.courses.access import PageCourse, course_of_page
from server.courses.service import Attended, attended, find_attended, is_staff
from server.http.site import site

_COURSES = "frame_courses"


@dataclass(frozen=True, slots=True)
class Link:
    """A link at the top of a page. here: whether it leads to this page or its area."""

    title: str
    address: str
    here: bool


def attach_frame(app: Flask) -> None:
    """Attach the frame's functions to the base template."""
    app.jinja_env.globals["viewer_or_none"] = viewer_or_none
    app.jinja_env.globals["known_viewer"] = known_viewer
    app.jinja_env.globals["site_links"] = site_links


def site_links() -> tuple[Link, ...]:
    """The links at the top of every page."""
    who = viewer_or_none()
    if who is None:
        return ()
    if who.viewing is not None:
        return (_link("Assignments", f"/courses/{who.viewing.course}/", within=True),)
    links = [_link("Courses", "/")]
    here = _here(who)
    if here is not None:
        links.append(_link("Assignments", f"/courses/{here.slug}/", within=True))
        if here.staff:
            links.append(_link("Staff", f"/staff/{here.slug}/", within=True))
    if who.admin:
        links.append(_link("Fleet", "/fleet", within=True))
    return tuple(links)


def _link(title: str, address: str, *, within: bool = False) -> Link:
    return Link(title, address, request.path == address or (within and request.path.startswith(address)))


def read_frame(session: Session, who: Viewer) -> Sequence[Attended]:
    """Read the viewer's courses in a page's own transaction; otherwise the frame takes one more."""
    found = attended(session, who.id)
    setattr(g, _COURSES, found)
    return found


def _courses(who: Viewer) -> Sequence[Attended]:
    if _COURSES in g:
        found: Sequence[Attended] = getattr(g, _COURSES)
        return found
    with site().readers.begin() as session:
        return read_frame(session, who)


def _here(who: Viewer) -> PageCourse | None:
    """The course of the page. Elsewhere, the reader's only active course; None if they have several."""
    slug, decided = _in_address(), course_of_page()
    if decided is not None and slug in {"", decided.slug}:
        return decided
    courses = _courses(who)
    found = [one for one in courses if (one.slug == slug if slug else not one.archived)]
    if slug and not found and who.admin:
        with site().readers.begin() as session:
            known = find_attended(session, slug)
        found = [] if known is None else [known]
    return PageCourse(found[0].slug, staff=is_staff(found[0].role)) if len(found) == 1 else None


def _in_address() -> str:
    head, _, rest = request.path.removeprefix("/").partition("/")
    return rest.partition("/")[0] if head in {"courses", "staff"} else ""
