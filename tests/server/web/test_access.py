"""Every route and every kind of visitor: who gets what, as access_matrix.toml has it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select

from server.grading.models import Job
from server.submissions.models import Submission
from tests.server.web.conftest import Portal
from tests.server.web.house import QUESTION, REFUSALS, House, build_house
from tests.server.web.matrix import ROLES, routes

OVER = {"disabled", "expired", "revoked"}
"""Roles of those who may not come in any more. Each policy has them like nobody."""

# Files of scripts and styles are for everyone, by a digest that only the pages know.
LEFT_OUT = {"assets.show"}


@pytest.fixture
def house(portal: Portal) -> House:
    return build_house(portal)


@pytest.mark.parametrize(
    "roles",
    [
        pytest.param(set(ROLES) - OVER, id="who may come in"),
        pytest.param(OVER, id="over", marks=pytest.mark.long("the short suite has what sessions and tokens open then")),
    ],
)
def test_everyone_gets_what_the_matrix_says(house: House, roles: set[str]):
    wrong = []
    for method, path, endpoint, by_role in routes():
        for role in sorted(roles):
            status, wanted = house.ask(role, method, path), by_role[role]
            fits = status not in REFUSALS and status < 500 if wanted == "in" else status == wanted
            if not fits:
                wrong.append(f"{method} {path} ({endpoint}) as {role}: {status}, not {wanted}")
    assert not wrong, "\n" + "\n".join(wrong)


def test_every_route_is_in_the_matrix_under_its_name(portal: Portal):
    there = {
        (method, rule.endpoint)
        for rule in portal.app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if rule.endpoint not in LEFT_OUT
    }
    listed = {(method, endpoint) for method, _, endpoint, _ in routes()}
    assert there - listed == set(), "say in access_matrix.toml who gets what there"
    assert listed - there == set(), "there is no such route"
    for method, path, endpoint, _ in routes():
        assert _endpoint(portal.app, method, path) == endpoint


def _endpoint(app: Flask, method: str, path: str) -> str:
    for word in ("NOTE", "ANNOUNCEMENT", "COMMENT", "REQUEST", "EXTENSION", "REGRADE", "PERSON", "SESSION", "TOKEN"):
        path = path.replace(word, "1")
    found, _ = app.url_map.bind("localhost").match(path.partition("?")[0], method)
    return str(found)


def test_a_token_opens_no_page_and_a_session_no_api(house: House):
    bearer = {"Authorization": f"Bearer {house.tokens['owner']}"}
    assert house.portal.client.get("/account", headers=bearer).status_code == 303
    assert house.browser("owner").get("/api/v1/me").status_code == 401


def test_nothing_of_another_student_is_told(house: House):
    """No source, no id, no name, no email of the others on anything that a student can read."""
    strange = {*of_others(house, "ben"), "ada@example.edu", "dan@example.edu", QUESTION}
    for path, text in everything(house, "student"):
        assert not [word for word in strange if word in text], path
    mine = dict(everything(house, "owner"))
    seeds = set(house.portal.course.rows(select(Job.seed)))
    assert not [path for path, text in mine.items() if any(seed in text for seed in seeds)]
    assert "secret" not in "".join(mine.values())


@pytest.mark.parametrize(
    "role",
    [
        "foreign_instructor",
        pytest.param("foreign_assistant", marks=pytest.mark.long("the short suite has who may do more")),
    ],
)
def test_the_staff_of_another_course_are_told_nothing_of_this_one(house: House, role: str):
    """Neither where everyone looks, nor at their own desk with the numbers of what is here."""
    members = ("ada", "ben", "dan", "zed", "asa", "ina")
    strange = {QUESTION, *of_others(house, house.names[role]), *(f"{name}@example.edu" for name in members)}
    asked = 0
    for method, address, _, _ in routes():
        for path in {address, address.replace("/gpu", "/other")}:
            text = house.told(role, method, path)
            assert not [word for word in strange if word in text], (method, path)
            asked += 1
    assert asked > len(list(routes()))


def of_others(house: House, name: str) -> set[str]:
    """What names a submission of anybody else, and the seeds of all."""
    with house.portal.course.sessions.begin() as session:
        found = {one.public_id for one in session.scalars(select(Submission)) if one.person.name != name}
        return {*found, *session.scalars(select(Job.seed))}


def everything(house: House, role: str) -> Iterator[tuple[str, str]]:
    """All that this role can read."""
    for method, address, _, _ in routes():
        if method != "GET":
            continue
        path = house.named(address)
        if path.startswith("/api/"):
            client: FlaskClient = house.portal.client
            answer = client.get(path, headers={"Authorization": f"Bearer {house.tokens[role]}"})
        else:
            answer = house.reader(role).get(path)
        text = answer.get_data().decode(errors="replace")  # a zip file has no text
        answer.close()
        if answer.status_code == 200:
            yield path, text


def test_a_seed_is_new_for_every_grading_and_never_told_to_a_student(house: House):
    seeds = house.portal.course.rows(select(Job.seed))
    assert len(set(seeds)) == len(seeds) > 2
    path = f"/api/v1/submissions/{house.there['SUBMISSION']}"
    assert house.portal.get("ada", path).get_json()["result"]["seed"] == ""
    assert house.portal.get("ina", path).get_json()["result"]["seed"] in seeds
