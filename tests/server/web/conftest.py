from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine
from werkzeug.test import TestResponse

from server.accounts.identity import owner_of
from server.accounts.models import Person
from server.accounts.service import create_token
from server.courses.models import Role
from server.database.engine import sessions
from server.http.arrival import BodySizes
from server.http.concurrency_limit import ConcurrencyLimit
from server.settings import Settings
from server.submissions.progress.live import attach_live
from server.submissions.progress.streams import hub_of
from server.web.app import create_app
from tests.server.course import ACourse

NOBODY = "redis://127.0.0.1:1/0"
SOURCE = "__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {}\n"


@dataclass
class Portal:
    """The application over a real database, with a course."""

    app: Flask
    course: ACourse
    client: FlaskClient
    tokens: dict[str, str] = field(default_factory=dict)

    def token(self, name: str, role: Role | None = Role.STUDENT) -> str:
        """Of the person of that name, made on first mention."""
        if name not in self.tokens:
            number = self.course.person(name, role)
            with self.course.sessions.begin() as session:
                self.tokens[name] = create_token(session, session.get_one(Person, number), "test")
        return self.tokens[name]

    def get(self, name: str, path: str) -> TestResponse:
        return self.client.get(path, headers={"Authorization": f"Bearer {self.token(name)}"})

    def post(self, name: str, body: Any = None, key: str | None = None, data: bytes | None = None) -> TestResponse:
        """Hand in; `body` is put over what is good."""
        headers = {"Authorization": f"Bearer {self.token(name)}"}
        if key is not None:
            headers["Idempotency-Key"] = key
        if data is not None:
            return self.client.post("/api/v1/submissions", data=data, headers=headers, content_type="application/json")
        asked = {"assignment": "gpu/tiled", "source": SOURCE} | (body or {})
        return self.client.post("/api/v1/submissions", json=asked, headers=headers)


def settings(database_url: str, redis_url: str = NOBODY) -> Settings:
    return Settings(database_url=database_url, redis_url=redis_url)


@dataclass
class KeptApp:
    """An application that serves many tests, as it was when it was made."""

    app: Flask
    made_with: dict[str, Any]

    @classmethod
    def make(cls, database_url: str) -> KeptApp:
        app = create_app(settings(database_url))
        return cls(app, dict(app.extensions))

    def renewed(self) -> Flask:
        """The application without what an earlier test did to it."""
        self.app.extensions.clear()
        self.app.extensions |= self.made_with
        site = self.app.extensions["tilelab"]
        attach_live(self.app, site)
        answered = partial(Flask.wsgi_app, self.app)
        self.app.wsgi_app = ConcurrencyLimit(answered, BodySizes(), partial(owner_of, site))  # type: ignore[method-assign]
        return self.app


@pytest.fixture
def portal(database_url: str, engine: Engine, kept_apps: dict[str, KeptApp]):
    if database_url not in kept_apps:
        kept_apps[database_url] = KeptApp.make(database_url)
    app = kept_apps[database_url].renewed()
    yield Portal(app, ACourse.make(sessions(engine)), app.test_client())
    hub_of(app).stop()
    kept_apps[database_url].made_with["tilelab"].engine.dispose()
