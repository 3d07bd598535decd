from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from argon2 import PasswordHasher

from server.accounts import limits, service
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
from tests.services.connections import no_connection_is_left

if TYPE_CHECKING:
    from tests.server.web.conftest import KeptApp

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
def one_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is counted in stretches of time is all in one of them, though the test may run when another begins."""
    monkeypatch.setattr(limits.Limit, "window", lambda limit, now: 0)


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work of a hash is argon2's business; here it would only cost time."""
    monkeypatch.setattr(service, "_HASHER", PasswordHasher(time_cost=1, memory_cost=1024, parallelism=1))
    service._nobodys_hash.cache_clear()
