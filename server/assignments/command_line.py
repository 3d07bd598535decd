"""The page that explains the command line to a student."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from flask import Blueprint, render_template, request

from server.courses.access import Membership, member_of
from server.courses.service import assignments_for
from server.http.site import site, site_address

command_line = Blueprint("command_line", __name__, url_prefix="/courses")


@dataclass(frozen=True, slots=True)
class CommandLinePage:
    """The page. assignment: in the examples, COURSE/ASSIGNMENT."""

    course: Membership
    install: str
    address: str
    assignment: str
    title: str


@command_line.get("/<course>/command-line")
def show_command_line(course: str) -> str:
    """Show how to install the command, sign in and submit."""
    here = member_of(course)
    with site().readers.begin() as session:
        found = assignments_for(session, here.course_id, here.role, datetime.now(UTC))
    wanted = request.args.get("assignment", "")
    one = next((each for each in found if each.slug == wanted), next(iter(found), None))
    page = CommandLinePage(
        here,
        site().settings.install,
        site_address(),
        f"{here.slug}/{one.slug if one else 'ASSIGNMENT'}",
        one.title if one else here.title,
    )
    return render_template("assignments/command_line.html", page=page)
