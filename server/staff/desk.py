"""What all pages of the desk share: where they are, the ways between them, and who acts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, Response, request, url_for
from sqlalchemy.orm import Session

from server.accounts.access import viewer
from server.accounts.models import Person
from server.courses.access import Membership
from server.courses.frame import Link
from server.courses.models import Course
from server.http.forms import Form

staff = Blueprint("staff", __name__, url_prefix="/staff/<slug>", template_folder="templates")

_LONGEST = 200
_TABS = (
    ("Overview", "staff.overview", "overview"),
    ("Roster", "staff.show_roster", "roster"),
    ("Assignments", "staff.show_assignments", "assignment"),
    ("Submissions", "staff.show_submissions", "submission"),
    ("Grades", "staff.show_grades", "grades"),
    ("Audit", "staff.show_audit", "audit"),
)


@dataclass(frozen=True, slots=True)
class Desk:
    """Whose desk it is, and the ways from one of its pages to the others."""

    course: Membership
    links: tuple[Link, ...]


def desk_of(course: Membership, part: str) -> Desk:
    """part: the word that the tab of this page has above."""
    return Desk(
        course,
        tuple(Link(title, url_for(name, slug=course.slug), word == part) for title, name, word in _TABS),
    )


def acting(session: Session) -> Person:
    """Who is signed in, for what is noted of a deed."""
    return session.get_one(Person, viewer().id)


def the_course(session: Session, course: Membership) -> Course:
    """Its row."""
    return session.get_one(Course, course.course_id)


def back(endpoint: str, slug: str, notice: str = "", **values: Any) -> Response:
    """To a page of the desk, after a form was sent."""
    if notice:
        values["notice"] = notice
    return Response(status=303, headers={"Location": url_for(endpoint, slug=slug, **values)})


def asked(name: str, longest: int = _LONGEST) -> str:
    """A part of the address's query; "" for none."""
    return printable(request.args.get(name, ""))[:longest]


def looked_for(given: Mapping[str, str], *names: str) -> Form:
    """What an address or a form asks to see. What is cut or left out of it is a mistake: the rest may be far more."""
    form = Form()
    for name in names:
        text = given.get(name, "")
        form.values[name] = printable(text)[:_LONGEST]
        if form.values[name] != " ".join(text.split()):
            form.mistake(
                name, f"This is too long or has invalid characters. The limit is {_LONGEST} characters."
            )
    return form


def printable(text: str) -> str:
    """What can be looked for: one line, without what no database keeps in a text."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())
