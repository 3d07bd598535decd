from __future__ import annotations

import pytest
from argon2 import PasswordHasher

from server.accounts import limits, service
from server.courses.models import Role
from server.database.engine import Sessions
from tests.server.course import ACourse
from tests.server.databases import (
    database_url,
    engine,
    kept_engines,
    kept_file,
    kept_tables,
    made,
    migrated_file,
    migrated_url,
    on_each_database,
    postgres_engine,
    sqlite_url,
)
from tests.server.web.conftest import KeptApp, Portal, portal
from tests.server.web.signed_in import BrowserClient, client_of
from tests.services.connections import no_connection_is_left

__all__ = [
    "database_url",
    "engine",
    "kept_engines",
    "kept_file",
    "kept_tables",
    "made",
    "migrated_file",
    "migrated_url",
    "no_connection_is_left",
    "portal",
    "postgres_engine",
    "sqlite_url",
]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    on_each_database(metafunc)


@pytest.fixture(scope="session")
def kept_apps() -> dict[str, KeptApp]:
    """By the address of their database: to make one takes longer than most tests of a page."""
    return {}


@pytest.fixture
def course(made: Sessions) -> ACourse:
    return ACourse.make(made)


@pytest.fixture
def ada(portal: Portal) -> BrowserClient:
    """A student's browser."""
    return client_of(portal, "ada")


@pytest.fixture
def tom(portal: Portal) -> BrowserClient:
    """An assistant's browser."""
    return client_of(portal, "tom", Role.ASSISTANT)


@pytest.fixture
def ina(portal: Portal) -> BrowserClient:
    """An instructor's browser."""
    return client_of(portal, "ina", Role.INSTRUCTOR)


@pytest.fixture
def one_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is counted in stretches of time is all in one of them, though the test may run when another begins."""
    monkeypatch.setattr(limits.Limit, "window", lambda limit, now: 0)


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work of a hash is argon2's business; here it would only cost time."""
    monkeypatch.setattr(service, "_HASHER", PasswordHasher(time_cost=1, memory_cost=1024, parallelism=1))
    service._nobodys_hash.cache_clear()
