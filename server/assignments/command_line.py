"""The page that explains the command line to a student, and the package that it installs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from flask import Blueprint, Response, render_template, request

from server.assignments.command_package import FILE, package
from server.courses.access import Membership, member_of
from server.courses.service import assignments_for
from server.http.site import site, site_address

command_line = Blueprint("command_line", __name__)

_PACKAGE = f"/install/{FILE}"


@dataclass(frozen=True, slots=True)
class CommandLinePage:
    """The page.

    install: the operator's command; "" for none
    package: the address of the command's package
    assignment: in the examples, COURSE/ASSIGNMENT
    """

    course: Membership
    install: str
    package: str
    address: str
    assignment: str
    title: str


@command_line.get("/courses/<course>/command-line")
def show_command_line(course: str) -> str:
    """Show how to install the command, sign in and submit."""
    here = member_of(course)
    with site().readers.begin() as session:
        now = datetime.now(UTC)
        found = assignments_for(session, here.course_id, here.role, now)
    wanted = request.args.get("assignment", "")
    # The asked one, otherwise the first that is still open.
    closed = {each.slug for each in found if each.closes_at is not None and each.closes_at < now}
    one = min(found, key=lambda each: (each.slug != wanted, each.slug in closed), default=None)
    page = CommandLinePage(
        here,
        site().settings.install,
        f"{site_address()}{_PACKAGE}",
        site_address(),
        f"{here.slug}/{one.slug if one else 'ASSIGNMENT'}",
        one.title if one else here.title,
    )
    return render_template("assignments/command_line.html", page=page)


@command_line.get(_PACKAGE)
def download_command() -> Response:
    """Download the command's package, without signing in: installers can't."""
    answer = Response(package(), mimetype="application/zip")
    answer.headers["Content-Disposition"] = f'attachment; filename="{FILE}"'
    answer.add_etag()
    answer.make_conditional(request)
    return answer
