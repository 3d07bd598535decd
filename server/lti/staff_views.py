"""A course's connections to platforms, for its instructors."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from flask import Response, render_template, request
from sqlalchemy.orm import Session

from server.accounts.access import nothing_here
from server.acts.act import Act, Target
from server.acts.by_form import change_by_form
from server.courses.access import Membership, instructor_of
from server.courses.staff_pages import Desk, back, desk_of, staff, the_course
from server.http.forms import Form, filled
from server.http.problems import Refused
from server.http.site import site
from server.lti.contexts import CHANGE, DISCONNECT, contexts_of
from server.lti.keys import our_key
from server.lti.models import LtiContext, LtiLink, LtiScore
from server.lti.roster import read_members
from server.lti.scores import counts, faults, links_of, send_again
from server.lti.services import Services
from server.roster.views import show_preview
from server.sign_on.fetch import ProviderFault
from server.table_file import Unreadable

_MOST_FAULTS = 50


@dataclass(frozen=True, slots=True)
class LtiPage:
    """The connections of a course, and what its platforms don't have yet."""

    desk: Desk
    contexts: list[LtiContext]
    links: list[LtiLink]
    counts: dict[str, int]
    faults: list[LtiScore]


@staff.get("/platforms")
def show_platforms(slug: str) -> str:
    """Show the course's connections, and which scores couldn't be sent."""
    course = instructor_of(slug)
    with site().readers.begin() as session:
        page = LtiPage(
            desk_of(course, "roster"), list(contexts_of(session, course.course_id)),
            list(links_of(session, course.course_id)), dict(counts(session, course.course_id)),
            list(faults(session, course.course_id, _MOST_FAULTS)),
        )  # fmt: skip
        return render_template("lti/course.html", page=page, fields=CHANGE.by_name)


@staff.post("/platforms/<int(max=9007199254740991):number>")
def change_platform(slug: str, number: int) -> Response | tuple[str, int]:
    """Save what a platform may do in the course."""
    return _carry_out(CHANGE, slug, number, "platform-saved")


@staff.post("/platforms/<int(max=9007199254740991):number>/disconnect")
def disconnect_platform(slug: str, number: int) -> Response | tuple[str, int]:
    """Disconnect the course from a platform, unless it is done already."""
    instructor_of(slug)
    with site().readers.begin() as session:
        if session.get(LtiContext, number) is None:
            return back("staff.show_platforms", slug, "platform-disconnected")
    return _carry_out(DISCONNECT, slug, number, "platform-disconnected")


@staff.post("/platforms/<int(max=9007199254740991):number>/roster")
def preview_platform_roster(slug: str, number: int) -> str | tuple[str, int]:
    """Ask the platform for its people, and show what would change. Applying is as for a file."""
    course = instructor_of(slug)
    with site().sessions.begin() as session:
        context, key = _context(session, course, number), our_key(session)
        platform = context.platform
    if not context.members:
        text = f"{platform.title} doesn’t let Tilelab read the people of this course. Its settings there may allow it."
        raise Refused(409, "lti_no_roster", f"{platform.title} has no roster", text)
    try:
        members = Services(lambda: key).members(platform, context.members)
        read, unreachable = read_members(members, drop_others=bool(request.form.get("drop")))
    except (ProviderFault, Unreadable) as fault:
        raise Refused(
            502, "lti_roster", f"{platform.title} sends no roster", f"Nothing changed. Try again later. {fault}."
        ) from fault  # fmt: skip
    form = filled({"drop": request.form.get("drop", ""), "unreachable": str(unreachable or "")})
    return show_preview(course, form, read)


@staff.post("/platforms/send-again")
def send_scores_again(slug: str) -> Response:
    """Try to send waiting scores at once."""
    course = instructor_of(slug)
    with site().sessions.begin() as session:
        send_again(session, course.course_id, datetime.now(UTC))
    return back("staff.show_platforms", slug, "scores-again")


def _carry_out(act: Act[Any], slug: str, number: int, notice: str) -> Response | tuple[str, int]:
    def find(session: Session, course: Membership, _: Form) -> Target:
        return Target(the_course(session, course), item=_context(session, course, number))

    return change_by_form(act, slug, find, partial(back, "staff.show_platforms", slug, notice))


def _context(session: Session, course: Membership, number: int) -> LtiContext:
    found = session.get(LtiContext, number)
    if found is None or found.course_id != course.course_id:
        raise nothing_here()
    return found
