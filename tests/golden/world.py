"""Two courses in one of both kinds of database, which are restored after each change."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, LiteralString, Protocol

import pytest
from argon2 import PasswordHasher
from sqlalchemy import Engine, func, select
from werkzeug.test import TestResponse

from server.accounts import service
from server.accounts.cookies import CSRF_FIELD, csrf_token
from server.accounts.models import Person
from server.audit.models import AuditEvent
from server.courses.models import Assignment
from server.database.engine import connect, sessions
from server.database.schema import upgrade
from server.mail.models import Mail
from server.submissions.models import Submission
from server.submissions.progress.streams import hub_of
from server.web.app import create_app
from tests.golden.fixed import fix_clock, fix_dice, plain
from tests.server.course import ACourse, later
from tests.server.databases import _NO_ROWS
from tests.server.operations.a_full_course import full_course
from tests.server.web.conftest import Portal, settings
from tests.server.web.house import House, build_house
from tests.server.web.matrix import ROLES
from tests.server.web.signed_in import COOKIE, BrowserClient
from tests.services.postgres_server import PostgresServer


class Copies(Protocol):
    """A database with all tables. `keep` copies it, `restore` puts the copy in its place; nobody is connected."""

    url: str

    def keep(self) -> None: ...
    def restore(self) -> None: ...


class SqliteCopies:
    def __init__(self, folder: Path) -> None:
        self._file, self._kept = folder / "tilelab.db", folder / "kept.db"
        self.url = f"sqlite:///{self._file}"

    def keep(self) -> None:
        shutil.copy(self._file, self._kept)

    def restore(self) -> None:
        for old in self._file.parent.glob(f"{self._file.name}*"):
            old.unlink()
        shutil.copy(self._kept, self._file)


class PostgresCopies:
    def __init__(self, postgres: PostgresServer) -> None:
        self._server = postgres
        self.url = postgres.url("tilelab")
        postgres.drop_database("tilelab")
        postgres.create_database("tilelab")

    def keep(self) -> None:
        self._execute(_KEEP)

    def restore(self) -> None:
        self._execute(_NO_ROWS, _RESTORE)

    def _execute(self, *statements: LiteralString) -> None:
        with self._server.connect("tilelab") as connection:
            for statement in statements:
                connection.execute(statement)


_KEEP: LiteralString = """
DO $$
DECLARE
    name text;
BEGIN
    CREATE SCHEMA kept;
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version' LOOP
        EXECUTE format('CREATE TABLE kept.%I AS TABLE public.%I', name, name);
    END LOOP;
    CREATE TABLE kept."numbers of rows" AS SELECT sequencename, last_value, start_value FROM pg_sequences;
END $$
"""

_RESTORE: LiteralString = """
DO $$
DECLARE
    name text;
BEGIN
    SET LOCAL session_replication_role = replica;
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version' LOOP
        EXECUTE format('INSERT INTO public.%I OVERRIDING SYSTEM VALUE SELECT * FROM kept.%I', name, name);
    END LOOP;
    PERFORM setval(sequencename::regclass, coalesce(last_value, start_value), last_value IS NOT NULL)
    FROM kept."numbers of rows";
END $$
"""


@dataclass
class World:
    """names: for what is random in texts; cookies: of each role's session"""

    house: House
    copies: Copies
    engine: Engine
    patch: pytest.MonkeyPatch
    cookies: Mapping[str, str]
    names: tuple[tuple[str, str], ...]
    newest: dict[type[AuditEvent | Mail], int] = field(default_factory=dict)

    @property
    def roles(self) -> list[str]:
        """Those that the course has; nobody first."""
        return [role for role in ROLES if role == "nobody" or role in self.house.tokens]

    def keep(self) -> None:
        """From now on, `restore` leads to here."""
        with self.house.portal.course.sessions.begin() as session:
            for table in (AuditEvent, Mail):
                self.newest[table] = session.scalar(select(func.max(table.id))) or 0
        self._disconnect()
        self.copies.keep()

    def restore(self) -> None:
        self._disconnect()
        self.copies.restore()

    def _disconnect(self) -> None:
        self.house.portal.app.extensions["tilelab"].engine.dispose()
        self.engine.dispose()

    def ask(self, role: str, method: str, path: str, sent: Any = None) -> TestResponse:
        """What a role is answered. sent: fields of a form, or the body of a request to the API"""
        path = self.house.named(path)
        fix_dice(self.patch, f"{role} {method} {path} {sent}")
        app = self.house.portal.app
        client = BrowserClient(app, app.response_class, use_cookies=True)
        there: dict[str, Any] = {"environ_overrides": {"REMOTE_ADDR": f"192.0.2.{ROLES.index(role) + 1}"}}
        if path.startswith("/api/"):
            token = self.house.tokens.get(role)
            headers = {} if token is None else {"Authorization": f"Bearer {token}"}
            return client.open(path, method=method, json=sent, headers=headers, **there)
        if role in self.cookies:
            client.set_cookie(COOKIE, self.cookies[role])
        if method == "POST":
            there["data"] = {CSRF_FIELD: csrf_token(client.session_token), **(sent or {})}
        return client.open(path, method=method, **there)

    def left(self) -> list[str]:
        """The audit's entries and the mails that came since `keep`."""
        with self.house.portal.course.sessions.begin() as session:
            entries = session.scalars(select(AuditEvent).where(AuditEvent.id > self.newest[AuditEvent]))
            mails = session.scalars(select(Mail).where(Mail.id > self.newest[Mail]))
            lines = [
                f"audit {one.action} | {one.subject} | by {one.actor_id} | course {one.course_id} | "
                + json.dumps(one.detail, sort_keys=True, ensure_ascii=False)
                for one in entries.all()
            ] + [
                f"mail {one.kind.value} to {one.person_id} | {one.reference} | {one.subject} | {one.path}"
                for one in mails.all()
            ]
        found: list[str] = plain(sorted(lines), self.names)
        return found


@contextmanager
def world(copies: Copies, *, full: bool) -> Iterator[World]:
    """full: the course in which everything has happened, otherwise one with every role of the access matrix"""
    with pytest.MonkeyPatch.context() as patch:
        fix_clock(patch)
        fix_dice(patch, "the world")
        patch.setattr(service, "_HASHER", PasswordHasher(time_cost=1, memory_cost=1024, parallelism=1))
        engine = connect(copies.url)
        upgrade(engine)
        app = create_app(settings(copies.url))
        try:
            made = sessions(engine)
            portal = Portal(app, full_course(made) if full else ACourse.make(made), app.test_client())
            house = _full_house(portal) if full else build_house(portal)
            with made.begin() as session:
                assignment = session.get_one(Assignment, portal.course.assignment)
                assignment.due_at, assignment.closes_at, assignment.points = (later(86_400), later(172_800), 10.0)
            house.there["OTHER"] = _of_another(house)
            cookies = {role: house.browser(role).session_token for role in house.names}
            found = World(house, copies, engine, patch, cookies, _names(house))
            found.keep()
            yield found
        finally:
            hub_of(app).stop()
            app.extensions["tilelab"].engine.dispose()
            engine.dispose()


def _of_another(house: House) -> str:
    """A submission of another student."""
    theirs = select(Submission.person_id).where(Submission.public_id == house.there["SUBMISSION"])
    others = select(Submission).where(Submission.person_id != theirs.scalar_subquery()).order_by(Submission.id)
    return house.portal.course.row(others.limit(1)).public_id


def _names(house: House) -> tuple[tuple[str, str], ...]:
    return (*house.there.items(), *((f"TOKEN-OF-{role}", token) for role, token in house.tokens.items()))


def _full_house(portal: Portal) -> House:
    course = portal.course
    course.person("root", None)
    with course.sessions.begin() as session:
        session.get_one(Person, course.people["root"]).admin = True
        submission = session.get_one(Submission, 1).public_id
        names = {
            role: session.get_one(Person, course.people[name]).name
            for role, name in {"owner": "ada", "student": "bob", "instructor": "teacher", "admin": "root"}.items()
        }
        tokens = {
            role: service.create_token(session, session.scalars(select(Person).where(Person.name == name)).one(), "x")
            for role, name in names.items()
        }
    words = ("NOTE", "ANNOUNCEMENT", "COMMENT", "REQUEST", "EXTENSION", "REGRADE", "SESSION", "TOKEN")
    there = {"SUBMISSION": submission, "EXPERIMENT": "e" * 16, "PERSON": str(course.people["ada"])}
    return House(portal, names, dict.fromkeys(words, "1") | there, tokens)
