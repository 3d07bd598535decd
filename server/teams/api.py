"""The API of teams, for course staff."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import Response, jsonify
from sqlalchemy.orm import Session

from server.accounts.models import Scope
from server.acts.act import Target, assignment_target
from server.acts.by_api import change_by_json, done_answer, request_of
from server.courses.staff_api import (
    NAME,
    PERSON,
    REFUSES,
    REFUSES_CHANGE,
    ApiDesk,
    DoneAnswer,
    assignment_here,
    member_here,
    read_as_staff,
    staff_api,
)
from server.http.operation import operation
from server.teams.placement import PLACEMENT
from server.teams.queries import TeamView, teams_in

_PATH: Mapping[str, Any] = {"course": NAME, "assignment": NAME}
_ALL = "/courses/<course>/assignments/<assignment>/teams"
_PlacementRequest = request_of(PLACEMENT, "PlacementRequest")


@dataclass(frozen=True, slots=True)
class TeamAnswer:
    """A team. members: the students' IDs, by name; submitted: whether only course staff change it now."""

    name: str
    members: tuple[int, ...]
    submitted: bool


@dataclass(frozen=True, slots=True)
class TeamsAnswer:
    """An assignment's teams, by name."""

    teams: tuple[TeamAnswer, ...]


@staff_api.get(_ALL)
@operation(TeamsAnswer, path=_PATH, scope=Scope.STAFF, refuses=REFUSES)
def show_teams(course: str, assignment: str) -> Response:
    """List an assignment's teams, as course staff."""
    with read_as_staff(course) as (session, here):
        found = teams_in(session, assignment_here(session, here.slug, assignment))
        answer = TeamsAnswer(tuple(map(_team_answer, found)))
    return jsonify(answer)


@staff_api.post(f"{_ALL}/<int(max=9007199254740991):person>")
@operation(
    DoneAnswer, path={**_PATH, "person": PERSON}, takes=_PlacementRequest, scope=Scope.STAFF, refuses=REFUSES_CHANGE
)
def place_student(course: str, assignment: str, person: int) -> Response:
    """Put a student into a team, as an instructor."""

    def find(session: Session, desk: ApiDesk) -> Target:
        # Also a member of a team who became staff, to take them out.
        member = member_here(session, desk.course_id, person)
        return assignment_target(desk.assignment(session, assignment), member.person_id)

    return change_by_json(PLACEMENT, _PlacementRequest, course, find, done_answer)


def _team_answer(team: TeamView) -> TeamAnswer:
    return TeamAnswer(team.name, tuple(one.id for one in team.members), team.submitted)
