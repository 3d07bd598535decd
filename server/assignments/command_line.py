"""The page that explains the command line to a student, and creates its token."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from flask import Blueprint, Response, make_response, render_template, request

from server.accounts.access import viewer
from server.accounts.limits import TooOften
from server.accounts.service import AccountError
from server.accounts.views import token_for_command_line
from server.courses.access import Membership, member_of
from server.courses.service import assignments_for
from server.http.site import site, site_address

command_line = Blueprint("command_line", __name__, url_prefix="/courses")


@dataclass(frozen=True, slots=True)
class CommandLinePage:
    """The page. assignment: in the examples, COURSE/ASSIGNMENT; token: a new one, shown once; refused: why none."""

    course: Membership
    install: str
    address: str
    assignment: str
    title: str
    token: str = ""
    refused: str = ""


@command_line.get("/<course>/command-line")
def show_command_line(course: str) -> str:
    """Show how to install the command, sign in and submit."""
    return _page(member_of(course))


@command_line.post("/<course>/command-line")
def make_command_line_token(course: str) -> Response:
    """Create a token and show it in this answer only."""
    who, here = viewer(), member_of(course)
    try:
        return make_response(_page(here, token=token_for_command_line(who.id)))
    except AccountError as error:
        return make_response(_page(here, refused=str(error)), 409)
    except TooOften as error:
        answer = make_response(_page(here, refused="You created too many tokens. Try again in an hour."), 429)
        answer.headers["Retry-After"] = str(error.seconds)
        return answer


def _page(course: Membership, token: str = "", refused: str = "") -> str:
    with site().readers.begin() as session:
        found = assignments_for(session, course.course_id, course.role, datetime.now(UTC))
    wanted = request.args.get("assignment", "")
    one = next((each for each in found if each.slug == wanted), next(iter(found), None))
    page = CommandLinePage(
        course,
        site().settings.install,
        site_address(),
        f"{course.slug}/{one.slug if one else 'ASSIGNMENT'}",
        one.title if one else course.title,
        token,
        refused,
    )
    return render_template("assignments/command_line.html", page=page)
