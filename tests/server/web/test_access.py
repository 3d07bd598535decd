"""Every route and every kind of visitor: who gets what, as access_matrix.toml has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select

from kernels.verdict import Verdict
from server.accounts import browser_sessions
from server.accounts.models import ApiToken, BrowserSession, Person
from server.accounts.service import create_token, disable
from server.courses.exercises import content_of, keep_draft
from server.courses.models import Course, Membership, Role
from server.courses.rubric import Criterion, stored
from server.courses.service import create_assignment
from server.grading.models import Job
from server.submissions.models import StagedRegrade, Submission
from server.talk.announcements.service import Written, announce
from server.talk.comments.service import write_comment
from server.talk.models import ExtensionRequest, RegradeRequest
from tests.server.course import NOW, ACourse
from tests.server.experiments.started import started
from tests.server.staff.proven import FILES
from tests.server.submissions.test_api import grade
from tests.server.web.conftest import SOURCE, Portal
from tests.server.web.matrix import ROLES, routes
from tests.server.web.signed_in import COOKIE, BrowserClient, client_of

# Files of scripts and styles are for everyone, by a digest that only the pages know.
LEFT_OUT = {"assets.show"}
QUESTION = "why-does-ada-ask"
REFUSALS = {401, 403, 404}
SENT = {
    "/api/v1/submissions": {"assignment": "gpu/tiled", "source": SOURCE, "mode": "check"},
    "/api/v1/experiments": {"course": "gpu", "definition": "[axes]", "kernels": {}},
}


@dataclass
class House:
    """A portal with one of every role, and something of the owner's to look at."""

    portal: Portal
    names: dict[str, str]
    there: dict[str, str]
    tokens: dict[str, str] = field(default_factory=dict)
    readers: dict[str, BrowserClient] = field(default_factory=dict)

    def ask(self, role: str, method: str, path: str) -> int:
        """The status of what that role is answered."""
        return self._answer(role, method, path)[0]

    def told(self, role: str, method: str, path: str) -> str:
        """What that role reads there."""
        return self._answer(role, method, path)[1]

    def _answer(self, role: str, method: str, path: str) -> tuple[int, str]:
        path = self.named(path)
        if path.startswith("/api/"):
            headers = {"Authorization": f"Bearer {self.tokens[role]}"} if role in self.tokens else {}
            body = SENT.get(path) if method == "POST" else None
            # Each role has its own address, because bad tokens from one address are limited.
            there = {"REMOTE_ADDR": f"192.0.2.{ROLES.index(role) + 1}"}
            answer = self.portal.client.open(path, method=method, json=body, headers=headers, environ_overrides=there)
        else:
            reader = self.reader(role)
            answer = reader.get(path) if method == "GET" else reader.post_form(path)
            if method != "GET" and answer.status_code not in REFUSALS:
                self.readers.clear()
        text = answer.get_data().decode(errors="replace")  # a zip file has no text
        answer.close()
        return answer.status_code, text

    def named(self, path: str) -> str:
        """The address with what is there in it."""
        for word, name in self.there.items():
            path = path.replace(word, name)
        return path

    def reader(self, role: str) -> BrowserClient:
        """Its session stays for the next page, until a form is accepted: that may end any session."""
        if role not in self.readers:
            self.readers[role] = self.browser(role)
        return self.readers[role]

    def browser(self, role: str) -> BrowserClient:
        """A new one, signed in as that role."""
        app = self.portal.app
        client = BrowserClient(app, app.response_class, use_cookies=True)
        name = self.names.get(role)
        if name is not None:
            with self.portal.course.sessions.begin() as session:
                person = session.scalars(select(Person).where(Person.name == name)).one()
                token = browser_sessions.begin(session, person, "test")
                newest = select(BrowserSession).order_by(BrowserSession.id.desc()).limit(1)
                kept = session.scalars(newest).one()
                if role == "expired":
                    kept.expires_at = NOW - timedelta(days=1)
                if role == "revoked":
                    kept.ended_at = NOW
            client.set_cookie(COOKIE, token)
        return client


@pytest.fixture
def house(portal: Portal) -> House:
    course = portal.course
    people = {"owner": "ada", "student": "ben", "dropped": "dan", "outsider": "eve"}
    staff = {"assistant": ("asa", Role.ASSISTANT), "instructor": ("ina", Role.INSTRUCTOR), "admin": ("adm", None)}
    foreign = {"foreign_assistant": ("fay", Role.ASSISTANT), "foreign_instructor": ("flo", Role.INSTRUCTOR)}
    names = people | {role: name for role, (name, _) in (staff | foreign).items()} | {"disabled": "dis"}
    for name in ("ada", "ben", "dan", "zed"):
        course.person(name)
    course.person("eve", None)
    for name, role in staff.values():
        course.person(name, role)
    for name, _ in foreign.values():
        course.person(name, None)
    course.person("dis", Role.INSTRUCTOR)
    submission = course.hand_in("ada").submission.public_id
    course.hand_in("dan")
    grade(course, Verdict.ACCEPTED)
    _change(course, {"eve": Role.STUDENT} | dict(foreign.values()))
    tokens = {role: portal.token(name) for role, name in names.items() if role != "disabled"}
    with course.sessions.begin() as session:
        owner = session.get_one(Person, course.person("ada"))
        tokens["disabled"] = create_token(session, session.get_one(Person, course.person("dis")), "test")
        disable(session, session.get_one(Person, course.person("dis")))
        tokens["expired"] = create_token(session, owner, "old", lifetime=timedelta(days=1), now=NOW - timedelta(days=9))
        tokens["revoked"] = create_token(session, owner, "revoked")
        session.scalars(select(ApiToken).where(ApiToken.name == "revoked")).one().revoked_at = NOW
    zed = course.person("zed")
    begun = client_of(portal, "ina").post_form("/staff/gpu/regrade", assignment="tiled", newest=str(10**9))
    grade(course, Verdict.ACCEPTED)
    with course.sessions.begin() as session:
        announced = announce(session, course.course, None, None, Written("Exam", "On Friday."))
        theirs = session.scalars(select(Submission).where(Submission.public_id == submission)).one()
        theirs.assignment.rubric = stored([Criterion("aa", "Readable", 4.0)])
        asked = RegradeRequest(submission_id=theirs.id, reason=QUESTION, created_at=NOW)
        more = ExtensionRequest(assignment_id=course.assignment, person_id=zed, wanted_at=NOW,
                                reason=QUESTION, created_at=NOW)  # fmt: skip
        session.add_all((asked, more))
        said = write_comment(session, theirs, session.get_one(Person, course.person("ada")), QUESTION, line=1)
    there = {
        "SUBMISSION": submission,
        "EXPERIMENT": started(course, "ada", assignment=course.assignment),
        "REGRADE": begun.location.partition("?")[0].rpartition("/")[2],
        "NOTE": "1",
        "ANNOUNCEMENT": str(announced.id),
        "COMMENT": str(said.id),
        "REQUEST": str(asked.id),
        "EXTENSION": str(more.id),
        "PERSON": str(course.person("zed")),
        "SESSION": "1",
        "TOKEN": "1",
    }
    return House(portal, names | {"expired": "ada", "revoked": "ada"}, there, tokens)


def _change(course: ACourse, elsewhere: Mapping[str, Role]) -> None:
    """Let people be where they are: in another course, gone, at the head of all."""
    with course.sessions.begin() as session:
        other = Course(slug="other", title="Other", created_at=NOW)
        session.add(other)
        session.flush()
        for name, role in elsewhere.items():
            session.add(Membership(course_id=other.id, person_id=course.person(name), role=role, created_at=NOW))
        dan = session.scalars(select(Membership).where(Membership.person_id == course.person("dan"))).one()
        dan.dropped_at = NOW
        session.get_one(Person, course.person("adm")).admin = True
        made = create_assignment(session, session.get_one(Course, course.course), "reduction", now=NOW)
        session.add(StagedRegrade(assignment_id=made.id, started_at=NOW))
        for name in ("drafted", "checked", "published", "discarded", "dropped"):
            keep_draft(session, content_of(name, FILES), course.course, None, NOW)


def test_everyone_gets_what_the_matrix_says(house: House):
    wrong = []
    for method, path, endpoint, by_role in routes():
        for role in ROLES:
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
    with house.portal.course.sessions.begin() as session:
        seeds = set(session.scalars(select(Job.seed)))
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
    with house.portal.course.sessions.begin() as session:
        seeds = list(session.scalars(select(Job.seed)))
    assert len(set(seeds)) == len(seeds) > 2
    path = f"/api/v1/submissions/{house.there['SUBMISSION']}"
    assert house.portal.get("ada", path).get_json()["result"]["seed"] == ""
    assert house.portal.get("ina", path).get_json()["result"]["seed"] in seeds
