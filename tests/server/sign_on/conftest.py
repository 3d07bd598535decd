from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from server.database.engine import sessions
from server.identity_providers import Passwords, Provider, SignOn
from server.settings import Settings
from server.submissions.progress.streams import hub_of
from server.web.app import create_app
from tests.server.course import ACourse
from tests.server.sign_on.provider import HERE, running_provider
from tests.server.web.conftest import NOBODY, Portal

ACCOUNTS = {
    "ada": {"email": "ada@example.edu", "email_verified": True, "name": "Ada Lovelace"},
    "unverified": {"email": "ada@example.edu", "email_verified": False, "name": "Not Ada"},
    "new": {"email": "new@example.edu", "email_verified": True, "name": "New Person"},
    "heir": {"email": "ada@example.edu", "email_verified": True, "name": "Ada the Second"},
    "nobody": {},
}


@pytest.fixture(scope="session")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provider]:
    with running_provider(tmp_path_factory.mktemp("provider"), ACCOUNTS) as found:
        yield found


@pytest.fixture
def signing(database_url: str, engine: Engine, provider: Provider) -> Iterator[Portal]:
    """A portal with the provider."""
    yield from portal_with(database_url, engine, SignOn((provider,)))


@pytest.fixture
def passwordless(database_url: str, engine: Engine, provider: Provider) -> Iterator[Portal]:
    """A portal whose only passwords are those of operators."""
    yield from portal_with(database_url, engine, SignOn((provider,), Passwords.OPERATORS))


def portal_with(database_url: str, engine: Engine, sign_on: SignOn) -> Iterator[Portal]:
    app = create_app(Settings(database_url, NOBODY, public_url=HERE, sign_on=sign_on))
    yield Portal(app, ACourse.make(sessions(engine)), app.test_client())
    hub_of(app).stop()
    app.extensions["tilelab"].engine.dispose()
