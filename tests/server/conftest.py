from __future__ import annotations

import pytest
from argon2 import PasswordHasher

from server.accounts import service
from tests.server import made_once
from tests.server.databases import (
    database_url,
    engine,
    kept_tables,
    made,
    migrated_file,
    migrated_url,
    postgres_engine,
    sqlite_url,
)
from tests.services.connections import no_connection_is_left

made_once.keep()

__all__ = [
    "database_url",
    "engine",
    "kept_tables",
    "made",
    "migrated_file",
    "migrated_url",
    "no_connection_is_left",
    "postgres_engine",
    "sqlite_url",
]


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work of a hash is argon2's business; here it would only cost time."""
    monkeypatch.setattr(service, "_HASHER", PasswordHasher(time_cost=1, memory_cost=1024, parallelism=1))
    service._nobodys_hash.cache_clear()
