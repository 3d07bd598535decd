"""The page on which students make, join and leave a team."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from flask import Blueprint, Response, render_template, url_for

from server.accounts.access import limited
from server.accounts.limits import Limit
from server.courses.access import Membership, Reader, assignment_for, reader_of
from server.courses.models import Assignment
from server.courses.staff_pages import acting, mistakes_noted
from server.http.forms import Form, filled, sent
from server.http.site import site
from server.teams.queries import TeamView, team_of
from server.teams.service import join_team, leave_team, make_team

team_pages = Blueprint("team_pages", __name__, url_prefix="/courses/<course>/<name>/team")

GUESSES = Limit("team codes", 30, timedelta(hours=1))
"""Typed codes of one student. A code has 8 of 30 characters, so it can't be guessed."""


@dataclass(frozen=True, slots=True)
class TeamPage:
    """A student's team at an assignment. team: None for none; reader: the student's ID; viewed: in a view-as."""

    course: Membership
    assignment: Assignment
    team: TeamView | None
    reader: int
    form: Form
    viewed: bool


@team_pages.get("")
def show_team(course: str, name: str) -> str:
    """Show the student's team, or the forms to make or join one."""
    return _page(reader_of(course, name), filled({}))


@team_pages.post("")
def make(course: str, name: str) -> Response | tuple[str, int]:
    """Make a team."""
    reader, form = reader_of(course, name), sent()
    with mistakes_noted(form, "team"), site().sessions.begin() as session:
        make_team(session, assignment_for(session, reader), acting(session))
    return _answer(reader, form, "team-made")


@team_pages.post("/join")
def join(course: str, name: str) -> Response | tuple[str, int]:
    """Join the team whose code was typed."""
    reader, form = reader_of(course, name), sent("code")
    if not form["code"]:
        form.mistake("code", "Type the code of your teammate’s team.")
    if form.right:
        limited(GUESSES, "Too many codes", "Wait an hour, then type your team’s code again.")
        with mistakes_noted(form, "code"), site().sessions.begin() as session:
            join_team(session, assignment_for(session, reader), acting(session), form["code"])
    return _answer(reader, form, "team-joined")


@team_pages.post("/leave")
def leave(course: str, name: str) -> Response | tuple[str, int]:
    """Leave the team, if it hasn't submitted."""
    reader, form = reader_of(course, name), sent()
    with mistakes_noted(form, "team"), site().sessions.begin() as session:
        leave_team(session, assignment_for(session, reader), acting(session))
    return _answer(reader, form, "team-left")


def _answer(reader: Reader, form: Form, notice: str) -> Response | tuple[str, int]:
    if not form.right:
        return _page(reader, form), 422
    address = url_for("team_pages.show_team", course=reader.course.slug, name=reader.slug, notice=notice)
    return Response(status=303, headers={"Location": address})


def _page(reader: Reader, form: Form) -> str:
    with site().readers.begin() as session:
        found, who = assignment_for(session, reader), reader.viewer
        page = TeamPage(
            reader.course, found, team_of(session, found, who.id), who.id, form, who.viewing is not None
        )  # fmt: skip
        return render_template("teams/team.html", page=page)
