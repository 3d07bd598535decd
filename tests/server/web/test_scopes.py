"""What a token allows: the scope that each route of the API names, and no other."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from werkzeug.test import TestResponse

from server.accounts.models import Person, Scope
from server.accounts.service import create_token
from server.courses.models import Role
from server.web.openapi import described
from tests.server.experiments.started import started
from tests.server.submissions.test_api import grade
from tests.server.web.conftest import Portal

HERE = {
    "course": "gpu",
    "assignment": "tiled",
    "device_class": "h200",
    "public_id": "none",
    "number": 1,
    "name": "none",
    "what": "corrections",
    "hint": "edit",
}


class Tokens:
    """One person's tokens, each with some of the scopes."""

    def __init__(self, portal: Portal, name: str, role: Role) -> None:
        self._portal, self._person = portal, portal.course.person(name, role)
        self._made: dict[tuple[Scope, ...], str] = {}

    def ask(self, path: str, *scopes: Scope, method: str = "GET") -> TestResponse:
        if scopes not in self._made:
            with self._portal.course.sessions.begin() as session:
                person = session.get_one(Person, self._person)
                self._made[scopes] = create_token(session, person, "test", scopes=scopes)
        headers = {"Authorization": f"Bearer {self._made[scopes]}"}
        return self._portal.client.open(path, method=method, headers=headers)


@pytest.fixture
def ina(portal: Portal) -> Tokens:
    return Tokens(portal, "ina", Role.INSTRUCTOR)


def missing(answer: TestResponse) -> str:
    """The scope that the answer says is missing; "" for none."""
    told = answer.get_json(silent=True, force=True) or {}
    if not isinstance(told, Mapping) or told.get("code") != "missing_scope":
        return ""
    assert answer.status_code == 403
    assert answer.mimetype == "application/problem+json"
    [scope] = re.findall("`(.+?)`", told["detail"])
    return str(scope)


def test_every_route_needs_the_scope_that_it_names(portal: Portal, ina: Tokens):
    document = described(portal.app)
    for path, methods in document["paths"].items():
        for method, said in methods.items():
            if not said["security"]:
                continue
            [[needed]] = [one["token"] for one in said["security"]]
            there = path.format_map(HERE | {"person": portal.course.person("ada")})
            others = [scope for scope in Scope if scope != needed]
            assert missing(ina.ask(there, *others, method=method)) == needed, (method, path)
            assert missing(ina.ask(there, Scope(needed), method=method)) == "", (method, path)
            assert needed in {"read", "staff"} or method == "post"


def test_work_of_others_needs_the_scope_of_course_staff(portal: Portal, ina: Tokens):
    theirs = portal.course.hand_in("ada").submission.public_id
    mine = portal.course.hand_in("ina").submission.public_id
    experiment = started(portal.course, "ada", assignment=portal.course.assignment)
    routes = ("submissions/{}", *(f"submissions/{{}}/{part}" for part in ("source", "events", "comments")))
    paths = [f"/api/v1/{route.format(theirs)}" for route in routes]
    for path in (*paths, f"/api/v1/experiments/{experiment}"):
        assert missing(ina.ask(path, Scope.READ, Scope.SUBMIT)) == "staff", path
        answer = ina.ask(path, Scope.READ, Scope.STAFF)
        assert answer.status_code == 200, path
        answer.close()
    assert ina.ask(f"/api/v1/submissions/{mine}", Scope.READ).status_code == 200
    stop = f"/api/v1/experiments/{experiment}/cancel"
    assert missing(ina.ask(stop, Scope.SUBMIT, method="POST")) == "staff"


def test_a_scope_adds_no_rights(portal: Portal):
    theirs = portal.course.hand_in("ada").submission.public_id
    ben = Tokens(portal, "ben", Role.STUDENT)
    for scopes in ((Scope.READ,), tuple(Scope)):
        assert ben.ask(f"/api/v1/submissions/{theirs}", *scopes).status_code == 404


def test_without_that_scope_staff_read_a_leaderboard_as_students_do(portal: Portal, ina: Tokens):
    portal.course.hand_in("ada")
    grade(portal.course)
    board = "/api/v1/leaderboards/gpu/tiled/h200"
    [full] = ina.ask(board, Scope.READ, Scope.STAFF).get_json()["lines"]
    [narrow] = ina.ask(board, Scope.READ).get_json()["lines"]
    assert full["submission"]
    assert narrow["submission"] is None
    assert narrow["name"] == narrow["pseudonym"] != full["name"]
