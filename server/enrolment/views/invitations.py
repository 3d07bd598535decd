"""Answer invitations to courses, which the start page shows."""

from __future__ import annotations

from flask import Response

from server.accounts.access import viewer
from server.accounts.models import Person
from server.accounts.views.blueprint import go
from server.courses.service import CourseError
from server.enrolment.course_invitations import accept, refuse
from server.enrolment.views.blueprint import enrolment
from server.http.problems import Refused
from server.http.site import site

_ONE = "/invitations/<int(max=9007199254740991):number>"


@enrolment.post(f"{_ONE}/accept")
def accept_invitation(number: int) -> Response:
    """Join the course."""
    who = viewer()
    try:
        with site().sessions.begin() as session:
            course = accept(session, session.get_one(Person, who.id), number)
    except CourseError as error:
        raise Refused(409, "not_possible", "This isn’t possible", str(error)) from error
    return go("/?notice=invitation-gone" if course is None else f"/courses/{course.slug}/?notice=joined")


@enrolment.post(f"{_ONE}/decline")
def decline_invitation(number: int) -> Response:
    """Decline the invitation."""
    who = viewer()
    with site().sessions.begin() as session:
        refuse(session, session.get_one(Person, who.id), number)
    return go("/?notice=invitation-refused")
