"""A portal with three courses, the people around them, and what each of them has to come in with."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from flask import Flask
from sqlalchemy import select
from sqlalchemy.orm import InstrumentedAttribute, Session
from werkzeug.test import TestResponse

from server.accounts.models import ApiToken, BrowserSession, OneTimeLink, Person
from server.accounts.service import create_person, set_password
from server.courses.models import Course, CourseInvitation, Membership, Role
from server.courses.service import Terms, create_assignment, create_course, enrol
from server.database.engine import Sessions, connect, sessions
from server.identity_providers import SignOn
from server.lti.models import LtiContext, LtiPlatform
from server.settings import Settings
from server.submissions.progress.streams import hub_of
from server.web.app import create_app
from tests.server.lti.platform import DEPLOYMENT, Platform, running_platform
from tests.server.sign_on.forger import Forger, forging
from tests.server.sign_on.provider import HERE
from tests.server.web.signed_in import COOKIE, BrowserClient

COURSES = ("red", "green", "blue")
CONNECTED = ("red", "green")
"""To courses of the learning management system, which have the same names there."""
STAFF: Mapping[str, tuple[tuple[str, Role], ...]] = {
    "ira": (("red", Role.INSTRUCTOR),),
    "rob": (("red", Role.ASSISTANT),),
    "gus": (("green", Role.INSTRUCTOR),),
    "gil": (("green", Role.ASSISTANT),),
    "bea": (("blue", Role.INSTRUCTOR),),
    "max": (("red", Role.INSTRUCTOR), ("green", Role.INSTRUCTOR)),
    "root": (),
}
STUDENTS = tuple(f"s{number}" for number in range(1, 11))
AGENTS = (*STAFF, *STUDENTS)
NOBODY = "redis://127.0.0.1:1/0"


def email_of(agent: str) -> str:
    return f"{agent}@example.edu"


@dataclass(slots=True, eq=False)
class Key:
    """What lets an agent in as a person: a session's cookie, or a token.

    ended: by which act it should have; subject: of the identity with which the session began
    """

    agent: str
    kind: str
    secret: str
    person: int
    ended: str = ""
    subject: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """A link that an agent has. maker: the account that made it; None for an operator."""

    agent: str
    path: str
    person: int
    maker: int | None


@dataclass(frozen=True, slots=True)
class Account:
    """What only its owner may change, but where a rule says otherwise. The last three: those that are good."""

    email: str
    name: str
    password: str | None
    proven: bool
    admin: bool
    disabled: bool
    sessions: frozenset[int] = frozenset()
    tokens: frozenset[int] = frozenset()
    links: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Picture:
    """The database at one moment.

    members: role, and whether still there, by course and person
    invited: the offered role, and the invitation's number, by course and person
    """

    accounts: Mapping[int, Account]
    members: Mapping[tuple[str, int], tuple[Role, bool]]
    invited: Mapping[tuple[str, int], tuple[Role, int]]

    def role(self, course: str, person: int | None) -> Role | None:
        """What somebody is there now; who runs the server is an instructor everywhere."""
        if person is None:
            return None
        if self.accounts[person].admin:
            return Role.INSTRUCTOR
        role, here = self.members.get((course, person), (None, False))
        return role if here else None


@dataclass
class World:
    """All that acts choose from.

    submissions: owner, course and a word of the source, by public id
    connected: the account that an identity opens, by the agent whose identity it is, after “lti ” one of the platform
    """

    app: Flask
    sessions: Sessions
    dice: random.Random
    titles: Mapping[str, str]
    forger: Forger
    platform: Platform
    keys: list[Key] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    passwords: dict[int, str | None] = field(default_factory=dict)
    typed: list[tuple[str, str, str]] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    submissions: dict[str, tuple[int, str, str]] = field(default_factory=dict)
    connected: dict[str, int] = field(default_factory=dict)
    made: int = 0

    def disconnect(self, person: int) -> None:
        """No identity opens this account any more."""
        self.connected = {agent: one for agent, one in self.connected.items() if one != person}

    def word(self) -> str:
        """One that nothing else holds."""
        self.made += 1
        return f"word{self.made:05}{self.dice.randrange(10**6):06}"

    def browser(self, key: Key | None = None) -> BrowserClient:
        client = BrowserClient(self.app, self.app.response_class, use_cookies=True)
        if key is not None:
            client.set_cookie(COOKIE, key.secret)
        return client

    def api(self, key: Key, method: str, path: str, body: object = None) -> TestResponse:
        headers = {"Authorization": f"Bearer {key.secret}"}
        return self.app.test_client().open(path, method=method, json=body, headers=headers)

    def get(self, key: Key, path: str) -> TestResponse:
        """What a page answers to a cookie, or the API to a token."""
        return self.browser(key).get(path) if key.kind == "cookie" else self.api(key, "GET", path)

    def people(self) -> dict[str, int]:
        with self.sessions.begin() as session:
            return dict(session.execute(select(Person.email, Person.id)).all())

    def picture(self) -> Picture:
        with self.sessions.begin() as session:
            good = (
                _by_person(session, BrowserSession, BrowserSession.ended_at),
                _by_person(session, ApiToken, ApiToken.revoked_at),
                _by_person(session, OneTimeLink, OneTimeLink.used_at),
            )
            accounts = {
                one.id: Account(
                    one.email, one.name, one.password, one.proven_at is not None, one.admin,
                    one.disabled_at is not None, *(some.get(one.id, frozenset()) for some in good),
                )
                for one in session.scalars(select(Person))
            }  # fmt: skip
            query = select(Course.slug, Membership.person_id, Membership.role, Membership.dropped_at)
            rows = session.execute(query.join(Course, Course.id == Membership.course_id))
            members = {(slug, person): (role, left is None) for slug, person, role, left in rows}
            asked = select(CourseInvitation, Course.slug).join(CourseInvitation.course)
            invited = {(slug, one.person_id): (one.role, one.id) for one, slug in session.execute(asked)}
        return Picture(accounts, members, invited)


def _by_person(
    session: Session, table: type[ApiToken | BrowserSession | OneTimeLink], ended: InstrumentedAttribute[Any]
) -> Mapping[int, frozenset[int]]:
    """The numbers of those that are not ended."""
    found: dict[int, frozenset[int]] = {}
    for number, person in session.execute(select(table.id, table.person_id).where(ended.is_(None))):
        found[person] = found.get(person, frozenset()) | {number}
    return found


@contextmanager
def world(database: Path, seed: int) -> Iterator[World]:
    """database: a file of SQLite's with all tables, which is written to"""
    url, dice = f"sqlite:///{database}", random.Random(seed)
    engine = connect(url)
    with forging() as forger, running_platform() as platform:
        sign_on = SignOn((forger.provider,))
        app = create_app(Settings(database_url=url, redis_url=NOBODY, public_url=HERE, sign_on=sign_on))
        try:
            titles = {slug: f"Title {slug} {dice.randrange(10**9):09}" for slug in COURSES}
            there = World(app, sessions(engine), dice, titles, forger, platform)
            _open(there)
            yield there
        finally:
            hub_of(app).stop()
            app.extensions["tilelab"].engine.dispose()
            engine.dispose()


def _open(there: World) -> None:
    """Courses, and their staff signed in."""
    now = datetime.now(UTC)
    with there.sessions.begin() as session:
        session.add(LtiPlatform(created_at=now, **there.platform.settings()))
        session.flush()
        for slug in COURSES:
            course = create_course(session, slug, there.titles[slug])
            create_assignment(session, course, "tiled", Terms())
            if slug in CONNECTED:
                context = {"platform_id": 1, "deployment": DEPLOYMENT, "name": slug, "title": slug}
                session.add(LtiContext(course_id=course.id, connected_at=now, **context))
        for agent, roles in STAFF.items():
            person = create_person(session, email=email_of(agent), name=f"Name {agent}")
            person.admin = agent == "root"
            set_password(session, person, f"first of {agent}")
            there.passwords[person.id] = f"first of {agent}"
            there.typed.append((agent, person.email, f"first of {agent}"))
            for slug, role in roles:
                enrol(session, session.scalars(select(Course).where(Course.slug == slug)).one(), person, role)
    numbers = there.people()
    for agent in STAFF:
        client = there.browser()
        client.post_form("/sign-in", email=email_of(agent), password=f"first of {agent}")
        there.keys.append(Key(agent, "cookie", client.session_token, numbers[email_of(agent)]))


def paths_in(text: str) -> list[str]:
    """Links that a page or a table shows."""
    return re.findall(r"/(?:invitation|reset)/[\w-]{20,}", text)
