"""A portal with one of every role of access_matrix.toml, and something to look at for each of its addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from kernels.verdict import Verdict
from server.accounts import browser_sessions
from server.accounts.models import ApiToken, BrowserSession, Person
from server.accounts.service import create_token, disable
from server.courses.models import Course, Membership, Role
from server.courses.service import create_assignment
from server.exercises.stored import content_of, keep_draft
from server.grades.criteria import Criterion, stored
from server.grades.rubric import code_of
from server.lti.models import LtiContext, LtiPlatform
from server.submissions.models import StagedRegrade, Submission
from server.talk.announcements import Written, announce
from server.talk.comments import write_comment
from server.talk.models import ExtensionRequest, RegradeRequest
from tests.server.course import NOW, ACourse
from tests.server.experiments.started import started
from tests.server.staff.proven import FILES
from tests.server.submissions.test_api import grade
from tests.server.web.conftest import SOURCE, Portal
from tests.server.web.matrix import ROLES
from tests.server.web.signed_in import COOKIE, BrowserClient, client_of

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
            # Each role has an address for each method, because bad tokens from one address are limited.
            there = {"REMOTE_ADDR": f"192.0.2.{2 * ROLES.index(role) + (method == 'GET') + 1}"}
            answer = self.portal.client.open(path, method=method, json=body, headers=headers, environ_overrides=there)
        else:
            reader = self.reader(role)
            answer = reader.get(path) if method == "GET" else reader.post_form(path)
            if method != "GET" and answer.status_code not in REFUSALS:
                self.readers.pop(role)
        text = answer.get_data().decode(errors="replace")  # a zip file has no text
        answer.close()
        return answer.status_code, text

    def named(self, path: str) -> str:
        """The address with what is there in it."""
        for word, name in self.there.items():
            path = path.replace(word, name)
        return path

    def reader(self, role: str) -> BrowserClient:
        """Its session stays for the next page, until a form of its own is accepted: that may end it."""
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


def build_house(portal: Portal) -> House:
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
        session.flush()
        _connect(session, course.course)
        code = code_of(theirs.assignment, theirs.person_id)
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
        "CODE": code,
        "PERSON": str(course.person("zed")),
        "SESSION": "1",
        "TOKEN": "1",
    }
    return House(portal, names | {"expired": "ada", "revoked": "ada"}, there, tokens)


def _connect(session: Session, course: int) -> None:
    """Connect the course to a platform, which lists no people."""
    address = "https://moodle.example/"
    session.add(
        LtiPlatform(
            title="Moodle", issuer=address, client_id="tilelab", deployments=["1"], domains=[], created_at=NOW,
            authorization=address, token=address, keys=address,
        )
    )  # fmt: skip
    session.flush()
    session.add(
        LtiContext(platform_id=1, course_id=course, deployment="1", name="c-1", title="GPU", connected_at=NOW)
    )  # fmt: skip


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
